"""Counts spores on the slides of the air samplers with the laboratory's own rules."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client

RULES = """
    LIMITS = {"alternaria": 40, "cladosporium": 120, "botrytis": 15}

    def grade(species, count):
        return "high" if count > LIMITS[species] else "normal"
"""


def start(folder, *command):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    log = open(folder / f"{command[0]}.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env=env,
        stdout=log,
        stderr=log,
    )


def count_slide(slide):
    time.sleep(0.15)
    return {
        "slide": slide,
        "species": ["alternaria", "cladosporium", "botrytis"][slide % 3],
        "count": slide * 7 % 150,
    }


def grade_slide(row):
    from labrules_mycology import grade

    return {**row, "grade": grade(row["species"], row["count"])}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = folder / "lab_library"
        library.mkdir()
        (library / "labrules_mycology.py").write_text(textwrap.dedent(RULES))
        sys.path.insert(0, str(library))
        processes = []
        try:
            address_file = folder / "scheduler.json"
            processes.append(
                start(
                    folder,
                    "scheduler",
                    "--port",
                    "0",
                    "--dashboard-address",
                    ":0",
                    "--scheduler-file",
                    str(address_file),
                )
            )
            for _ in range(2):
                processes.append(
                    start(
                        folder,
                        "worker",
                        "--scheduler-file",
                        str(address_file),
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "500MB",
                        "--local-directory",
                        name,
                    )
                )
            client = Client(scheduler_file=str(address_file), timeout=60)
            client.wait_for_workers(2, timeout=120)
            print("example:", grade_slide(count_slide(5)))
            rows = client.map(count_slide, range(30))
            grades = client.map(grade_slide, rows)
            high = [row for row in client.gather(grades) if row["grade"] == "high"]
            print(len(high), "slides above their limit")
            client.close()
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(timeout=60)


if __name__ == "__main__":
    main()
