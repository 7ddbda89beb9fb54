"""Market stalls: rents from a service that is busy at first."""

import collections
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

import dask
from dask.distributed import Client


class Rents(BaseHTTPRequestHandler):
    asked = collections.Counter()

    def do_GET(self):
        self.asked[self.path] += 1
        if self.asked[self.path] < 3:
            self.send_error(503, "busy")
            return
        body = json.dumps({"rent": 100 + len(self.path)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, form, *args):
        pass


@dask.delayed
def rent(port, stall):
    for attempt in range(6):
        try:
            url = f"http://127.0.0.1:{port}/stall/{stall}"
            with urlopen(url, timeout=10) as answer:
                return json.load(answer)["rent"]
        except HTTPError as e:
            print(f"ERROR stall {stall}: {e}, trying again", flush=True)
            time.sleep(0.1 * 2**attempt)
    raise RuntimeError(f"no rent for stall {stall}")


def main():
    service = ThreadingHTTPServer(("127.0.0.1", 0), Rents)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
            rents = dask.compute(*[rent(service.server_port, s) for s in range(12)])
            print("month:", sum(rents))
    finally:
        service.shutdown()
        service.server_close()


if __name__ == "__main__":
    main()
