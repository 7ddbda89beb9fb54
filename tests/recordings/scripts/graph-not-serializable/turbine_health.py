import threading

import numpy as np
from distributed import Client, LocalCluster


class Smoother:
    def __init__(self, alpha):
        self.alpha = alpha
        self._guard = threading.Lock()
        self.state = {}

    def __call__(self, turbine, values):
        with self._guard:
            last = self.state.get(turbine, values[0])
            for v in values:
                last = self.alpha * v + (1 - self.alpha) * last
            self.state[turbine] = last
        return turbine, last


def vibration(turbine):
    return np.random.default_rng(turbine).normal(2.5, 0.3, 500)


def main():
    smoother = Smoother(0.1)
    print("local check", smoother("T0", vibration(0)))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            signals = client.map(vibration, range(30))
            health = client.map(smoother, [f"T{i}" for i in range(30)], signals)
            alarms = [t for t, v in client.gather(health) if v > 2.7]
            print("alarms", alarms)


if __name__ == "__main__":
    main()
