"""concurrent.futures style on a Dask cluster."""

import time
from concurrent.futures import as_completed
from datetime import date

from dask.distributed import Client


def parse(text):
    time.sleep(0.02)
    return date.fromisoformat(text)


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    days = [f"2026-{month:02}-{day:02}" for month in (1, 2) for day in range(1, 31)]
    with client.get_executor() as executor:
        submitted = {executor.submit(parse, day): day for day in days}
        latest = max(future.result() for future in as_completed(submitted))
    print("latest", latest)


if __name__ == "__main__":
    main()
