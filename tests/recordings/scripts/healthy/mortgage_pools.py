"""Values the mortgage pools once the day's reference rates are published.

Runs under pytest in the nightly acceptance stage: the rates desk publishes in
its own time, and the valuations wait for it.
"""

import threading
import time

import numpy as np
import pytest
from dask.distributed import Client, Event, LocalCluster, Variable

POOLS = ["prime-2019", "prime-2021", "rural-2020", "city-2022"]


class RatesDesk(threading.Thread):
    """Publishes the rates after the desk's checks."""

    def __init__(self, client, after):
        super().__init__(daemon=True)
        self.client = client
        self.after = after

    def run(self):
        time.sleep(self.after)
        Variable("reference-rates", client=self.client).set([0.021, 0.023, 0.026])
        Event("rates-published", client=self.client).set()


def value_pool(name, loans):
    if not Event("rates-published").wait(timeout=60):
        raise TimeoutError("no reference rates today")
    rates = np.array(Variable("reference-rates").get(timeout=10))
    rng = np.random.default_rng(len(name))
    balances = rng.uniform(20_000, 400_000, loans)
    years = rng.integers(1, 4, loans)
    present = balances / (1 + rates[years - 1]) ** years
    return name, float(present.sum()), float(balances.sum())


@pytest.fixture(scope="module")
def client():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def valuations(client):
    desk = RatesDesk(client, after=16)
    desk.start()
    futures = client.map(value_pool, POOLS, loans=5_000)
    result = {
        name: (present, balance) for name, present, balance in client.gather(futures)
    }
    desk.join()
    return result


def test_every_pool_is_valued(valuations):
    assert sorted(valuations) == sorted(POOLS)


@pytest.mark.parametrize("pool", POOLS)
def test_present_value_below_balance(valuations, pool):
    present, balance = valuations[pool]
    assert 0.9 * balance < present < balance


def test_unknown_pool_is_refused(valuations):
    with pytest.raises(KeyError):
        valuations["prime-1999"]
