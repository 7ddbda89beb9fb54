import warnings

import numpy as np
from dask.distributed import Client


def deflate(weights, year):
    warnings.warn(f"base year {year} is provisional", UserWarning, stacklevel=2)
    with np.errstate(divide="warn"):
        shares = weights / weights[::-1]
    return float(np.nanmean(shares[np.isfinite(shares)]))


def main():
    weights = np.arange(4_000_000, dtype="f8")
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        futures = [
            client.submit(deflate, weights, year, pure=False)
            for year in (2021, 2022, 2023)
        ]
        for future in futures:
            print(round(future.result(), 4))


if __name__ == "__main__":
    main()
