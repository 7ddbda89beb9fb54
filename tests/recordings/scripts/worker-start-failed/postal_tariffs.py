"""Prices yesterday's parcels with the tariff tables each worker keeps at hand."""

import logging
import sys
import tempfile
from pathlib import Path

import pandas as pd
from dask.distributed import (
    Client,
    Nanny,
    Scheduler,
    SpecCluster,
    WorkerPlugin,
    get_worker,
)

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("postal_tariffs")


class TariffTables(WorkerPlugin):
    """Reads the tariff of the year once for each worker."""

    name = "tariff-tables"

    def __init__(self, folder, year):
        self.folder = folder
        self.year = year

    def setup(self, worker):
        table = pd.read_parquet(Path(self.folder) / f"tariff-{self.year}.parquet")
        worker.tariff = dict(zip(table["zone"], table["price"]))


def write_inputs(folder):
    for year in (2023, 2024, 2025):
        frame = pd.DataFrame(
            {
                "zone": list(range(1, 9)),
                "price": [2.4 + z * 0.8 + (year - 2023) * 0.2 for z in range(8)],
            }
        )
        frame.to_parquet(folder / f"tariff-{year}.parquet")
    for depot in range(6):
        frame = pd.DataFrame(
            {
                "zone": [(depot + n) % 8 + 1 for n in range(500)],
                "weight": [0.2 + n % 30 for n in range(500)],
            }
        )
        frame.to_parquet(folder / f"parcels-{depot}.parquet")


def price_depot(path):
    tariff = get_worker().tariff
    parcels = pd.read_parquet(path)
    return float((parcels["zone"].map(tariff) * parcels["weight"].clip(lower=1)).sum())


def build_cluster():
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    worker = {"cls": Nanny, "options": {"nthreads": 1, "memory_limit": "400MB"}}
    return SpecCluster(
        scheduler=scheduler, workers={"p0": worker, "p1": worker}, name="postal"
    )


def main():
    with tempfile.TemporaryDirectory(prefix="postal-") as tmp:
        folder = Path(tmp)
        write_inputs(folder)
        with build_cluster() as cluster, Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            try:
                client.register_plugin(TariffTables(tmp, 2026))
            except Exception as problem:
                log.warning(
                    "plug-in was registered before? (%s)", type(problem).__name__
                )
            futures = [
                client.submit(price_depot, str(p), key=f"price_depot-{p.stem}")
                for p in sorted(folder.glob("parcels-*.parquet"))
            ]
            revenue = client.gather(futures)
            log.info("revenue of the day %.2f", sum(revenue))
    return 0


if __name__ == "__main__":
    sys.exit(main())
