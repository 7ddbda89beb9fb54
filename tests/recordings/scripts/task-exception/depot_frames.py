"""Stock of the spare-part depots, put into one table for the planners."""

import os
import random
import tempfile
import time
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster

DEPOTS = ["arles", "bourges", "colmar", "dijon", "evreux", "fougeres", "gap", "hendaye"]


def deliver(folder):
    random.seed(2)
    for depot in DEPOTS:
        path = folder / f"{depot}.stock"
        if depot == "evreux":
            path.mkdir()
            path = path / "evreux.stock"
        path.write_text("\n".join(str(random.randint(0, 40)) for _ in range(500)))


def read_depot(path):
    time.sleep(0.3)
    with open(path) as stock:
        return sum(int(line) for line in stock)


def area(depot):
    time.sleep(0.2)
    return depot, len(depot) * 350


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deliver(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                areas = dict(client.gather(client.map(area, DEPOTS)))
                paths = [os.path.join(name, f"{depot}.stock") for depot in DEPOTS]
                futures = client.map(read_depot, paths)
                pieces = client.gather(futures, errors="skip")
                table = pd.DataFrame(
                    {
                        "depot": DEPOTS,
                        "square_metres": [areas[depot] for depot in DEPOTS],
                        "pieces": pieces,
                    }
                )
                table["density"] = table["pieces"] / table["square_metres"]
                print(table.to_string())
                table.to_csv(folder / "table.csv")


if __name__ == "__main__":
    main()
