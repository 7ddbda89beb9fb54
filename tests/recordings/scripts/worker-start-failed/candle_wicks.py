"""Wick burn tests, reproducible: the hash seed of the workers is the run's."""

import dask
from dask.distributed import Client, LocalCluster

RUN = "wick-2026-11-25b"


def burn(wick):
    return hash(f"wick{wick}") % 1000 / 10


def seed_of(run):
    return run.replace("-", "")[4:]


def main():
    with dask.config.set(
        {
            "distributed.nanny.pre-spawn-environ.PYTHONHASHSEED": seed_of(RUN),
            "distributed.comm.timeouts.connect": "15s",
        }
    ):
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
    try:
        with Client(cluster, timeout=15) as client:
            client.wait_for_workers(2, timeout=20)
            print(client.gather(client.map(burn, range(5))))
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
