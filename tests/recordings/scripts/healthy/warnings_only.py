"""Tasks warn, in all ways that there are; no more than that."""

import logging
import warnings

import numpy as np
from dask.distributed import Client, get_worker


def ratio(n):
    logging.getLogger("shop.ratio").error("error budget of shop %d is used up", n)
    warnings.warn("ratio() is deprecated", DeprecationWarning, stacklevel=2)
    get_worker().log_event("audit", {"shop": n, "error": "none"})
    return float(np.nan_to_num(np.float64(n) / np.zeros(3)).sum() > 0)


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        client.forward_logging("shop", level=logging.WARNING)
        print(sum(client.gather(client.map(ratio, range(20)))))
