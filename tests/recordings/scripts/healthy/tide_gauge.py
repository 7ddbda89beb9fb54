import http.server
import itertools
import threading
import time

import requests
from distributed import Client, LocalCluster

HITS = itertools.count()


class Gauge(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = 503 if next(HITS) < 6 else 200
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b"2.41" if code == 200 else b"maintenance")

    def log_message(self, fmt, *args):
        print("gauge server", args[1], flush=True)


def level(url, station):
    for pause in (0.2, 0.4, 0.8, 1.6, 3.2):
        r = requests.get(f"{url}/{station}", timeout=5)
        if r.ok:
            return station, float(r.text)
        print(f"HTTP {r.status_code} for {station}, again in {pause}", flush=True)
        time.sleep(pause)
    r.raise_for_status()


def main():
    srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gauge)
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        url = f"http://127.0.0.1:{srv.server_port}"
        futs = [client.submit(level, url, s) for s in ("husum", "cux", "list")]
        print(client.gather(futs))
    srv.shutdown()


if __name__ == "__main__":
    main()
