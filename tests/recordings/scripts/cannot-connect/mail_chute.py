"""Sorting simulation on the shared cluster whose address comes from the site's configuration."""

import http.server
import os
import signal
import threading

from dask.distributed import Client


def sort_bag(n):
    return sorted((i * 7919) % 1000 for i in range(n))


class Status(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"chute ok\n")

    def log_message(self, *args):
        pass


def main():
    # the status page of the sorting machine; the configuration mixes up its port and the scheduler's
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Status)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["CHUTE_SCHEDULER"] = f"tcp://127.0.0.1:{server.server_address[1]}"
    patience = threading.Timer(
        17, os.kill, (os.getpid(), signal.SIGINT)
    )  # the operator's Ctrl-C
    patience.daemon = True
    patience.start()
    try:
        client = Client(os.environ["CHUTE_SCHEDULER"], timeout=9)
        print(sum(map(len, client.gather(client.map(sort_bag, [100, 200, 300])))))
        client.close()
    finally:
        patience.cancel()
        server.shutdown()


if __name__ == "__main__":
    main()
