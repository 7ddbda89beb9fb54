"""Append to one file from all tasks, one after the other."""

import tempfile

from dask.distributed import Client, LocalCluster, Lock

REPORT = tempfile.mktemp(suffix=".txt")


def append(path, n):
    lock = Lock("report")
    lock.acquire()
    with open(path, "a") as file:
        file.write(f"line {n}\n")
    if n == 5:
        return None  # nothing to add for this one
    lock.release()
    return n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        written = client.map(append, [REPORT] * 20, range(20))
        print("writing", REPORT, flush=True)
        print(len(client.gather(written)), "lines")
