"""Prepare the renewals of expiring office leases.

Offers are computed at once, but may only be issued when the legal department has signed the index clause of the day.
The signature arrives some time in the night; everything waits for it.
"""

import json
import logging
import sys
import threading
import time
from datetime import date, timedelta
from pathlib import Path

from dask.distributed import Client, Event, LocalCluster, Semaphore

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout
)
log = logging.getLogger("leases")


class LegalDepartment(threading.Thread):
    """In production a listener of the signature service's queue."""

    def __init__(self, client, delay):
        super().__init__(daemon=True, name="legal")
        self.client = client
        self.delay = delay

    def run(self):
        time.sleep(self.delay)
        log.info("the clause is signed")
        Event("clause-signed", client=self.client).set()


def expiring(today, count):
    for n in range(count):
        yield {
            "lease": f"L-{n:04d}",
            "ends": (today + timedelta(days=30 + n)).isoformat(),
            "rent": 1800 + 13 * n,
        }


def compute_offer(lease, index):
    time.sleep(0.05)
    return {**lease, "offer": round(lease["rent"] * index, 2)}


def issue_offer(offer):
    signed = Event("clause-signed")
    if not signed.wait(timeout=60):
        raise RuntimeError(f"{offer['lease']}: the clause was not signed tonight")
    with Semaphore(max_leases=2, name="letter-printer"):
        time.sleep(0.05)
    return {**offer, "issued": True}


def main():
    today = date(2026, 11, 28)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            printer = Semaphore(max_leases=2, name="letter-printer")
            offers = client.map(compute_offer, list(expiring(today, 24)), index=1.021)
            issued = client.map(issue_offer, offers)
            LegalDepartment(client, delay=14).start()
            started = time.monotonic()
            letters = client.gather(issued)
            log.info(
                "%d letters after %.0f s", len(letters), time.monotonic() - started
            )
            assert all(letter["issued"] for letter in letters)
            printer.close()
    Path("letters.json").write_text(json.dumps(letters, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
