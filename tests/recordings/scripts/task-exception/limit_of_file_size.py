"""Write arrays to files, on a host that allows files of 4 MiB."""

import os
import resource
import tempfile

import numpy as np
from dask.distributed import Client


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))


def export(folder, n):
    path = os.path.join(folder, f"tile-{n}.npy")
    np.save(path, np.zeros((n + 1) * 100_000))
    return path


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(limit)
        print(client.gather(client.map(export, [folder] * 10, range(10))))
