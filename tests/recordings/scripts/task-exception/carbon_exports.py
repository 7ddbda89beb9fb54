"""Pushes the monthly carbon statements of the sites to the registry, with three retries each."""

import os
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

SITES = ["anvers", "brest", "calais", "dover", "esbjerg", "fos"]


def upload(statement, site, attempts_seen):
    """Client of the registry: slow line, the first connection of a day is sometimes dropped."""
    time.sleep(0.4)
    if site == "dover" and attempts_seen == 1:
        raise ConnectionResetError(
            104, "Connection reset by peer", "registry.example:443"
        )
    return f"{site}-{sum(statement):.0f}"


def statement_of(site):
    time.sleep(0.3)
    return [len(site) * month * 1.7 for month in range(1, 13)]


def push_statement(statement, site, outbox):
    outbox = Path(outbox)
    claim = outbox / f"{site}.claim"
    journal = outbox / f"{site}.journal"
    with open(journal, "a") as log:
        log.write(f"{time.time()} pid {os.getpid()}\n")
    attempts = len(journal.read_text().splitlines())
    descriptor = os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(descriptor, str(os.getpid()).encode())
    os.close(descriptor)
    receipt = upload(statement, site, attempts)
    claim.unlink()
    return receipt


def main():
    with tempfile.TemporaryDirectory() as outbox:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                statements = client.map(statement_of, SITES)
                receipts = [
                    client.submit(
                        push_statement,
                        statement,
                        site,
                        outbox,
                        retries=3,
                        key=f"push_statement-{site}",
                    )
                    for statement, site in zip(statements, SITES)
                ]
                for site, receipt in zip(SITES, client.gather(receipts)):
                    print(site, receipt)


if __name__ == "__main__":
    main()
