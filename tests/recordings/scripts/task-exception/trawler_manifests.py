"""Catch manifests of a fishing fleet: compressed JSON lines per vessel, read as a bag, counted by species.

A look-up of the ports' exchange rates runs first; ports without a rate are reported in euros.
"""

import gzip
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster

SPECIES = ["cod", "haddock", "saithe", "plaice", "ling"]
VESSELS = [
    "aurora",
    "borealis",
    "corvina",
    "dorado",
    "escolar",
    "fairwind",
    "gannet",
    "halcyon",
]


class ManifestError(Exception):
    """A manifest that cannot be used."""


def write_vessels(folder: Path) -> list:
    rng = random.Random(11)
    paths = []
    for vessel in VESSELS:
        lines = [
            json.dumps(
                {
                    "vessel": vessel,
                    "haul": n,
                    "species": rng.choice(SPECIES),
                    "kg": round(rng.uniform(5, 900), 1),
                }
            )
            for n in range(1500)
        ]
        data = gzip.compress("\n".join(lines).encode())
        if vessel == "fairwind":  # the satellite link went down while it was sent
            data = data[: len(data) * 2 // 3]
        path = folder / f"{vessel}.jsonl.gz"
        path.write_bytes(data)
        paths.append(str(path))
    return paths


def port_rate(port: str) -> float:
    rates = {"bergen": 11.6, "aberdeen": 0.86, "torshavn": 7.46}
    if port not in rates:
        raise LookupError(f"no rate for {port}")
    return rates[port]


def load_manifest(path: str) -> list:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]
    except (EOFError, OSError) as exc:
        raise ManifestError(f"manifest {Path(path).name} is not usable") from exc


def heavy(record: dict) -> bool:
    return record["kg"] > 20


def by_species(bag) -> Counter:
    totals = bag.filter(heavy).foldby(
        lambda record: record["species"],
        lambda total, record: total + record["kg"],
        0.0,
        lambda a, b: a + b,
        0.0,
    )
    return Counter(dict(totals.compute()))


def rates(client: Client, ports: list) -> dict:
    futures = {
        port: client.submit(port_rate, port, key=f"rate-{port}") for port in ports
    }
    found = {}
    for port, future in futures.items():
        try:
            found[port] = future.result()
        except LookupError as exc:
            print(f"note: {exc}, reporting in euros")
            found[port] = 1.0
    return found


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="manifests-") as name:
        paths = write_vessels(Path(name))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                exchange = rates(client, ["bergen", "aberdeen", "vigo"])
                print("rates:", exchange)
                bag = (
                    db.from_sequence(paths, npartitions=len(paths))
                    .map(load_manifest)
                    .flatten()
                )
                totals = by_species(bag)
                for species, kg in totals.most_common():
                    print(f"{species:10s} {kg:12.1f} kg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
