"""Pull the stock levels of all suppliers before the shops open.

Every supplier has a small HTTP endpoint that answers with its stock as JSON. The levels are pulled in parallel,
the reorder proposals are computed from them and written to ``reorder.csv``.
"""

import argparse
import csv
import json
import logging
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("inventory")
SUPPLIERS = [f"S-{n:02d}" for n in range(1, 31)]


class Gateway(BaseHTTPRequestHandler):
    """Stands for the suppliers' gateway, which in production is on the other side of a VPN."""

    busy_once = {"S-04", "S-09"}
    maintenance = {"S-17", "S-23", "S-26", "S-28"}

    def do_GET(self):
        supplier = self.path.rsplit("/", 1)[-1]
        if supplier in self.busy_once:
            self.busy_once.discard(supplier)
            self.send_error(503)
            return
        if supplier in self.maintenance:
            time.sleep(120)
        body = json.dumps(
            {"supplier": supplier, "stock": {f"A{i}": (i * 7) % 50 for i in range(40)}}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def start_gateway():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def fetch_levels(base, supplier, attempts=3):
    url = f"{base}/levels/{supplier}"
    for attempt in range(1, attempts + 1):
        try:
            with urllib.request.urlopen(url) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as exc:
            logging.getLogger("inventory").warning(
                "%s answered %s (attempt %d)", supplier, exc.code, attempt
            )
            time.sleep(0.3)
    raise RuntimeError(f"supplier {supplier} gave no levels in {attempts} attempts")


def propose(levels, minimum):
    return [
        (levels["supplier"], article, minimum - n)
        for article, n in levels["stock"].items()
        if n < minimum
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minimum", type=int, default=20)
    parser.add_argument(
        "--patience", type=float, default=18.0, help="seconds until the window closes"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    base = f"http://127.0.0.1:{start_gateway()}"
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            levels = [
                client.submit(fetch_levels, base, s, key=f"fetch_levels-{s}")
                for s in SUPPLIERS
            ]
            proposals = client.map(propose, levels, minimum=args.minimum)
            rows = []
            try:
                for future in as_completed(proposals, timeout=args.patience):
                    rows.extend(future.result())
            except TimeoutError:
                done = sum(f.status == "finished" for f in proposals)
                log.error(
                    "window closed: %d of %d suppliers, no proposals today",
                    done,
                    len(proposals),
                )
                client.cancel(proposals)
                return 4
            with open("reorder.csv", "w", newline="") as out:
                csv.writer(out).writerows(sorted(rows))
    log.info("%d reorder proposals", len(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
