"""Bytes and requests that one run costs in a bucket, by what they are for (docs/cost.md).

.venvs/core/bin/python benchmarks/cost.py [--seconds N] [--tasks N]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from dask_blackbox import recording
from dask_blackbox.testing import embedded_s3, faulty_s3
from distributed import Client


def work(seconds: float, number: int) -> int:
    """Take some time."""
    time.sleep(seconds)
    return number


def kind_of(name: str) -> str:
    """Return what a blob is for."""
    if "/segments/" in name:
        return "segments"
    if "/tables/" in name:
        return "tables"
    if "/runs/" in f"/{name}":
        return name.rpartition("/")[2]
    return name.partition("/")[0]


def main() -> None:
    """Record one run, and print what it has cost."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--seconds", type=float, default=10)
    asked.add_argument("--tasks", type=int, default=1000)
    options = asked.parse_args()
    each = options.seconds * 4 / options.tasks
    with (
        embedded_s3() as server,
        faulty_s3(server) as proxy,
        Client(n_workers=2, threads_per_worker=2, dashboard_address=":0") as client,
    ):
        for number in range(2):  # the second has a history
            before = len(proxy.asked)
            settings = proxy.server.settings
            with recording(
                client, store=server.url, store_settings=settings, job="cost"
            ):
                futures = client.map(
                    work, [each] * options.tasks, range(options.tasks), pure=False
                )
                client.gather(futures)
            requests = Counter(ask.method for ask in proxy.asked[before:])
            print(
                f"run {number + 1}: {sum(requests.values())} requests {dict(requests)}"
            )
        sizes: Counter[str] = Counter()
        blobs: Counter[str] = Counter()
        pages = server.client().get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=server.bucket):
            for blob in page.get("Contents", ()):
                sizes[kind_of(blob["Key"])] += blob["Size"]
                blobs[kind_of(blob["Key"])] += 1
        for kind, size in sizes.most_common():
            print(f"{kind:26} {blobs[kind] / 2:6.1f} blobs {size / 2 / 1e3:8.1f} kB")
        total = sum(sizes.values()) / 2e3
        print(f"{'altogether':26} {sum(blobs.values()) / 2:6.1f} blobs {total:8.1f} kB")


if __name__ == "__main__":
    main()
