"""Evening seat valuation for a chain of cinemas."""

import json
import logging
import random
import sys
import tempfile
import threading
from pathlib import Path

from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
)
log = logging.getLogger("cinema_seats")

CITIES = ["aarhus", "bergen", "gdansk", "leiden", "malmo", "tartu"]


def write_inputs(folder):
    rng = random.Random(4)
    halls = {
        f"{c}-{n}": {"rows": rng.randint(8, 20), "seats": rng.randint(10, 24)}
        for c in CITIES
        for n in range(1, 4)
    }
    (folder / "halls.json").write_text(json.dumps(halls))
    for city in CITIES:
        lines = []
        for n in range(1, 4):
            for show in range(40):
                lines.append(f"{city}-{n};{show};{rng.randint(20, 180)}")
        (folder / f"sold-{city}.txt").write_text("\n".join(lines))


def read_hall_plan(path):
    with open(path) as source:
        return {k: v["rows"] * v["seats"] for k, v in json.load(source).items()}


def sold_per_hall(path):
    totals = {}
    for line in Path(path).read_text().splitlines():
        hall, _, sold = line.split(";")
        totals[hall] = totals.get(hall, 0) + int(sold)
    return totals


def occupancy(totals, plan):
    return {hall: totals[hall] / (40 * plan[hall]) for hall in totals}


class PlanRefresher(threading.Thread):
    """Keeps the published hall plan up to date beside the main job."""

    def __init__(self, client, path):
        super().__init__(name="plan-refresher", daemon=True)
        self.client = client
        self.path = path

    def run(self):
        try:
            plan = self.client.submit(
                read_hall_plan,
                str(self.path),
                resources={"reference": 1},
                key="read_hall_plan-tonight",
            )
            plan.result(timeout=10)
            self.client.publish_dataset(plan, name="hall-plan")
            log.info("hall plan published")
        except Exception:
            log.info("hall plan not refreshed, staying with the published one")


def main():
    with tempfile.TemporaryDirectory(prefix="cinema-") as tmp:
        folder = Path(tmp)
        write_inputs(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                memory_limit="400MB",
            ) as cluster,
            Client(cluster) as client,
        ):
            refresher = PlanRefresher(client, folder / "halls.json")
            refresher.start()
            futures = client.map(
                sold_per_hall, [str(p) for p in sorted(folder.glob("sold-*.txt"))]
            )
            totals = client.gather(futures)
            log.info("sold tickets of %d cities counted", len(totals))
            refresher.join()
            plan = client.get_dataset("hall-plan")
            shares = client.gather(client.map(occupancy, totals, plan=plan))
            for part in shares:
                for hall, share in part.items():
                    log.info("%s %.0f%%", hall, 100 * share)
    return 0


if __name__ == "__main__":
    sys.exit(main())
