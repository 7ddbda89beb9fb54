"""Shadow renders for a nursery's trellis catalogue.

The catalogue's pictures are ray-marched in tiles on idle office machines.  Each machine runs `dask worker` in a
session of its own, under a small agent of the office park (`broker.py`) that switches machines on, and off when the
park's night tariff ends.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, as_completed

BROKER = r'''
"""Agent of the office park: starts the machines and keeps the plan of the night."""
import json, os, signal, subprocess, sys, time

plan = json.load(open(sys.argv[1]))
machines = {}


def dawn(*_):
    for machine in machines.values():
        if machine.poll() is None:
            machine.terminate()
    for machine in machines.values():
        machine.wait()
    sys.exit(0)


signal.signal(signal.SIGTERM, dawn)
for name, entry in plan["machines"].items():
    words = [sys.executable, "-m", "dask", "worker", "--scheduler-file", plan["scheduler"], "--name", name,
             "--nworkers", "1", "--nthreads", "1", "--memory-limit", "400MB", "--no-dashboard"]
    machines[name] = subprocess.Popen(words, start_new_session=True, cwd=plan["folder"])
waiting = {name: entry["off"] for name, entry in plan["machines"].items() if entry["off"]}
while True:
    for name, flag in list(waiting.items()):
        if os.path.exists(flag):
            time.sleep(1.0)
            os.killpg(machines[name].pid, signal.SIGKILL)   # mains switch of the desk
            del waiting[name]
    time.sleep(0.1)
'''


def render_tile(row, column, size, samples):
    """Mean shade of each pixel of one tile."""
    shades = []
    for y in range(size):
        for x in range(size):
            light = 0.0
            for sample in range(samples):
                u = (column * size + x + sample / samples) / 40.0
                v = (row * size + y) / 40.0
                lattice = abs(math.sin(u * math.pi) * math.sin((u + v) * math.pi))
                light += 1.0 if lattice > 0.2 else lattice
            shades.append(light / samples)
    return row, column, sum(shades) / len(shades)


def start_scheduler(folder):
    words = [
        sys.executable,
        "-m",
        "dask",
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(folder / "scheduler.json"),
    ]
    env = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    process = subprocess.Popen(words, cwd=folder, env=env)
    while not (folder / "scheduler.json").exists():
        time.sleep(0.1)
    return process


def start_broker(folder, half_way):
    plan = {
        "scheduler": str(folder / "scheduler.json"),
        "folder": str(folder),
        "machines": {"desk-west": {"off": None}, "desk-east": {"off": str(half_way)}},
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "broker.py").write_text(BROKER)
    return subprocess.Popen([sys.executable, "broker.py", "plan.json"], cwd=folder)


def render_picture(client, tiles, half_way):
    futures = [
        client.submit(
            render_tile, row, column, 60, 300, key=f"render_tile-{row}-{column}"
        )
        for row in range(tiles)
        for column in range(tiles)
    ]
    picture = {}
    for done in as_completed(futures):
        row, column, shade = done.result()
        picture[row, column] = shade
        if len(picture) == len(futures) // 3:
            half_way.touch()  # the preview goes to the editor; the park reads the same file
    return picture


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiles", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(
        prefix="trellis-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        scheduler = start_scheduler(folder)
        broker = start_broker(folder, folder / "preview.flag")
        try:
            with Client(
                scheduler_file=str(folder / "scheduler.json"), timeout="15s"
            ) as client:
                client.wait_for_workers(2, timeout=30)
                picture = render_picture(client, args.tiles, folder / "preview.flag")
                print(
                    f"{len(picture)} tiles, mean shade {sum(picture.values()) / len(picture):.3f}"
                )
        finally:
            for process in (broker, scheduler):
                process.send_signal(signal.SIGTERM)
                process.wait(20)


if __name__ == "__main__":
    main()
