"""Weekly report of the municipal compost heaps from their temperature probes' JSON lines."""

import json
import random
import tempfile
from pathlib import Path

import dask
import dask.bag as db
from distributed import Client, LocalCluster

SITES = ["dyke", "mill", "orchard", "quarry", "railway", "weir"]
OLD_FIRMWARE = {"mill", "quarry", "weir"}


def collect(folder):
    rng = random.Random(3)
    for site in SITES:
        with open(folder / f"{site}.jsonl", "w") as f:
            for hour in range(400):
                celsius = round(rng.gauss(58, 6), 1)
                if site in OLD_FIRMWARE and hour > 250 and hour % 97 == 0:
                    celsius = "--.-"  # probe was pulled out for turning
                f.write(
                    json.dumps(
                        {"site": site, "hour": hour, "probe": hour % 5, "temp": celsius}
                    )
                    + "\n"
                )


def to_kelvin(record):
    return {**record, "temp": float(record["temp"]) + 273.15}


def is_hot(record):
    return record["temp"] > 328.15


def by_probe(record):
    return record["site"], record["probe"]


def count_hours(total, record):
    hours, warmest = total
    return hours + 1, max(warmest, record["temp"])


def merge_hours(a, b):
    return a[0] + b[0], max(a[1], b[1])


def weekly(folder):
    records = db.read_text(str(folder / "*.jsonl")).map(json.loads)
    kelvin = records.map(to_kelvin)
    hot = kelvin.filter(is_hot).foldby(
        by_probe, count_hours, (0, 0.0), merge_hours, (0, 0.0)
    )
    sites = records.pluck("site").frequencies()
    mean = kelvin.pluck("temp").mean()
    return hot, sites, mean


def print_report(hot, sites, mean):
    print("records per site:", dict(sites))
    print(f"mean temperature {mean - 273.15:.1f} C")
    for (site, probe), (hours, warmest) in sorted(hot):
        state = "hygienised" if hours > 20 else "turn again"
        print(
            f"{site:8s} probe {probe} {hours:4d} h hot, up to {warmest - 273.15:.1f} C: {state}"
        )


def main():
    dask.config.set({"bag.partition_size": "8 MiB"})
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        collect(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                hot, sites, mean = dask.compute(*weekly(folder))
        print_report(hot, sites, mean)


if __name__ == "__main__":
    main()
