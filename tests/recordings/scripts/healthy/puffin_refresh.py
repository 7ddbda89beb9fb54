"""Refresh the puffin counts in two rounds, with fresh workers for the second."""

import tempfile
import time

from distributed import Client, LocalCluster


def count(colony, year):
    time.sleep(0.1)
    return colony * 10 + year % 7


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        totals = {}
        for year in (2025, 2026):
            futures = client.map(count, range(20), year=year)
            totals[year] = sum(client.gather(futures))
            leftover = client.map(count, range(100, 140), year=year)
            client.restart(timeout=60)
            print("leftovers", {f.status for f in leftover})
        print(totals)


if __name__ == "__main__":
    main()
