"""Price a book of swaps against one shared curve."""

import os

import numpy as np
import dask
from dask.distributed import Client, LocalCluster


def check_calendar(code):
    if code == "TKO":
        os._exit(1)
    return code


def price(curve, notional):
    return float(notional * curve[:40].mean())


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 5})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        first, second = sorted(client.scheduler_info()["workers"])
        curve = client.scatter(np.linspace(0.01, 0.035, 200_000), workers=[first])
        known = client.map(check_calendar, ["LON", "NYC"], workers=[first])
        print("calendars:", client.gather(known))
        tokyo = client.submit(
            check_calendar,
            "TKO",
            workers=[first],
            allow_other_workers=False,
            key="calendar-TKO",
        )
        book = client.map(
            price, [curve] * 30, [1e6 + 5e4 * i for i in range(30)], workers=[second]
        )
        more = client.submit(lambda: __import__("time").sleep(4)).result()
        late = client.map(
            price, [curve] * 10, [5e5 + 5e4 * i for i in range(10)], workers=[second]
        )
        print(
            round(sum(client.gather(book)) + sum(client.gather(late)), 2),
            more,
            tokyo.status,
        )


if __name__ == "__main__":
    main()
