"""Adds documents to an index that one task at a time may change."""

import os
import signal
import tempfile
import time

from dask.distributed import Client, LocalCluster, Lock


def add(index, document):
    with Lock("index"):
        first = os.path.join(index, "first")
        if document == 4 and not os.path.exists(first):
            open(first, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does for memory
        time.sleep(0.1)
    return document


if __name__ == "__main__":
    index = tempfile.mkdtemp()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        added = [client.submit(add, index, document) for document in range(12)]
        print(sum(client.gather(added)))
