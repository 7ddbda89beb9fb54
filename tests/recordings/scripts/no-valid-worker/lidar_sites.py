"""Classify lidar sweeps on the node which has the calibration loaded."""

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def load_calibration(site):
    get_worker().calibration = {"site": site, "gain": 1.7}
    return get_worker().address


def sweep(number):
    rng = np.random.default_rng(number)
    return rng.gamma(2, 3, 20_000)


def classify(points):
    gain = get_worker().calibration["gain"]
    return int((points * gain > 12).sum())


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        addresses = sorted(client.scheduler_info()["workers"])
        node = client.submit(load_calibration, "ridge", workers=addresses[:1]).result()
        first = [
            client.submit(classify, client.submit(sweep, n), workers=[node])
            for n in range(4)
        ]
        print("morning", client.gather(first))
        # give capacity back for the lunch break
        client.retire_workers(workers=[node], close_workers=True)
        second = [
            client.submit(classify, client.submit(sweep, n), workers=[node])
            for n in range(4, 8)
        ]
        evening = [f.result(timeout=8) for f in second]
        print("evening", evening)


if __name__ == "__main__":
    main()
