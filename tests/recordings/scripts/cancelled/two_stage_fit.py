import numpy as np
from distributed import Client, LocalCluster

SMALL = dict(
    n_workers=1, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
)


def design(region):
    rng = np.random.default_rng(region)
    x = rng.normal(size=(2000, 6))
    return x, x @ np.arange(1, 7) + rng.normal(size=2000)


def ols(xy):
    x, y = xy
    return np.linalg.lstsq(x, y, rcond=None)[0]


def pooled(betas):
    return np.mean(betas, axis=0).round(3)


def prepare(regions):
    with LocalCluster(**SMALL) as cluster, Client(cluster) as client:
        blocks = client.map(design, range(regions))
        print("prepared", len(client.gather(blocks)), "regions")
        return blocks


def estimate(blocks):
    with LocalCluster(**SMALL) as cluster, Client(cluster) as client:
        betas = [client.submit(ols, b, key=f"ols-{i}") for i, b in enumerate(blocks)]
        print("pooled", client.submit(pooled, betas).result(timeout=30))


if __name__ == "__main__":
    estimate(prepare(8))
