"""How far `dask blackbox sizes` is off: five workloads with one, two and four workers.

    python benchmarks/cluster_sizes.py [--rounds 2]

Each run is recorded, and each predicts how long the two others take.  Prints, as Markdown,
seconds of each run, and what the others predicted for it; then the median of all errors.
Four of the workloads wait, as those do that read from a bucket, so that workers need no core
each.  `reduce` computes with one and two workers only: run it on two idle cores or more.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import dask
from dask_blackbox import recording
from dask_blackbox.analyse.cluster_sizes import cluster_sizes_of
from dask_blackbox.reader import find_run
from dask_blackbox.store import open_store
from distributed import Client, LocalCluster, as_completed, wait


def waiting(number: int, seconds: float) -> int:
    """Wait, as a task does that reads from a bucket."""
    time.sleep(seconds)
    return number


def computing(number: int) -> float:
    """Compute for about a third of a second."""
    total = 0.0
    for n in range(3_000_000):
        total += n % (number + 7)
    return total


def joined(*parts: object) -> int:
    """Join what was read."""
    time.sleep(0.1)
    return len(parts)


def read(client: Client) -> None:
    """Read 120 files of different sizes."""
    sizes = random.Random(1)
    seconds = [sizes.uniform(0.05, 0.6) for _ in range(120)]
    client.gather(client.map(waiting, range(120), seconds))


def join(client: Client) -> None:
    """Read 64 files, and join four results at a time until one is left."""
    parts = [dask.delayed(waiting)(n, 0.3) for n in range(64)]
    while len(parts) > 1:
        parts = [
            dask.delayed(joined)(*parts[n : n + 4]) for n in range(0, len(parts), 4)
        ]
    client.compute(parts[0]).result()


def stages(client: Client) -> None:
    """Read 24 files, look at all of them, and go on, four times."""
    for stage in range(4):
        wait([client.submit(waiting, n, 0.25, key=f"s{stage}-{n}") for n in range(24)])
        time.sleep(1.0)


def follow(client: Client) -> None:
    """Keep twelve tasks going, and send one more whenever one is done."""
    numbers = iter(range(60))

    def send() -> Any:
        number = next(numbers, None)
        seconds = 0.2 + (number or 0) % 5 / 10
        return None if number is None else client.submit(waiting, number, seconds)

    going = as_completed([send() for _ in range(12)])
    for done in going:
        done.result()
        if (more := send()) is not None:
            going.add(more)


def reduce(client: Client) -> None:
    """Compute 40 pieces, and add them."""
    client.submit(sum, client.map(computing, range(40))).result()


WORKLOADS: tuple[tuple[Callable[[Client], None], tuple[int, ...], int], ...] = (
    (read, (1, 2, 4), 2),
    (join, (1, 2, 4), 2),
    (stages, (1, 2, 4), 2),
    (follow, (1, 2, 4), 2),
    (reduce, (1, 2), 1),
)
"""What is done, with how many workers, of how many threads each."""


def record(
    work: Callable[[Client], None], workers: int, threads: int, store: str
) -> None:
    """Record a workload on a cluster that is there before it begins."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            memory_limit="1GiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        name = f"{work.__name__}-{workers}"
        with recording(client, store=store, job=name):
            work(client)


def main() -> None:
    """Record all, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    errors: list[float] = []
    print("| workload | workers | took, s | predicted by the others, s |")
    print("|---|---|---|---|")
    for work, sizes, threads in WORKLOADS:
        for _ in range(asked.rounds):
            with tempfile.TemporaryDirectory() as folder:
                for workers in sizes:
                    record(work, workers, threads, folder)
                store = open_store(folder)
                known = {
                    n: cluster_sizes_of(find_run(store, f"{work.__name__}-{n}"))
                    for n in sizes
                }
            for workers in sizes:
                took = known[workers].seconds
                predicted = [
                    size.seconds
                    for n, each in known.items()
                    for size in each.sizes
                    if n != workers and size.workers == workers
                ]
                errors += [abs(each - took) / took for each in predicted]
                shown = ", ".join(f"{each:.1f}" for each in predicted)
                print(f"| `{work.__name__}` | {workers} | {took:.1f} | {shown} |")
    print(
        f"\n{len(errors)} predictions: median error {statistics.median(errors):.0%}, "
        f"largest {max(errors):.0%}"
    )


if __name__ == "__main__":
    main()
