"""Scores the thickness measurements of this week's keel inspections.

The shipyard's formulas live in the package ``yardlib`` beside the job; the
measuring stations run `dask worker` of their own, started from their work folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster, wait

HERE = Path.cwd()


def unpack_yardlib():
    package = HERE / "vendor" / "yardlib"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "corrosion.py").write_text(
        textwrap.dedent(
            '''
            """Corrosion formulas of the class society."""

            LIMIT = 0.25


            def grade_hull(frame):
                loss = 1 - frame["measured"] / frame["built"]
                frame = frame.assign(loss=loss, renew=loss > LIMIT)
                return frame.groupby("plate", as_index=False).agg(loss=("loss", "max"), renew=("renew", "any"))
            '''
        )
    )
    sys.path.insert(0, str(package.parent))


def measurements(hull):
    plates = [f"K{n:02d}" for n in range(12) for _ in range(5)]
    return pd.DataFrame(
        {
            "plate": plates,
            "built": 18.0,
            "measured": [
                18.0 - ((hull * 7 + n * 3) % 60) / 10 for n in range(len(plates))
            ],
        }
    )


class Stations:
    """The workers of the measuring stations."""

    def __init__(self, scheduler, count):
        self.scheduler, self.count = scheduler, count
        self.processes = []

    def __enter__(self):
        environment = {k: v for k, v in os.environ.items()}
        for number in range(self.count):
            folder = tempfile.mkdtemp(prefix=f"station{number}-")
            command = [
                sys.executable,
                "-m",
                "dask",
                "worker",
                self.scheduler,
                "--name",
                f"station-{number}",
            ]
            command += [
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--no-nanny",
            ]
            self.processes.append(
                subprocess.Popen(command, cwd=folder, env=environment)
            )
        return self

    def __exit__(self, *exc):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def score(client, hulls):
    from yardlib.corrosion import grade_hull

    tables = [
        client.submit(measurements, hull, key=f"measurements-{hull}") for hull in hulls
    ]
    grades = [
        client.submit(grade_hull, table, key=f"grade_hull-{hull}")
        for hull, table in zip(hulls, tables)
    ]
    wait(grades, timeout=15)
    return dict(zip(hulls, client.gather(grades)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hulls", type=int, nargs="+", default=[411, 412, 417])
    parser.add_argument("--stations", type=int, default=2)
    args = parser.parse_args()
    unpack_yardlib()

    try:
        notes = (HERE / "inspector_notes.txt").read_text()
    except FileNotFoundError:
        notes = ""
        print("no notes of the inspector this week")

    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with Stations(cluster.scheduler_address, args.stations):
            client.wait_for_workers(args.stations, timeout=30)
            for hull, grades in score(client, args.hulls).items():
                print(hull, int(grades["renew"].sum()), "plates to renew", notes)


if __name__ == "__main__":
    main()
