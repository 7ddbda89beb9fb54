"""Score the loan book with the vendor model (tokens are metered)."""

import os
import tempfile
import time

import dask
import dask.bag as db
from distributed import Client, LocalCluster


class VendorModel:
    def __init__(self, seat_file):
        self.seat_file = seat_file

    def checkout(self):
        with open(self.seat_file, "a") as fh:
            fh.write(f"{os.getpid()}\n")
        with open(self.seat_file) as fh:
            used = len(fh.readlines())
        if used > 5:
            os.write(2, b"VM-LIC: seat limit 5 exceeded, terminating host process\n")
            os._exit(86)

    def score(self, loan):
        self.checkout()
        time.sleep(0.1)
        return loan["id"], 1 / (1 + loan["dti"])


def score_chunk(loans, seat_file=None):
    model = VendorModel(seat_file)
    return [model.score(loan) for loan in loans]


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    tmp = tempfile.mkdtemp()
    seats = os.path.join(tmp, "seats.log")
    book = [{"id": i, "dti": i % 9 / 10} for i in range(40)]
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        bag = db.from_sequence(book, npartitions=8)
        scores = bag.map_partitions(score_chunk, seat_file=seats).compute()
        print("scored", len(scores))


if __name__ == "__main__":
    main()
