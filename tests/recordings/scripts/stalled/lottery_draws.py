"""Score the weekly lottery entries of all sales terminals.

The central export is one CSV.  A reader in the driver puts the entries, in
batches, on a queue; one scorer per region takes batches from the queue until
it is told that there are no more.
"""

import csv
import logging
import random
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from dask.distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("lottery")
DRAWN = {4, 11, 19, 23, 38, 42}
BATCH = 50


def write_export(path, rows=900):
    rng = random.Random(20261128)
    with path.open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["terminal", "stake_cents", "numbers"])
        for i in range(rows):
            numbers = " ".join(str(n) for n in sorted(rng.sample(range(1, 46), 6)))
            stake = "250"
            if i == 412:
                stake = "2,50"  # terminals of the new vendor
            elif i == 90:
                stake = ""  # voided at the till
            out.writerow([f"T{i % 37:03d}", stake, numbers])


class TicketFeed(threading.Thread):
    """Reads the export and puts batches of entries on the queue."""

    def __init__(self, path, queue, scorers):
        super().__init__(name="ticket-feed", daemon=True)
        self.path = path
        self.queue = queue
        self.scorers = scorers
        self.voided = 0

    def parse(self, row):
        return {
            "terminal": row["terminal"],
            "stake": int(row["stake_cents"]),
            "numbers": [int(n) for n in row["numbers"].split()],
        }

    def run(self):
        batch = []
        with self.path.open(newline="") as f:
            for row in csv.DictReader(f):
                if not row["stake_cents"]:
                    self.voided += 1
                    log.warning("voided entry of %s skipped", row["terminal"])
                    continue
                batch.append(self.parse(row))
                if len(batch) == BATCH:
                    self.queue.put(batch)
                    batch = []
        if batch:
            self.queue.put(batch)
        for _ in range(self.scorers):
            self.queue.put(None)


def score_entries(region, queue_name):
    queue = Queue(queue_name)
    hits = Counter()
    while True:
        batch = queue.get()
        if batch is None:
            return region, dict(hits)
        for entry in batch:
            hits[len(DRAWN.intersection(entry["numbers"]))] += 1


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory() as tmp:
        export = Path(tmp) / "entries.csv"
        write_export(export)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        )
        client = Client(cluster)
        try:
            queue = Queue("lottery-entries", client=client, maxsize=4)
            regions = ["north", "south"]
            feed = TicketFeed(export, queue, len(regions))
            feed.start()
            futures = [
                client.submit(
                    score_entries, r, "lottery-entries", key=f"score_entries-{r}"
                )
                for r in regions
            ]
            wait(futures, timeout=18)
            total = Counter()
            for _, hits in client.gather(futures):
                total.update(hits)
            log.info("hits: %s, voided: %d", dict(total), feed.voided)
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
