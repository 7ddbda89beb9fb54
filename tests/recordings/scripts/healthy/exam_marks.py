import sys

import dask.bag as db
from dask.distributed import Client


def mark(paper):
    return "FAILED" if paper % 9 == 0 else "PASSED"


def main():
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ):
        tally = dict(db.range(180, npartitions=6).map(mark).frequencies().compute())
    print("ERROR column intentionally blank")
    print("FAILED:", tally["FAILED"], "PASSED:", tally["PASSED"])
    sys.exit(0 if tally["PASSED"] == 160 else 1)


if __name__ == "__main__":
    main()
