"""Monthly electricity bills of the islands' cooperative.

The tariff of each island is asked from the cooperative's tariff desk (a small HTTP service that runs beside this
job), then the meters of that island are billed with it. The finance department's cut-off is strict: what is not
billed by then is billed by hand.
"""

import argparse
import json
import logging
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("billing")

ISLANDS = [
    "Bressay",
    "Coll",
    "Eigg",
    "Fetlar",
    "Foula",
    "Gigha",
    "Iona",
    "Jura",
    "Muck",
    "Tiree",
    "Unst",
    "Yell",
]

DESK = '''
import http.server, json, sys, threading

class Ledger:
    """Regulated tariffs, read under the ledger's lock."""
    def __init__(self):
        self.lock = threading.Lock()
        self.asked = {}

    def lookup(self, island):
        self.lock.acquire()
        self.asked[island] = self.asked.get(island, 0) + 1
        if island == "Eigg" and self.asked[island] == 1:
            self.lock.release()
            return None
        if island == "Foula":
            with self.lock:            # own generator: the price comes from a second table
                return {"unit": 0.41, "standing": 0.66}
        self.lock.release()
        return {"unit": 0.29, "standing": 0.53}

ledger = Ledger()

class Desk(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        tariff = ledger.lookup(self.path.rsplit("/", 1)[-1])
        body = json.dumps(tariff).encode()
        self.send_response(200 if tariff else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Desk)
print(server.server_address[1], flush=True)
server.serve_forever()
'''


def fetch_tariff(base, island):
    for attempt in (1, 2, 3):
        try:
            with urllib.request.urlopen(f"{base}/tariff/{island}") as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            logging.getLogger("billing").warning(
                "tariff desk said %s for %s, attempt %d", error.code, island, attempt
            )
            time.sleep(0.5)
    raise RuntimeError(f"no tariff for {island}")


def bill_island(island, tariff, meters):
    rng = random.Random(island)
    total = 0.0
    for _ in range(meters):
        time.sleep(0.002)
        total += tariff["standing"] * 30 + tariff["unit"] * rng.uniform(80, 900)
    return {"island": island, "meters": meters, "total": round(total, 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--month", default="2026-11")
    parser.add_argument("--cutoff", type=float, default=25.0, help="seconds")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    Path("tariff_desk.py").write_text(DESK)
    desk = subprocess.Popen(
        [sys.executable, "tariff_desk.py"], stdout=subprocess.PIPE, text=True
    )
    base = f"http://127.0.0.1:{int(desk.stdout.readline())}"

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0", memory_limit="400MB"
    )
    client = Client(cluster)
    bills = []
    try:
        futures = []
        for island in ISLANDS:
            tariff = client.submit(fetch_tariff, base, island)
            futures.append(client.submit(bill_island, island, tariff, 120))
        for future, bill in as_completed(
            futures, with_results=True, timeout=args.cutoff
        ):
            bills.append(bill)
            log.info("billed %(island)s: %(meters)d meters, %(total).2f", bill)
        Path(f"bills-{args.month}.json").write_text(json.dumps(bills, indent=1))
        return 0
    except TimeoutError:
        log.error(
            "cut-off reached, %d of %d islands billed; the rest goes to manual billing",
            len(bills),
            len(ISLANDS),
        )
        return 3
    finally:
        client.close()
        cluster.close()
        desk.terminate()
        desk.wait()


if __name__ == "__main__":
    sys.exit(main())
