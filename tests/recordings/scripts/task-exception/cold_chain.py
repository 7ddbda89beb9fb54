"""Vaccine cold chain: depot limits are put on the workers, then the loggers are judged."""

import time

from dask.distributed import Client, LocalCluster, get_worker


def install_limits(dask_worker):
    dask_worker.depot_limits = {"fridge": 8.0, "freezer": -15.0, "ultra": -60.0}


def judge(logger_id, kind):
    time.sleep(0.6)
    limit = get_worker().depot_limits[kind]
    return logger_id, limit - logger_id % 5


def main():
    kinds = ["fridge", "freezer", "ultra"]
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        cluster.adapt(minimum=1, maximum=3, interval="500ms", wait_count=5)
        with Client(cluster) as client:
            client.wait_for_workers(1)
            client.run(install_limits)
            print("limits installed")
            futures = [client.submit(judge, i, kinds[i % 3]) for i in range(50)]
            breaches = [f for f, m in client.gather(futures) if m < 0]
            print("breaches", len(breaches))


if __name__ == "__main__":
    main()
