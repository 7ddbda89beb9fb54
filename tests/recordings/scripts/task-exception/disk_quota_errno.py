"""Write a chunk where the quota is used up."""

import errno
import os

from dask.distributed import Client


def write_chunk(n):
    if n == 5:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "/data/team/chunk-5.bin")
    return n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(write_chunk, range(8))))
