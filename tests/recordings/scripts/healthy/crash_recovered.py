"""Simulation with an unstable native step; one crash per night is tolerated."""

import os
import sys
import tempfile

from dask.distributed import Client, LocalCluster


def simulate(root, cell):
    flag = os.path.join(root, "crashed-once")
    if cell == 4 and not os.path.exists(flag):
        open(flag, "w").close()
        sys.stderr.write("native step: assertion failed, aborting\n")
        sys.stderr.flush()
        os._exit(134)
    return cell**2


def main():
    with tempfile.TemporaryDirectory() as root:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            cells = client.gather(client.map(simulate, [root] * 10, range(10)))
            print("cells", len(cells), "sum", sum(cells))


if __name__ == "__main__":
    main()
