"""School meals: each district task plans the schools below it."""

import os
import sys
import threading

from dask.distributed import Client, LocalCluster, get_client


def plan_school(district, school):
    return district * 100 + school


def plan_district(district):
    client = get_client()
    schools = [client.submit(plan_school, district, s, pure=False) for s in range(5)]
    return sum(f.result() for f in schools)


def time_limit(seconds):
    def stop():
        sys.stderr.write(f"school_meals: not finished after {seconds} s, giving up\n")
        sys.stderr.flush()
        os._exit(75)

    t = threading.Timer(seconds, stop)
    t.daemon = True
    t.start()
    return t


def main():
    limit = time_limit(18)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            print(sum(client.gather(client.map(plan_district, range(8)))))
    limit.cancel()


if __name__ == "__main__":
    main()
