"""Monthly report on the ranger patrols of a national park.

Tracks of the patrols are summed up on a small local cluster.  The maps are drawn afterwards on a second cluster,
started by command because the map library wants processes with one thread each and a scratch folder of their own.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time

from dask import bag
from dask.distributed import Client, LocalCluster

WORK = tempfile.mkdtemp(prefix="patrols-")
SETTINGS = {
    "rangers": ["Adler", "Bekele", "Castro", "Duong", "Eriksen", "Farouk"],
    "patrols_each": 12,
    "summary": "scratch",  # interim numbers, for the second half of the job
    "maps": {"workers": 2, "scratch": "scratch", "wait": 15},
}


def track_of(ranger, number):
    """Positions of one patrol, every ten minutes."""
    seed = sum(map(ord, ranger)) + number
    return [
        {
            "ranger": ranger,
            "x": math.sin(seed + step / 9) * 4,
            "y": math.cos(seed * step / 7) * 3,
        }
        for step in range(60)
    ]


def length_of(track):
    return sum(
        math.hypot(b["x"] - a["x"], b["y"] - a["y"]) for a, b in zip(track, track[1:])
    )


def sum_up(settings):
    """First half: kilometres by ranger."""
    patrols = [
        (ranger, number)
        for ranger in settings["rangers"]
        for number in range(settings["patrols_each"])
    ]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            lengths = (
                bag.from_sequence(patrols, npartitions=6)
                .starmap(track_of)
                .map(length_of)
                .compute()
            )
    totals = {}
    for (ranger, _), length in zip(patrols, lengths):
        totals[ranger] = totals.get(ranger, 0.0) + length
    with open(os.path.join(WORK, settings["summary"]), "w") as out:
        json.dump(totals, out)
    return totals


def draw_map(ranger, kilometres):
    time.sleep(0.3)
    return f"<svg><title>{ranger}: {kilometres:.0f} km</title></svg>"


class MapCluster:
    """`dask scheduler` and some `dask worker`, for the second half."""

    def __init__(self, workers, scratch, wait):
        self.count, self.wait = workers, wait
        self.scratch = os.path.join(WORK, scratch)
        self.file = os.path.join(WORK, "maps.json")
        self.processes = []

    def command(self, name, *options):
        module = f"distributed.cli.dask_{name}"
        self.processes.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    module,
                    "--scheduler-file",
                    self.file,
                    "--no-dashboard",
                    *options,
                ],
                stdout=subprocess.DEVNULL,
                stderr=open(os.path.join(WORK, f"{name}.err"), "a"),
            )
        )

    def __enter__(self):
        self.command("scheduler", "--host", "127.0.0.1", "--port", "0")
        for number in range(self.count):
            self.command(
                "worker",
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--name",
                f"map-{number}",
                "--local-directory",
                self.scratch,
            )
        self.client = Client(scheduler_file=self.file, timeout=20)
        return self

    def __exit__(self, *_):
        self.client.close(timeout=2)
        for process in self.processes[::-1]:
            process.terminate()
        for process in self.processes:
            process.wait(10)


def main():
    totals = sum_up(SETTINGS)
    print("kilometres", {name: round(total) for name, total in totals.items()})
    with MapCluster(**SETTINGS["maps"]) as maps:
        maps.client.wait_for_workers(maps.count, timeout=maps.wait)
        futures = [
            maps.client.submit(draw_map, name, total) for name, total in totals.items()
        ]
        pages = maps.client.gather(futures)
    print(len(pages), "maps")


if __name__ == "__main__":
    main()
