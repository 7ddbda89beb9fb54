"""Copra pricing of the night: ingest, worker rotation, report.

The three steps are separate programs against one cluster, as in the crontab of the
desk; this file starts the cluster and runs them one after the other:

    copra_pricing.py            everything
    copra_pricing.py ingest F   load the price books and publish them
    copra_pricing.py report F   price all contracts with the published books
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, wait

log = logging.getLogger("copra")

PORTS = ["manila", "davao", "kochi", "jakarta", "colombo", "rotterdam"]


def read_book(port):
    """Price book of one port: 250 days x 40 grades."""
    rng = np.random.default_rng(sum(map(ord, port)))
    return 600 + np.cumsum(rng.normal(0, 4, size=(250, 40)), axis=0)


def check_port(port):
    """Is the exchange of this port open tomorrow?"""
    time.sleep(1)
    return port, port != "colombo"


def price_contracts(book, port, contracts):
    time.sleep(0.3)
    rng = np.random.default_rng(contracts)
    days = rng.integers(0, book.shape[0], contracts)
    grades = rng.integers(0, book.shape[1], contracts)
    return port, float(book[days, grades].mean())


def ingest(contact):
    with Client(scheduler_file=contact, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        open_ = dict(client.gather(client.map(check_port, PORTS)))
        log.info("%d of %d ports open", sum(open_.values()), len(open_))
        books = {port: client.scatter(read_book(port), hash=False) for port in PORTS}
        client.publish_dataset(price_books=books)
        log.info("published %d price books", len(books))
        where = client.who_has(list(books.values()))
        log.info("they lie on %d workers", len({a for w in where.values() for a in w}))


def report(contact):
    with Client(scheduler_file=contact, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        books = client.get_dataset("price_books")
        log.info("pricing with %d books", len(books))
        futures = [
            client.submit(
                price_contracts, book, port, 500, key=f"price_contracts-{port}"
            )
            for port, book in books.items()
        ]
        wait(futures, timeout=60)
        for port, price in client.gather(futures):
            log.info("%-10s %8.2f", port, price)


def start(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


def start_worker(contact, folder, name):
    return start(
        "worker",
        "--scheduler-file",
        contact,
        "--name",
        name,
        "--nthreads",
        "1",
        "--memory-limit",
        "300MB",
        "--no-dashboard",
        "--local-directory",
        folder,
    )


def stop(proc):
    proc.terminate()
    try:
        proc.wait(30)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()


def step(name, contact):
    log.info("step %s", name)
    subprocess.run(
        [sys.executable, os.path.abspath(__file__), name, contact], check=True
    )


def nightly():
    with tempfile.TemporaryDirectory(prefix="copra-") as folder:
        contact = str(pathlib.Path(folder) / "scheduler.json")
        scheduler = start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            contact,
        )
        while not os.path.exists(contact):
            time.sleep(0.2)
        workers = {n: start_worker(contact, folder, n) for n in ("copra-a", "copra-b")}
        try:
            step("ingest", contact)
            # logrotate and new file handles, see OPS-812: one worker every night
            stop(workers["copra-b"])
            workers["copra-b"] = start_worker(contact, folder, "copra-b")
            log.info("worker copra-b rotated")
            time.sleep(5)
            step("report", contact)
        finally:
            for proc in (*workers.values(), scheduler):
                stop(proc)
    log.info("night finished")


def main(argv):
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s[%(process)d] %(message)s"
    )
    if not argv:
        nightly()
    elif argv[0] == "ingest":
        ingest(argv[1])
    elif argv[0] == "report":
        report(argv[1])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
