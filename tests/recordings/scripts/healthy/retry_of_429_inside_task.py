"""Tasks retry a busy service by themselves."""

import logging
import time

from dask.distributed import Client


def ask(n):
    for attempt in range(3):
        if attempt == 2:
            return n
        logging.getLogger("service").warning(
            "429 Too Many Requests, attempt %d", attempt
        )
        time.sleep(0.1)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(sum(client.gather(client.map(ask, range(40)))))
