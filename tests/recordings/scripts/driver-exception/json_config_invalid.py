"""Read the job's settings after the first stage."""

import json

from dask.distributed import Client


def stage(n):
    return n * 2


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(sum(client.gather(client.map(stage, range(50)))))
        settings = json.loads('{"region": "eu", "limit": }')
        print(settings["region"])
