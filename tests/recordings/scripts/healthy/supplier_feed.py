"""Fetch supplier price lists; the portal is flaky in the morning."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
from dask.distributed import Client, LocalCluster


class Portal(BaseHTTPRequestHandler):
    seen = {}

    def do_GET(self):
        n = Portal.seen[self.path] = Portal.seen.get(self.path, 0) + 1
        code = 503 if n <= len(self.path) % 3 else 200
        body = b"12.5;13.0;9.9" if code == 200 else b"maintenance"
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def fetch(base, supplier):
    reply = requests.get(f"{base}/{supplier}", timeout=5)
    reply.raise_for_status()
    return supplier, [float(x) for x in reply.text.split(";")]


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        names = ["bosch", "valeo", "hella", "denso", "mahle", "skf"]
        lists = dict(
            client.gather([client.submit(fetch, base, n, retries=4) for n in names])
        )
    server.shutdown()
    print({k: sum(v) for k, v in lists.items()}, Portal.seen)


if __name__ == "__main__":
    main()
