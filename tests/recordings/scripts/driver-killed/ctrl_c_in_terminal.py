"""A long computation on somebody's laptop."""

import dask.array as da
from dask.distributed import Client


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    x = da.random.random((12_000, 12_000), chunks=(1000, 1000))
    y = (x @ x.T).persist()
    print("computing; see", client.dashboard_link, flush=True)
    print(float(y.sum().compute()))


if __name__ == "__main__":
    main()
