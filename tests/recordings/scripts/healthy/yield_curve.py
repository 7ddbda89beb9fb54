import logging
import warnings

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("curve")


def bootstrap(prices, tenor):
    if tenor == 0:
        logging.getLogger("distributed.worker").error(
            "tenor 0 has no discount factor, using 1.0"
        )
    with np.errstate(all="warn"):
        y = -np.log(prices[tenor] / 100) / np.float64(tenor)
    return tenor, float(np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0))


def main():
    logging.basicConfig(level=logging.WARNING)
    warnings.warn("day count convention ACT/365 is deprecated", DeprecationWarning)
    prices = 100 - np.arange(2_000_000) * 1e-5
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        futs = [client.submit(bootstrap, prices, t) for t in range(6)]
        for t, y in client.gather(futs):
            if y <= 0:
                log.error("CRITICAL CHECK: yield for tenor %s is %s", t, y)
        print("curve built")


if __name__ == "__main__":
    main()
