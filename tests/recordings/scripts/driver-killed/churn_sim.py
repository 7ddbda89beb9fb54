import os
import signal
import threading
import time

import numpy as np
from distributed import Client, LocalCluster


def arrive(seed):
    return np.random.default_rng(seed).exponential(2.0, 1000)


def simulate(arrivals, servers):
    time.sleep(1.0)
    return float(np.percentile(arrivals, 95) / servers)


def slot_end():
    print("02:00 operator console: stop requested by batch desk", flush=True)
    os.kill(os.getpid(), signal.SIGINT)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    t = threading.Timer(11, slot_end)
    t.daemon = True
    t.start()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        runs = client.map(simulate, client.map(arrive, range(60)), [3] * 60)
        results = client.gather(runs)
        print("p95 wait", np.mean(results))


if __name__ == "__main__":
    main()
