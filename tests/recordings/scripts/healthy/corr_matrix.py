import dask
import numpy as np
from distributed import Client, LocalCluster, wait


def panel(seed):
    return np.random.default_rng(seed).normal(size=(1000, 3000))


def pair_corr(a, b):
    return float(np.corrcoef(a[:, 0], b[:, 0])[0, 1])


def main():
    dask.config.set(
        {
            "distributed.worker.memory.target": 0.4,
            "distributed.worker.memory.spill": 0.5,
            "distributed.worker.memory.pause": 0.9,
            "distributed.worker.memory.terminate": False,
        }
    )
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="600MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        panels = client.map(panel, range(30))
        wait(panels, timeout=50)
        futs = [
            client.submit(pair_corr, panels[i], panels[(i + 7) % 30])
            for i in range(0, 30, 3)
        ]
        cors = client.gather(futs)
        print("max abs correlation", max(map(abs, cors)))


if __name__ == "__main__":
    main()
