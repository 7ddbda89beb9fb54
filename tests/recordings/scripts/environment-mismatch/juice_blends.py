"""Plan tomorrow's orange juice: which lots of concentrate go into which blend.

The recipes come from the plant's package ``blendkit``; its releases lie beside each other in ``site/`` and each service
has a line in ``site/services.ini`` that says which one it uses.
"""

import configparser
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pandas as pd

RELEASES = {
    "7.4.0": """
        __version__ = "7.4.0"

        class Recipe:
            def __init__(self, name, target_brix):
                self.name = name
                self.target_brix = target_brix

            def water_for(self, litres, brix):
                return litres * max(brix / self.target_brix - 1, 0)
        """,
    "8.0.2": """
        __version__ = "8.0.2"

        class Recipe:
            def __init__(self, name, target_brix, target_ratio=14.0):
                self.name = name
                self.target_brix = target_brix
                self.target_ratio = target_ratio

            def water_for(self, litres, brix):
                return litres * max(brix / self.target_brix - 1, 0)

            def citric_for(self, litres, brix, acid):
                return litres * max(brix / self.target_ratio - acid, 0) / 100
        """,
}


def install_site(site):
    for version, text in RELEASES.items():
        package = site / f"blendkit-{version}" / "blendkit"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(textwrap.dedent(text))
    services = configparser.ConfigParser()
    services["planner"] = {"blendkit": "8.0.2"}
    services["compute"] = {"blendkit": "7.4.0"}
    with open(site / "services.ini", "w") as f:
        services.write(f)
    return services


def start_compute(site, version, scratch):
    """The compute service of the plant: a scheduler and two workers."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(site / f"blendkit-{version}"), os.environ.get("PYTHONPATH")])
    )
    address_file = scratch / "compute.json"
    common = ["--scheduler-file", str(address_file), "--no-dashboard"]
    dask = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            [*dask, "scheduler", "--port", "0", "--host", "127.0.0.1", *common], env=env
        )
    ]
    for _ in range(2):
        worker = [
            *dask,
            "worker",
            "--nthreads",
            "1",
            "--memory-limit",
            "400MB",
            "--local-directory",
            str(scratch),
        ]
        processes.append(subprocess.Popen([*worker, *common], env=env))
    return address_file, processes


def plan_lot(recipe, lot):
    water = recipe.water_for(lot["litres"], lot["brix"])
    total = lot["litres"] + water
    return {"lot": lot["lot"], "blend": recipe.name, "water": water, "total": total}


def correct_acid(recipe, lot, plan):
    plan = dict(plan)
    plan["citric_kg"] = recipe.citric_for(
        plan["total"], recipe.target_brix, lot["acid"]
    )
    return plan


def main():
    site = Path("site").resolve()
    services = install_site(site)
    sys.path.insert(0, str(site / f"blendkit-{services['planner']['blendkit']}"))
    import blendkit
    from distributed import Client

    print("planner works with blendkit", blendkit.__version__)
    recipes = [
        blendkit.Recipe("breakfast", 11.2),
        blendkit.Recipe("premium", 12.0, 15.5),
    ]
    lots = pd.DataFrame(
        {
            "lot": [f"SP{i:03d}" for i in range(8)],
            "litres": 4000.0,
            "brix": [64, 65, 66, 65, 63, 66, 65, 64],
            "acid": [0.7, 0.8, 0.75, 0.9, 0.66, 0.71, 0.69, 0.8],
        }
    ).to_dict("records")
    scratch = Path(tempfile.mkdtemp(prefix="blends-"))
    address_file, processes = start_compute(
        site, services["compute"]["blendkit"], scratch
    )
    try:
        with Client(scheduler_file=str(address_file), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            plans = []
            for i, lot in enumerate(lots):
                recipe = recipes[i % 2]
                plan = client.submit(plan_lot, recipe, lot)
                plans.append(client.submit(correct_acid, recipe, lot, plan, retries=1))
            table = pd.DataFrame(client.gather(plans))
            print(table.groupby("blend")[["water", "citric_kg"]].sum())
    finally:
        for p in reversed(processes):
            p.terminate()
        for p in processes:
            p.wait(15)


if __name__ == "__main__":
    main()
