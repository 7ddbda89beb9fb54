"""Writes the parts of a table of sensors to a store that refuses now and then."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def write(part, folder):
    time.sleep(0.1)
    mark = os.path.join(folder, f"tried-{part}")
    if part % 5 == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise PermissionError(f"Access Denied: part.{part}.parquet")
    with open(os.path.join(folder, f"part.{part}"), "w") as file:
        file.write("x" * part)
    return part


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = client.map(write, range(60), folder=folder, retries=10)
        print(sum(client.gather(parts)))
