"""Day end of a clearing house: four desks post to one set of books, then the balance is struck.

Books are written by one desk at a time; foreign items wait until the exchange rates of the day are out.
"""

import logging
import pathlib
import sys
import tempfile
import time

from dask.distributed import Client, Event, LocalCluster, Lock, wait

log = logging.getLogger("dayend")


def publish_rates(folder):
    """Fetches the fixing and tells everybody."""
    time.sleep(1.5)
    (pathlib.Path(folder) / "rates.txt").write_text("EUR 1.0\nUSD 1.09\nCHF 0.95\n")
    Event("fx_rates_ready").set()
    return 3


def _append(folder, desk, items):
    with open(pathlib.Path(folder) / "books.txt", "a") as books:
        for number in range(items):
            books.write(f"{desk} {number}\n")


def post_domestic(folder, desk):
    time.sleep(0.8)
    with Lock("books"):
        _append(folder, desk, 20)
    return desk


def post_foreign(folder, desk):
    with Lock("books"):
        Event("fx-rates-ready").wait()
        rates = (pathlib.Path(folder) / "rates.txt").read_text().splitlines()
        _append(folder, desk, len(rates))
    return desk


def post_fees(folder, desk):
    time.sleep(1.0)
    with Lock("books"):
        _append(folder, desk, 5)
    return desk


def scan_vouchers(batch):
    """Has nothing to do with the books, only takes its time."""
    pages = 0
    for page in range(40):
        time.sleep(0.15)
        pages += page % 3 != 0
    return pages


def balance(desks):
    return sorted(desks)


class DayEnd:
    def __init__(self, client, folder, limit):
        self.client = client
        self.folder = folder
        self.limit = limit

    def submit(self):
        job = self.client.submit
        rates = job(publish_rates, self.folder, key="publish_rates")
        desks = [
            job(post_foreign, self.folder, "treasury", key="post_foreign-treasury"),
            job(post_domestic, self.folder, "retail", key="post_domestic-retail"),
            job(post_domestic, self.folder, "business", key="post_domestic-business"),
            job(post_fees, self.folder, "custody", key="post_fees-custody"),
        ]
        vouchers = [
            job(scan_vouchers, batch, key=f"scan_vouchers-{batch}")
            for batch in range(2)
        ]
        return rates, desks, vouchers

    def run(self):
        rates, desks, vouchers = self.submit()
        log.info("%d rates are published", rates.result(timeout=self.limit))
        struck = self.client.submit(balance, desks, key="balance")
        wait([struck, *vouchers], timeout=self.limit)
        return struck.result()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=4,
                memory_limit="400MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            try:
                log.info("balance of %s", DayEnd(client, folder, limit=18).run())
            except TimeoutError:
                log.error("day end is not done within its time")
                return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
