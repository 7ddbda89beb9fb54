"""Workers shall use a scratch disk, which is not mounted on this host."""

import pathlib
import tempfile

import dask
from dask.distributed import Client, LocalCluster


def square(n):
    return n * n


if __name__ == "__main__":
    mount = pathlib.Path(tempfile.mkdtemp()) / "scratch"
    mount.write_text("not mounted\n")
    dask.config.set({"temporary-directory": str(mount / "dask")})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(client.gather(client.map(square, range(10))))
