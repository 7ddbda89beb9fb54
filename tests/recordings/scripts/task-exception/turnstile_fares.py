"""Prices the turnstile passages of one evening in the currency of the operator."""

import random
import time
from collections import Counter

from dask.distributed import Client, LocalCluster

ZONES = {"A": 1.90, "B": 2.60, "C": 3.40}


def read_gate(gate):
    random.seed(gate)
    time.sleep(0.35)
    return [
        (random.choice("ABC"), random.choice(["adult", "child", "senior"]))
        for _ in range(3000)
    ]


def price_gate(passages, weekday, surcharge=0.0, currency="EUR"):
    factor = {"adult": 1.0, "child": 0.5, "senior": 0.7}
    weekend = 0.9 if weekday >= 5 else 1.0
    total = sum(
        ZONES[zone] * factor[kind] * weekend + surcharge for zone, kind in passages
    )
    return round(total, 2), currency


def classes(passages):
    return Counter(kind for _, kind in passages)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            gates = client.map(read_gate, range(24))
            kinds = Counter()
            for counter in client.gather(client.map(classes, gates)):
                kinds.update(counter)
            print("passages:", dict(kinds))

            options = {"weekday": 4, "surcharge": 0.1, "currencies": "EUR"}
            priced = client.map(price_gate, gates, **options)
            takings = sum(total for total, _ in client.gather(priced))
            print(f"takings {takings:.2f}")


if __name__ == "__main__":
    main()
