"""Counts the words of the pages in a dump of a wiki."""

import gzip
import os
import tempfile

import dask.bag as db
from dask.distributed import Client, LocalCluster


def dumped():
    file = os.path.join(tempfile.mkdtemp(), "pages.txt.gz")
    with gzip.open(file, "wt", compresslevel=1) as out:
        for page in range(700_000):
            out.write(f"{page}\tpage {page} has some words and {page % 91} more\n")
    return file


def words(line):
    found = {}
    for word in line.split():
        found[word] = found.get(word, 0) + len(word) % 3
    return sum(sorted(found.values()))


if __name__ == "__main__":
    file = dumped()
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        pages = db.read_text(file, blocksize=None)
        for _ in range(3):
            print(pages.map(words).sum().compute())
