"""Draws the plots of turbines, each turbine in its folder."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def draw(root, turbine, load):
    folder = os.path.join(root, f"turbine-{turbine}")
    if not os.path.isdir(folder):
        time.sleep(0.05)  # the shared file system answers slowly
        os.makedirs(folder)
    with open(os.path.join(folder, f"load-{load}.txt"), "w") as file:
        file.write(str(turbine * load))


if __name__ == "__main__":
    root = tempfile.mkdtemp(prefix="plots-")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=4, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        jobs = [(turbine, load) for turbine in range(10) for load in range(8)]
        drawn = [client.submit(draw, root, *job) for job in jobs]
        client.gather(drawn)
