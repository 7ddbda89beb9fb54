"""Dask used directly: two clusters of the flow's own, one recording, one card.

A flow need not use Prefect's Dask task runner.  `observed_flow` records every client that
it makes, here a cluster for counting and a larger one for the sum, on one page.
"""

from __future__ import annotations

from distributed import Client, LocalCluster
from prefect_dask_blackbox import observed_flow


def is_prime(number: int) -> bool:
    """Return whether a number has no divisor."""
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


@observed_flow(log_prints=True)
def own_clusters(below: int = 5_000) -> int:
    """Count primes on one cluster, and sum up squares on another one."""
    with LocalCluster(n_workers=1, dashboard_address=":0") as small, Client(small) as a:
        primes = sum(a.gather(a.map(is_prime, range(below), batch_size=1_000)))
    with LocalCluster(n_workers=2, dashboard_address=":0") as large, Client(large) as b:
        squares = b.submit(sum, [n * n for n in range(100)]).result()
    print(f"{primes} primes, {squares} in squares")
    return int(primes)


if __name__ == "__main__":
    own_clusters()
