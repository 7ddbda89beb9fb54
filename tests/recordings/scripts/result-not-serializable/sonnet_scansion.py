"""Scans sonnets for their metre. Long poems are handed back as spooled text, so that the driver's memory stays small."""

import logging
import os
import tempfile

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("scansion")

WORDS = "shall I compare thee to a summer's day thou art more lovely and more temperate".split()


def load_scan(path, title):
    """Counterpart of Scan.__reduce__."""
    with open(path, encoding="utf-8") as text:
        return Scan(title, text.read().split("\n"))


class Scan:
    """Marked lines of a poem; travels as the name of a spool file."""

    def __init__(self, title, lines):
        self.title, self.lines = title, lines
        self.spool = None

    def spool_to(self, folder):
        self.spool = os.path.join(folder, f"{self.title}.scan")
        with open(self.spool, "w", encoding="utf-8") as out:
            out.write("\n".join(self.lines))
        return self

    def __reduce__(self):
        return load_scan, (self.spool, self.title)

    def feet(self):
        return sum(line.count("/") for line in self.lines)


def poem(number):
    return [
        " ".join(WORDS[(number * 5 + i * 3 + k) % len(WORDS)] for k in range(9))
        for i in range(14)
    ]


def mark(line):
    return " ".join(
        ("x" if i % 2 == 0 else "/") + word for i, word in enumerate(line.split())
    )


def scan(number):
    """Marks a poem; its spool file lies in a folder of the task's own."""
    with tempfile.TemporaryDirectory(prefix="scan-") as folder:
        return Scan(
            f"sonnet-{number:03d}", [mark(line) for line in poem(number)]
        ).spool_to(folder)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            scans = [client.submit(scan, number) for number in range(1, 25)]
            total = 0
            for number, future in enumerate(scans, 1):
                result = future.result(timeout=25)
                total += result.feet()
                log.info("%s: %d feet", result.title, result.feet())
            print("feet in all:", total)


if __name__ == "__main__":
    main()
