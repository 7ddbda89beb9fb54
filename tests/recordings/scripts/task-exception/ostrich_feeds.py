"""Feed plan for a group of ostrich farms: how much of each mix goes to each paddock next week.

Each farm is planned for itself; a farm that cannot be planned must not keep the others from getting theirs, so errors
are noted and the mail goes out for the rest.
"""

import json
import logging
import os
import sys
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("feedplan")

FARMS = {
    "oudtshoorn": [("hens", 40, 2.4), ("chicks", 120, 0.6)],
    "calitzdorp": [("hens", 22, 2.3), ("cocks", 8, 2.7)],
    "ladismith": [("hens", 31, 2.4), ("quarantine", 0, 2.0)],
    "de_rust": [("chicks", 210, 0.5), ("hens", 55, 2.4)],
    "uniondale": [("hens", 12, 2.5)],
    "prince_albert": [("hens", 18, 2.4), ("cocks", 0, 2.7)],
    "willowmore": [("chicks", 64, 0.6)],
    "graaff_reinet": [("hens", 27, 2.2), ("cocks", 9, 2.6)],
}


def write_input(folder):
    folder.mkdir(exist_ok=True)
    for farm, paddocks in FARMS.items():
        rows = [
            {"group": g, "birds": n, "kg": k, "silo": round(n * k * 7 + 35, 1)}
            for g, n, k in paddocks
        ]
        (folder / f"{farm}.json").write_text(json.dumps(rows))


def read_farm(path):
    with open(path) as source:
        return json.load(source)


def grams_per_bird(paddock):
    # what the silo gives each bird in a week
    return 1000 * paddock["silo"] / paddock["birds"]


def plan_farm(paddocks):
    return [
        {
            "group": p["group"],
            "grams": grams_per_bird(p),
            "short": grams_per_bird(p) < 7000 * p["kg"],
        }
        for p in paddocks
    ]


def mail_text(farm, plan):
    lines = [f"Feed plan for {farm}"]
    lines += [
        f"  {row['group']:<12}{row['grams']:>10.0f} g{' SHORT' if row['short'] else ''}"
        for row in plan
    ]
    return "\n".join(lines)


class Planner:
    def __init__(self, client, folder):
        self.client = client
        self.folder = folder
        self.sent = []
        self.skipped = {}

    def submit(self):
        jobs = {}
        for path in sorted(self.folder.glob("*.json")):
            paddocks = self.client.submit(read_farm, os.path.abspath(path))
            plan = self.client.submit(plan_farm, paddocks)
            jobs[self.client.submit(mail_text, path.stem, plan)] = path.stem
        return jobs

    def run(self):
        jobs = self.submit()
        for future in as_completed(list(jobs)):
            farm = jobs[future]
            try:
                text = future.result()
            except Exception:
                log.warning("%s skipped", farm)
                self.skipped[farm] = True
                continue
            Path("outbox").mkdir(exist_ok=True)
            Path("outbox", f"{farm}.txt").write_text(text)
            self.sent.append(farm)
        return len(jobs)


def main():
    folder = Path("farms")
    write_input(folder)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        planner = Planner(client, folder)
        total = planner.run()
        log.info("%d plans sent", len(planner.sent))
    finally:
        client.close()
        cluster.close()
    if planner.skipped:
        sys.exit(f"feed plan failed for {len(planner.skipped)} of {total} farms")


if __name__ == "__main__":
    main()
