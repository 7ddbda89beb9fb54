"""Index archives; the files are kept open in a cache of the module."""

import builtins
import os
import resource
import tempfile

from dask.distributed import Client

builtins.kept_open = []


def limit(number):
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


def index_archive(folder, n):
    import builtins

    if not hasattr(builtins, "kept_open"):
        builtins.kept_open = []
    for part in range(20):
        path = os.path.join(folder, f"{n}-{part}.idx")
        builtins.kept_open.append(open(path, "w"))
    return n


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(limit, 256)
        futures = client.map(index_archive, [folder] * 40, range(40))
        print(client.gather(futures))
