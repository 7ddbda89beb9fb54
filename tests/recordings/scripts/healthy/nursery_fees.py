"""Monthly fees of the day nurseries, town by town.

Each town has its own small cluster, because their data must not mix.  Fees
come from slow services, so the clusters have many threads.
"""

import time
from concurrent.futures import ThreadPoolExecutor

from dask.distributed import Client, LocalCluster

TOWNS = {"aldham": 40, "birch": 64, "copford": 52, "dedham": 48}
BASE = {"full": 410.0, "half": 240.0}


def children(town, count):
    return [(town, n, "full" if n % 3 else "half") for n in range(count)]


def fee(child):
    town, number, kind = child
    time.sleep(0.15)  # asks the subsidy service
    discount = 0.2 if number % 5 == 0 else 0.0
    return BASE[kind] * (1 - discount)


def total(fees):
    return round(sum(fees), 2)


def bill(town, count):
    with LocalCluster(
        n_workers=1,
        threads_per_worker=16,
        processes=False,
        memory_limit="300MB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            fees = client.map(fee, children(town, count))
            return client.submit(total, fees).result()


def letter(town, amount):
    return f"{town.title()}: please collect {amount:,.2f}"


def main():
    amounts = {}
    for town, count in TOWNS.items():
        start = time.perf_counter()
        amounts[town] = bill(town, count)
        print(f"{town}: {count} children, {time.perf_counter() - start:.1f} s")
    with ThreadPoolExecutor(2) as pool:
        for text in pool.map(letter, amounts, amounts.values()):
            print(text)
    expected = sum(
        BASE["full" if n % 3 else "half"] * (0.8 if n % 5 == 0 else 1)
        for count in TOWNS.values()
        for n in range(count)
    )
    assert abs(sum(amounts.values()) - expected) < 0.05, (amounts, expected)
    print(f"all towns {sum(amounts.values()):,.2f}")


if __name__ == "__main__":
    main()
