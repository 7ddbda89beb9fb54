import signal
import time

import numpy as np
from distributed import Client, LocalCluster, get_client


def window_stats(cust, days):
    x = np.random.default_rng(cust * days).poisson(3, days)
    return float(x.mean()), float(x.std())


def customer_vector(cust):
    client = get_client()
    parts = [client.submit(window_stats, cust, d) for d in (7, 30, 90)]
    return cust, [p.result() for p in parts]


def overdue(signum, frame):
    raise TimeoutError("feature build exceeded its slot")


def main():
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(25)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        t0 = time.time()
        vectors = client.gather(client.map(customer_vector, range(8)))
        print(len(vectors), "vectors in", time.time() - t0)
    finally:
        signal.alarm(0)
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
