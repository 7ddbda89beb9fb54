"""Bring a large array home to a small driver."""

import resource

import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    x = da.random.random((200, 5000), chunks=(50, 5000))
    print("mean", float(x.mean().compute()))
    # as in the container that this runs in
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 300 * 2**20, resource.RLIM_INFINITY))
    small = x.compute()
    table = [row.repeat(20_000) for row in small]
    print(len(table))
