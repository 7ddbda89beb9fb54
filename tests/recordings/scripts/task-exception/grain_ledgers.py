"""Post the elevator's weigh tickets to the shared ledger file, one silo after the other."""

import json
import logging
import pathlib
import tempfile
from decimal import Decimal

from dask.distributed import Client, LocalCluster, Lock

log = logging.getLogger("grain")


def tickets(silo):
    loads = [f"{18 + (silo * 5 + n) % 9}.{n % 10}0" for n in range(12)]
    if silo == 2:
        loads[4] = "21.-70"
    return loads


def post(silo, loads, ledger):
    lock = Lock("ledger")
    if not lock.acquire(timeout=7):
        raise RuntimeError(f"silo {silo}: ledger is in use by another posting")
    path = pathlib.Path(ledger)
    book = json.loads(path.read_text())
    book[str(silo)] = str(sum(Decimal(load) for load in loads))
    path.write_text(json.dumps(book))
    lock.release()
    return silo


class Posting:
    def __init__(self, client, ledger):
        self.client = client
        self.ledger = ledger
        self.posted = []

    def submit(self, silo):
        return self.client.submit(post, silo, tickets(silo), self.ledger, pure=False)

    def run(self, silos, optional=()):
        for silo in silos:
            future = self.submit(silo)
            if silo in optional and future.exception() is not None:
                log.warning(
                    "silo %d is not posted tonight, it is closed for repair anyway",
                    silo,
                )
                continue
            self.posted.append(future.result())
            log.info("silo %d posted", silo)


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        ledger = pathlib.Path(tmp) / "ledger.json"
        ledger.write_text("{}")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            posting = Posting(client, str(ledger))
            posting.run(range(6), optional={2, 5})
            print(json.loads(ledger.read_text()))


if __name__ == "__main__":
    main()
