import json
import tempfile
from pathlib import Path

import dask.bag as db
from dask.distributed import Client


def orchard_of(jar):
    return jar["orchard"]


def weigh(total, jar):
    return total + jar["grams"]


def write(folder):
    for day in range(4):
        jars = [
            {"fruit": "plum", "orchard": f"o{n % 3}", "grams": 250 + n}
            for n in range(40)
        ]
        if day == 2:
            jars[17]["orchard"] = ["o1", "o2"]
        (Path(folder) / f"day{day}.json").write_text("\n".join(map(json.dumps, jars)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            jars = db.read_text(f"{folder}/day*.json").map(json.loads)
            totals = jars.foldby(
                orchard_of, weigh, 0, lambda a, b: a + b, 0, split_every=2
            )
            for orchard, grams in sorted(totals.compute()):
                print(orchard, grams / 1000, "kg")


if __name__ == "__main__":
    main()
