"""Two stages on the night machine: handicaps on a small cluster, then the finishing times on the big one."""

import dask
from dask.distributed import Client, LocalCluster, get_client


def handicap(boat):
    return 1 + (boat * 13 % 7) / 100


def finish(boat, factor):
    return (3600 + 17 * boat) * factor


def stage_handicaps(boats):
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        # the library functions of the club look for the cluster in the configuration
        dask.config.set({"scheduler-address": cluster.scheduler_address})
        with Client() as client:
            return client.gather(client.map(handicap, boats))


def stage_finish(boats, factors):
    with Client(timeout="8s") as client:
        return client.gather(client.map(finish, boats, factors))


def main():
    boats = list(range(12))
    factors = stage_handicaps(boats)
    print("handicaps from %.2f to %.2f" % (min(factors), max(factors)))
    times = stage_finish(boats, factors)
    print("winner:", times.index(min(times)))


if __name__ == "__main__":
    main()
