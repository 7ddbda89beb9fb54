"""Exchange rates for the bramble shop: workers load the rate book when they start."""

import tempfile
from pathlib import Path

from distributed import Client, LocalCluster, get_worker

PRELOAD = """
from fiscal_calendar import quarter_of


def dask_setup(worker):
    worker.rate_book = {"EUR": 1.0, "NOK": 11.4, "quarter": quarter_of("2026-11-26")}
"""


def convert(amount, currency):
    return amount / get_worker().rate_book[currency]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        preload = Path(tmp) / "rate_book.py"
        preload.write_text(PRELOAD)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
                preload=[str(preload)],
            ) as cluster,
            Client(cluster) as client,
        ):
            print(client.gather(client.map(convert, [10, 20, 30], currency="NOK")))


if __name__ == "__main__":
    main()
