"""Estimate line losses on the distribution grid."""

import numpy as np
from dask.distributed import Client

FEEDERS = {"F1": 1.2, "F2": 0.8, "F3": 2.4, "F4": 1.9}


def losses(feeder, resistance):
    rng = np.random.default_rng(len(feeder))
    load = rng.gamma(3, 20, 8760)
    return feeder, float((load**2 * resistance).sum() / 1e6)


client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
futures = [client.submit(losses, f, r) for f, r in FEEDERS.items()]
for feeder, mwh in client.gather(futures):
    print(feeder, round(mwh, 3))
client.close()
