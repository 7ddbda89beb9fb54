"""Downloads the files of a day of lightning from a service."""

import http.server
import os
import threading
import urllib.request

from dask.distributed import Client, LocalCluster

QUIET = threading.Event()


class Files(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.endswith("/7"):
            # The service has lost this file, and says nothing.
            QUIET.wait()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"flash" * 40)

    def log_message(self, *words):
        pass


def flashes(number, service):
    with urllib.request.urlopen(f"{service}/2026-07-01/{number}") as answer:
        return len(answer.read()) // 5


if __name__ == "__main__":
    os.environ["no_proxy"] = "127.0.0.1"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    service = f"http://127.0.0.1:{server.server_port}"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(flashes, range(20), service=service))))
