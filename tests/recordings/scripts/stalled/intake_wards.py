"""Classify the day's hospital admissions by ward for the morning occupancy report.

The admissions come in one batch per ward. The diagnosis codes are a large table that is published once per cluster;
the batches use it when it has been announced.
"""

import logging
import random
from concurrent.futures import TimeoutError as FuturesTimeout
from dataclasses import dataclass, field

from dask.distributed import Client, Event, LocalCluster, Variable, get_client, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("intake")

WARDS = [
    "cardiology",
    "surgery",
    "paediatrics",
    "oncology",
    "neurology",
    "geriatrics",
    "maternity",
    "trauma",
    "urology",
    "dialysis",
]


@dataclass
class Settings:
    workers: int = 2
    threads: int = 2
    patience: float = 15.0
    batch: int = 400
    seed: int = 20261128


def read_admissions(ward, n, seed):
    rng = random.Random(f"{ward}{seed}")
    return [
        {"ward": ward, "code": f"I{rng.randint(10, 99)}", "nights": rng.randint(1, 20)}
        for _ in range(n)
    ]


def load_code_table(release):
    """Builds the table of codes and tells everybody that it is there."""
    table = {f"I{n}": ("acute" if n % 3 else "planned") for n in range(10, 100)}
    with get_client() as client:
        Variable("code-table", client=client).set({"release": release, "codes": table})
        Event("codes-announced", client=client).set()
    return len(table)


def classify_ward(admissions):
    announced = Event("codes-announced")
    announced.wait()
    table = Variable("code-table").get()["codes"]
    counts = {"acute": 0, "planned": 0}
    for row in admissions:
        counts[table[row["code"]]] += row["nights"]
    return admissions[0]["ward"], counts


@dataclass
class OccupancyReport:
    settings: Settings
    results: dict = field(default_factory=dict)

    def submit(self, client):
        batches = [
            client.submit(read_admissions, w, self.settings.batch, self.settings.seed)
            for w in WARDS
        ]
        wait(batches)
        log.info("read %d batches", len(batches))
        wards = client.map(classify_ward, batches)
        # the reports matter more than the table, which is only looked up
        codes = client.submit(load_code_table, "2026-Q4", priority=-5)
        return wards, codes

    def run(self, client):
        wards, codes = self.submit(client)
        try:
            wait([*wards, codes], timeout=self.settings.patience)
        except (TimeoutError, FuturesTimeout):
            open_wards = [f.key for f in wards if not f.done()]
            raise RuntimeError(
                f"occupancy report: {len(open_wards)} wards are not classified"
            ) from None
        self.results.update(client.gather(wards))

    def write(self, path="occupancy.txt"):
        with open(path, "w") as out:
            for ward, counts in sorted(self.results.items()):
                out.write(f"{ward:<14}{counts['acute']:>8}{counts['planned']:>8}\n")


def main():
    settings = Settings()
    cluster = LocalCluster(
        n_workers=settings.workers,
        threads_per_worker=settings.threads,
        memory_limit="400MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    report = OccupancyReport(settings)
    try:
        report.run(client)
    finally:
        report.write()
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
