import time

import numpy as np
from distributed import CancelledError, Client, LocalCluster


def fit(seed, alpha):
    time.sleep(1)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(500, 5))
    y = x @ np.arange(5) + rng.normal(size=500)
    return np.linalg.solve(x.T @ x + alpha * np.eye(5), x.T @ y).round(2).tolist()


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        warm = client.map(fit, range(30), [0.1] * 30)
        time.sleep(2)
        print("new data version arrived, restarting workers")
        client.restart(timeout=30)
        try:
            warm[0].result(timeout=5)
        except (CancelledError, TimeoutError) as e:
            print("old fits are gone:", type(e).__name__)
        fits = client.map(fit, range(100, 106), [0.2] * 6)
        print("coefficients", client.gather(fits)[0])


if __name__ == "__main__":
    main()
