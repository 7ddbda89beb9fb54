"""Scatter a model, then score with it; its worker goes away between."""

import os
import signal
import time

from dask.distributed import Client, LocalCluster


def score(model, n):
    return model["weights"][n % 3] * n


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = Client(cluster)
        model = client.scatter({"weights": [0.5, 1.5, 2.5]})
        [[holder]] = client.who_has([model]).values()
        pid = client.run(os.getpid, workers=[holder])[holder]
        print(client.submit(score, model, 7).result())
        os.kill(pid, signal.SIGKILL)  # stands for the spot machine that is taken away
        while holder in client.scheduler_info()["workers"]:
            time.sleep(0.1)
        print(sum(client.gather(client.map(score, [model] * 20, range(20)))))
