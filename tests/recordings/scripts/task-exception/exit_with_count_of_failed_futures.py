"""Validate price lists, report all failures at the end."""

import sys

from dask.distributed import Client, as_completed


def validate(sku):
    price = (sku * 37) % 11 - 1
    if price < 0:
        raise ValueError(f"negative price {price} for sku {sku}")
    return sku, price


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    futures = client.map(validate, range(1, 34), pure=False)
    failures = []
    for future in as_completed(futures):
        try:
            future.result()
        except Exception as error:
            failures.append(error)
    client.close()
    if failures:
        sys.exit(f"{len(failures)} futures failed")


if __name__ == "__main__":
    main()
