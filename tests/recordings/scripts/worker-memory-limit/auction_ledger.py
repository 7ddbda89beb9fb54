"""The auction house's ledger of bids, kept while a sale is replayed.

The sale's bids are priced by tasks in batches; a ledger lives on one worker and
takes the priced batches, so that questions of the hall ("who leads lot 14?") can be
answered at once. At the end the ledger gives the protocol of the sale.
"""

import logging
import random
import sys

import dask
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("auction")

LOTS = 40
BATCHES = 120


class Ledger:
    """All bids of the sale, with the picture of the paddle camera for each."""

    def __init__(self, sale):
        self.sale = sale
        self.leading = {}
        self.frames = []
        self.bids = 0

    def record(self, batch):
        for bid in batch["bids"]:
            self.bids += 1
            best = self.leading.get(bid["lot"])
            if best is None or bid["price"] > best["price"]:
                self.leading[bid["lot"]] = bid
        self.frames.append(bytearray(b"\x7f") * batch["frame_bytes"])
        return self.bids

    def leader(self, lot):
        bid = self.leading.get(lot)
        return bid and bid["paddle"]

    def protocol(self):
        return [
            f"lot {lot:3d}: paddle {bid['paddle']} at {bid['price']:.2f}"
            for lot, bid in sorted(self.leading.items())
        ]


def price_batch(number, premium):
    rng = random.Random(number)
    bids = [
        {
            "lot": rng.randrange(LOTS),
            "paddle": rng.randrange(100, 400),
            "price": round(rng.uniform(50, 900) * (1 + premium), 2),
        }
        for _ in range(200)
    ]
    return {"number": number, "bids": bids, "frame_bytes": 6_000_000}


def replay(client):
    ledger = client.submit(Ledger, "winter sale", actor=True).result()
    seen = 0
    for start in range(0, BATCHES, 10):
        batches = client.map(price_batch, range(start, start + 10), premium=0.21)
        for batch in client.gather(batches):
            seen = ledger.record(batch).result()
        log.info("%d bids, paddle %s leads lot 14", seen, ledger.leader(14).result())
    return ledger.protocol().result()


def main():
    dask.config.set(
        {"distributed.comm.timeouts.connect": "5s", "distributed.comm.retry.count": 0}
    )
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        protocol = replay(client)
    except Exception:
        log.exception("the replay of the sale broke off")
        sys.exit(1)
    finally:
        client.close()
        cluster.close()
    print("\n".join(protocol))


if __name__ == "__main__":
    main()
