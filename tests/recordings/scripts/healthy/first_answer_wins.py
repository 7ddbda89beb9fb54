"""Ask three services; the first answer counts, the others are cancelled."""

import time

from dask.distributed import Client, as_completed


def ask(service):
    time.sleep({"fast": 0.2, "slow": 20, "slower": 30}[service])
    return service


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=3, dashboard_address=":0") as client:
        asked = client.map(ask, ["slow", "fast", "slower"])
        first = next(as_completed(asked))
        print(first.result())
        client.cancel([each for each in asked if each is not first], force=True)
