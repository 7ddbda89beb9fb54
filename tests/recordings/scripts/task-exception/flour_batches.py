"""Dough plans for tomorrow: one JSON sheet per mill batch, plans go out at 3 o'clock."""

import json
import random
import tempfile
import time
from pathlib import Path

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster


def write_sheets(folder):
    random.seed(9)
    for number in range(24):
        sheet = {
            "batch": f"MB-{number:03d}",
            "kg": random.randint(300, 900),
            "lab": {
                "protein": round(random.uniform(9, 14), 2),
                "hydration": round(random.uniform(58, 71), 1),
            },
        }
        if number == 17:
            sheet["lab"] = {"protein": 11.2, "water": 63.0}
        (folder / f"sheet_{number:03d}.json").write_text(json.dumps(sheet))


@delayed
def read_sheet(path):
    time.sleep(0.4)
    return json.loads(Path(path).read_text())


@delayed
def plan_dough(sheet):
    time.sleep(0.4)
    water = sheet["kg"] * sheet["lab"]["hydration"] / 100
    salt = sheet["kg"] * 0.019
    return {
        "batch": sheet["batch"],
        "water": water,
        "salt": salt,
        "loaves": int((sheet["kg"] + water) / 0.82),
    }


@delayed
def summarize(plans):
    return {
        "loaves": sum(plan["loaves"] for plan in plans),
        "water": sum(plan["water"] for plan in plans),
    }


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sheets(folder)
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="500MB",
            dashboard_address=":0",
        )
        client = Client(cluster)
        try:
            sheets = [
                read_sheet(str(path)) for path in sorted(folder.glob("sheet_*.json"))
            ]
            kilograms = sum(sheet["kg"] for sheet in dask.compute(*sheets))
            print("flour in house:", kilograms, "kg")
            plans = [plan_dough(sheet) for sheet in sheets]
            total = summarize(plans).compute()
            print("tomorrow:", total)
            (folder / "plan.json").write_text(json.dumps(total))
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
