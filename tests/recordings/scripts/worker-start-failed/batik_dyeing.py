"""Dye consumption per batik workshop, computed each evening before the supplier's order closes.

Scheduler and workers are started by hand.  Every worker loads the recipe book first, so that the
tasks find the recipes in memory.
"""

import json
import logging
import signal
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client

log = logging.getLogger("batik")

RECIPE_SETUP = '''
"""Loaded by every worker when it comes up: puts the recipe book at the tasks' disposal."""
import json
from pathlib import Path

BOOK = Path(__file__).with_name("recipes.json")


async def dask_setup(worker):
    book = json.loads(BOOK.read_text())
    worker.recipes = {recipe["code"]: recipe["grams_per_metre"] for recipe in book["recipes"]}
'''

RECIPES = {
    "season": "2026-dry",
    "recipes": [
        {"code": "indigo", "grams_per_metre": 14.5},
        {"code": "soga", "grams_per_metre": 9.0},
        {"code": "mengkudu", "grams_per_metre": 11.2},
    ],
}


def consumption(workshop, orders):
    from distributed import get_worker

    recipes = get_worker().recipes
    return workshop, sum(recipes[code] * metres for code, metres in orders)


def launch(name, *command):
    log.info("starting %s", name)
    with open(f"{name}.log", "w") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def stop(processes):
    for name, process in processes.items():
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    end = time.monotonic() + 5
    for name, process in processes.items():
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
        log.info("%s ended", name)


def wait_for_file(path, seconds):
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            raise FileNotFoundError(path)
        time.sleep(0.1)


def run():
    Path("recipes.json").write_text(json.dumps(RECIPES))
    Path("recipe_setup.py").write_text(RECIPE_SETUP)
    contact = Path("contact.json")
    contact.unlink(missing_ok=True)
    processes = {}
    try:
        processes["scheduler"] = launch(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(contact),
        )
        wait_for_file(contact, 20)
        for vat in ("vat-a", "vat-b"):
            processes[vat] = launch(
                vat,
                "worker",
                "--scheduler-file",
                str(contact),
                "--name",
                vat,
                "--no-nanny",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                "--preload",
                "recipe_setup.py",
            )
        with Client(scheduler_file=str(contact), timeout=15) as client:
            client.wait_for_workers(2, timeout=15)
            orders = {
                f"workshop-{n:02d}": [("indigo", 12 + n), ("soga", 7), ("mengkudu", n)]
                for n in range(9)
            }
            futures = [
                client.submit(consumption, name, rows) for name, rows in orders.items()
            ]
            return dict(client.gather(futures))
    finally:
        stop(processes)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    totals = run()
    for name, grams in sorted(totals.items()):
        print(f"{name} {grams / 1000:8.2f} kg")


if __name__ == "__main__":
    main()
