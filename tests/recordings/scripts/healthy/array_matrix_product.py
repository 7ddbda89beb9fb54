"""A product of matrices in blocks."""

import dask.array as da
from dask.distributed import Client, wait


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        a = da.random.random((3000, 3000), chunks=(1000, 1000)).persist()
        wait(a)
        product = (a @ a.T).sum(axis=1)
        print(client.compute(product).result()[:3])


if __name__ == "__main__":
    main()
