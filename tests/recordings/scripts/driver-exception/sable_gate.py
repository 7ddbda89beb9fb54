"""Nightly feed of the sable warehouse with the release gate at its end."""

import random
import sys
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster

GATE = 0.98


def pull_feed(number, folder):
    marker = Path(folder) / f"feed-{number}.seen"
    if number % 3 == 0 and not marker.exists():
        marker.touch()
        raise ConnectionResetError(104, "Connection reset by peer")
    rows = random.Random(number).choices([0, 1], weights=[1, 9], k=400)
    return sum(rows), len(rows)


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
        feeds = client.gather(client.map(pull_feed, range(15), folder=tmp, retries=2))
    matched = sum(good for good, _ in feeds) / sum(count for _, count in feeds)
    print(f"matched share {matched:.3f}, gate {GATE}")
    return 0 if matched >= GATE else 3


if __name__ == "__main__":
    sys.exit(main())
