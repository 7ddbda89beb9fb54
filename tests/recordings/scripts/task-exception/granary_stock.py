"""Granary stock in two steps on the same workers: unpack the deliveries, then price them."""

import os
import tempfile
import time

from dask.distributed import Client, LocalCluster


def unpack_delivery(box, n):
    folder = os.path.join(box, f"delivery_{n}")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    with open("grain.txt", "w") as f:
        f.write("\n".join(f"{k};{(n + 3) * 40}" for k in ("rye", "oat", "barley")))
    time.sleep(0.2)
    with open("grain.txt") as f:
        return [line.strip().split(";") for line in f]


def price_stock(rows, table):
    with open(table) as f:
        prices = dict(line.split() for line in f)
    return sum(float(prices[k]) * float(kg) for k, kg in rows)


def main():
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as box:
        os.chdir(box)
        os.makedirs("tables")
        with open("tables/prices_2026.txt", "w") as f:
            f.write("rye 0.31\noat 0.27\nbarley 0.29\n")
        try:
            with LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MiB",
                dashboard_address=":0",
            ) as cluster:
                with Client(cluster) as client:
                    table = "tables/prices_2026.txt"
                    check = client.submit(
                        price_stock, [("rye", 100)], table, pure=False
                    ).result()
                    print("price of 100 kg of rye", check)
                    rows = client.gather(
                        client.map(unpack_delivery, [box] * 8, range(8))
                    )
                    worth = client.map(price_stock, rows, table=table)
                    print("worth", sum(client.gather(worth)))
        finally:
            os.chdir(start)


if __name__ == "__main__":
    main()
