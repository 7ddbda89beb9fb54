"""Unpack archives, each in a folder of its own; then read the common table."""

import os
import pathlib
import tempfile

from dask.distributed import Client


def start_in(folder):
    os.chdir(folder)


def unpack(n):
    folder = tempfile.mkdtemp()
    if n == 5:
        os.chdir(folder)
    return folder


def lookup(n, folder):
    with open("tables/codes.txt") as codes:
        return codes.read().split()[n % 3]


if __name__ == "__main__":
    home = pathlib.Path(tempfile.mkdtemp())
    (home / "tables").mkdir()
    (home / "tables" / "codes.txt").write_text("a b c")
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(start_in, str(home))
        for n in range(8):
            folder = client.submit(unpack, n, pure=False)
            print(client.submit(lookup, n, folder, pure=False).result())
