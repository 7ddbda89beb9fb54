"""Score card transactions with the shared scorer."""

import logging
import threading

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("fraud")


class Scorer:
    """Weights plus a small cache of merchant factors."""

    def __init__(self, weights):
        self.weights = np.asarray(weights)
        self.cache = {}
        self._guard = threading.RLock()

    def factor(self, merchant):
        with self._guard:
            return self.cache.setdefault(merchant, 1.0 + (merchant % 7) / 10)

    def score(self, block):
        base = block[:, 1:] @ self.weights
        return base * np.array([self.factor(int(m)) for m in block[:, 0]])


def transactions(hour):
    rng = np.random.default_rng(hour)
    block = rng.random((2000, 4))
    block[:, 0] = rng.integers(1, 400, 2000)
    return block


def main():
    scorer = Scorer([0.2, 0.5, 0.3])
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = client.map(transactions, range(24))
        scores = client.map(lambda block: scorer.score(block), blocks)
        top = client.map(lambda s: float(np.quantile(s, 0.999)), scores)
        print("hourly 99.9% score", [round(v, 3) for v in client.gather(top)])


if __name__ == "__main__":
    main()
