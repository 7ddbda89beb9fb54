"""Pumice gateway: a health page for the operators and a small cluster for the conversions."""

import socket
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from distributed import Client, LocalCluster


class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


def settings():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        base = s.getsockname()[1]
    return {"health_port": base, "scheduler_port": base}


def convert(sample):
    return sample * 0.92


def main():
    conf = settings()
    health = ThreadingHTTPServer(("127.0.0.1", conf["health_port"]), Health)
    threading.Thread(target=health.serve_forever, daemon=True).start()
    try:
        with (
            tempfile.TemporaryDirectory() as tmp,
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
                host="127.0.0.1",
                scheduler_port=conf["scheduler_port"],
            ) as cluster,
            Client(cluster) as client,
        ):
            print(sum(client.gather(client.map(convert, range(100)))))
    finally:
        health.shutdown()
        health.server_close()


if __name__ == "__main__":
    main()
