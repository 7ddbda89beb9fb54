import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client, LocalCluster

log = logging.getLogger("metals")
METALS = ["copper", "nickel", "zinc", "tin", "lead", "cobalt"]


class Primary(BaseHTTPRequestHandler):
    def do_GET(self):
        metal = self.path.strip("/")
        if metal in ("tin", "cobalt"):
            self.send_error(503, "Service Unavailable")
            return
        self.reply({"metal": metal, "usd": 1000 + len(metal) * 37})

    def reply(self, doc):
        body = json.dumps(doc).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Mirror(Primary):
    def do_GET(self):
        metal = self.path.strip("/")
        self.reply({"metal": metal, "usd": 900 + len(metal) * 37})


def serve(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def price(metal, sources):
    for source in sources:
        try:
            answer = requests.get(f"{source}/{metal}", timeout=5)
            answer.raise_for_status()
            return metal, answer.json()["usd"]
        except requests.HTTPError as exc:
            log.error("%s: %s, trying the next source", metal, exc)
    raise LookupError(metal)


def main():
    primary, first = serve(Primary)
    mirror, second = serve(Mirror)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [client.submit(price, metal, [first, second]) for metal in METALS]
        print(dict(client.gather(futures)))
    primary.shutdown()
    mirror.shutdown()


if __name__ == "__main__":
    main()
