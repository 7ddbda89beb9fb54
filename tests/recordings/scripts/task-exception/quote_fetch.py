import http.server
import itertools
import sys
import threading
import time

import requests
from distributed import Client, LocalCluster

COUNT = itertools.count()


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = next(COUNT)
        self.send_response(200 if n < 12 else 429)
        if n >= 12:
            self.send_header("Retry-After", "3600")
        self.end_headers()
        self.wfile.write(b"101.5")

    def log_message(self, *a):
        pass


class FeedError(RuntimeError):
    pass


def quote(base, isin):
    for attempt in range(3):
        try:
            r = requests.get(f"{base}/quote/{isin}", timeout=5)
            r.raise_for_status()
            return float(r.text)
        except requests.HTTPError as exc:
            last = exc
            print(f"attempt {attempt + 1} {exc}", flush=True)
            time.sleep(0.1 * 2**attempt)
    raise FeedError(f"no quote for {isin}") from last


def main():
    srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{srv.server_port}"
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futs = {
            f"DE000{i:07d}": client.submit(quote, base, f"DE000{i:07d}")
            for i in range(20)
        }
        failed = []
        for isin, f in futs.items():
            try:
                f.result()
            except FeedError as e:
                failed.append(isin)
                print("skip", isin, e)
    if failed:
        sys.exit(f"{len(failed)} of {len(futs)} pieces failed")


if __name__ == "__main__":
    main()
