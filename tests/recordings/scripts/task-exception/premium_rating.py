"""Rate insurance policies with the full mortality table embedded."""

import warnings

import numpy as np
from dask import delayed
import dask
from dask.distributed import Client, LocalCluster


def mortality():
    rng = np.random.default_rng(12)
    return rng.random((1500, 1500))


def rate(policy, table):
    age, term = policy
    risk = table[age * 10 : (age + term) * 10].mean()
    return round(1000 * float(risk) / term, 3)


def book():
    policies = [(20 + i % 60, 5 + i % 25) for i in range(40)]
    policies[23] = (44, 0)
    return policies


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        table = mortality()
        premiums = [delayed(rate)(p, table) for p in book()]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("default")
            print(sum(dask.compute(*premiums)))


if __name__ == "__main__":
    main()
