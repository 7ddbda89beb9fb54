#!/usr/bin/env python
"""Close the day of all branches: sum the journal, compare with the counter, write the total."""

import contextlib
import decimal
import logging
import os
import pathlib
import random
import sys
import tempfile

from dask.distributed import Client, LocalCluster

log = logging.getLogger("abacus")

BRANCHES = ["altona", "barmbek", "eimsbuettel", "finkenwerder", "harburg", "wedel"]


def write_journals(folder):
    """The journals as the tills deliver them in the evening."""
    rng = random.Random(20)
    for branch in BRANCHES:
        lines = ["till;amount"]
        for _ in range(400):
            lines.append(f"{rng.randint(1, 6)};{rng.randint(100, 90000) / 100:.2f}")
        if branch == "harburg":
            lines[287] = "4;1.204,50"
        (folder / f"{branch}.csv").write_text("\n".join(lines) + "\n")


def take_lock(path):
    """Nobody else may close this branch at the same time."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, str(os.getpid()).encode())
    os.close(fd)


def read_amounts(path):
    for line in path.read_text().splitlines()[1:]:
        till, amount = line.split(";")
        yield int(till), decimal.Decimal(amount)


def close_branch(folder, branch):
    folder = pathlib.Path(folder)
    lock = folder / f"{branch}.lock"
    take_lock(lock)
    totals = {}
    for till, amount in read_amounts(folder / f"{branch}.csv"):
        totals[till] = totals.get(till, decimal.Decimal(0)) + amount
    result = {"branch": branch, "total": sum(totals.values()), "tills": len(totals)}
    (folder / f"{branch}.total").write_text(str(result["total"]))
    lock.unlink()
    return result


def combine(results):
    return {
        "branches": len(results),
        "total": sum(r["total"] for r in results),
        "tills": sum(r["tills"] for r in results),
    }


@contextlib.contextmanager
def cluster_client():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            yield client


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(prefix="abacus-") as name:
        folder = pathlib.Path(name)
        write_journals(folder)
        with cluster_client() as client:
            closed = [
                client.submit(
                    close_branch, name, branch, key=f"close_branch-{branch}", retries=3
                )
                for branch in BRANCHES
            ]
            day = client.submit(combine, closed, key="combine")
            try:
                summary = day.result()
            except FileExistsError as exc:
                log.error("another closing run is active: %s", exc)
                sys.exit(75)
    log.info("closed %(branches)d branches, %(tills)d tills, total %(total)s", summary)


if __name__ == "__main__":
    main()
