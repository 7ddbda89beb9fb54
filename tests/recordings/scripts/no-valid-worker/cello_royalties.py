"""Quarterly royalties of the string publishers.

Two clusters: the statements of the platforms are read on the intake cluster; the
letters to the rights holders are printed on the mailing cluster, which is only scaled
up when there is something to print.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import sys
import tempfile
import time

import dask
from dask.distributed import Client, LocalCluster, futures_of, wait

log = logging.getLogger("royalties")

PLATFORMS = ["streamline", "notebox", "gramola", "score-shop"]
WORKS = [f"W{n:04d}" for n in range(40)]


def read_statement(platform: str, month: int) -> dict[str, int]:
    """Plays per work, as the platform reports them."""
    rng = random.Random(f"{platform}-{month}")
    time.sleep(0.3)
    return {work: rng.randrange(0, 5000) for work in rng.sample(WORKS, 30)}


def check_statement(platform: str, plays: dict[str, int]) -> dict[str, int]:
    unknown = set(plays) - set(WORKS)
    if unknown:
        raise ValueError(f"{platform} reports unknown works: {sorted(unknown)[:5]}")
    return plays


@dask.delayed
def settle(
    work: str, statements: list[dict[str, int]], rate: float
) -> tuple[str, float]:
    time.sleep(0.05)
    return work, round(sum(plays.get(work, 0) for plays in statements) * rate, 2)


@dask.delayed
def holders(amounts: list[tuple[str, float]]) -> dict[str, float]:
    due: dict[str, float] = {}
    for work, amount in amounts:
        holder = f"H{int(work[1:]) % 9}"
        due[holder] = round(due.get(holder, 0.0) + amount, 2)
    return due


def print_letter(holder: str, amount: float) -> str:
    time.sleep(0.1)
    return f"Dear {holder}, you receive {amount:.2f}"


def open_cluster(
    stack: contextlib.ExitStack, name: str, workers: int
) -> tuple[LocalCluster, Client]:
    cluster = stack.enter_context(
        LocalCluster(
            name=name,
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="256MiB",
            dashboard_address=":0",
            local_directory=stack.enter_context(
                tempfile.TemporaryDirectory(prefix=f"{name}-")
            ),
        )
    )
    client = stack.enter_context(Client(cluster))
    log.info("cluster %s at %s, %d workers", name, cluster.scheduler_address, workers)
    return cluster, client


def read_all(client: Client) -> list[dict[str, int]]:
    checked = []
    for platform in PLATFORMS:
        for month in (7, 8, 9):
            plays = client.submit(read_statement, platform, month)
            checked.append(client.submit(check_statement, platform, plays))
    return client.gather(checked)


def settle_quarter(
    statements: list[dict[str, int]], rate: float, patience: float
) -> dict[str, float]:
    everything = dask.delayed(statements)
    amounts = [settle(work, everything, rate) for work in WORKS]
    (due,) = dask.persist(holders(amounts))
    wait(futures_of(due), timeout=patience)
    return due.compute()


def send_letters(cluster: LocalCluster, client: Client, due: dict[str, float]) -> int:
    cluster.scale(1)
    client.wait_for_workers(1, timeout=60)
    letters = client.map(print_letter, list(due), list(due.values()))
    return len(client.gather(letters))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=0.0031)
    parser.add_argument(
        "--patience", type=float, default=25, help="seconds for the settlement"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    with contextlib.ExitStack() as stack:
        _, intake = open_cluster(stack, "intake", workers=2)
        mailing_cluster, mailing = open_cluster(stack, "mailing", workers=0)

        statements = read_all(intake)
        log.info("%d statements read", len(statements))
        due = settle_quarter(statements, args.rate, args.patience)
        log.info("%d rights holders, %.2f in all", len(due), sum(due.values()))
        log.info("%d letters printed", send_letters(mailing_cluster, mailing, due))
    return 0


if __name__ == "__main__":
    sys.exit(main())
