"""Ask several carriers, take the first acceptable quote and drop the others."""

import time
from concurrent.futures import CancelledError

from dask.distributed import Client, LocalCluster, as_completed


def ask(carrier, delay, price):
    time.sleep(delay)
    if price is None:
        raise ConnectionError(f"{carrier} is closed")
    return carrier, price


CARRIERS = [
    ("north", 0.2, None),
    ("rail", 0.6, 880),
    ("sea", 9.0, 410),
    ("road", 1.0, 700),
    ("air", 8.0, 2900),
]


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=3, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [client.submit(ask, *c, key=f"ask-{c[0]}") for c in CARRIERS]
        chosen = None
        for future in as_completed(futures):
            if future.status == "error":
                print("ignored:", future.exception())
                continue
            carrier, price = future.result()
            if price < 800:
                chosen = carrier, price
                break
        rest = [f for f in futures if not f.done()]
        client.cancel(rest, force=True)
        for f in rest:
            try:
                f.result(timeout=2)
            except CancelledError:
                print("dropped", f.key)
        print("booked", chosen)


if __name__ == "__main__":
    main()
