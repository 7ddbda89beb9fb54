"""Lift capacity per resort, from the resorts' small web service."""

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.request import urlopen

from dask.distributed import Client

log = logging.getLogger(__name__)
RESORTS = ["alta", "bormio", "cervinia", "davos", "engelberg", "flims"]


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        resort = self.path.strip("/")
        if resort == "engelberg":
            self.send_error(503, "maintenance window until 06:00")
            return
        body = json.dumps({"lifts": len(resort), "per_hour": 1200}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def fetch(base, resort):
    for attempt in range(3):
        try:
            with urlopen(f"{base}/{resort}", timeout=5) as answer:
                return json.load(answer)
        except (URLError, OSError) as e:
            log.warning("%s: attempt %d: %s", resort, attempt + 1, e)
    return None


def capacity(info):
    return info["lifts"] * info["per_hour"]


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        infos = [client.submit(fetch, base, r) for r in RESORTS]
        print(dict(zip(RESORTS, client.gather(client.map(capacity, infos)))))
    server.shutdown()


if __name__ == "__main__":
    main()
