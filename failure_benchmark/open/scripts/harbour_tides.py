"""Computes the tides of harbours, each in a process of its own."""

import multiprocessing

from dask.distributed import Client, LocalCluster


def solve(harbour, pipe):
    pipe.send(sum(k * harbour for k in range(1000)))


def tide_table(harbour):
    # The solver keeps global state, so that each harbour needs its own process.
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=solve, args=(harbour, there))
    process.start()
    found = here.recv()
    process.join()
    return found


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(tide_table, range(6)))))
