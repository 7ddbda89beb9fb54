"""Firing simulation whose native library ends the process once in a while; Dask runs the task again."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def fire_pipe(pipe, folder):
    time.sleep(0.3)
    flag = os.path.join(folder, f"{pipe}.seen")
    if pipe == 5 and not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(3)
    return pipe * 1.5


def main():
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                pipes = client.gather(client.map(fire_pipe, range(14), folder=folder))
                assert len(pipes) == 14
                print("fired", sum(pipes))


if __name__ == "__main__":
    main()
