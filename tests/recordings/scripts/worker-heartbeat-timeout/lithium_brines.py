"""Evaporation ponds of a lithium plant: concentration of each pond over the season.

The season is simulated pond by pond. While it runs, the storage of the host takes its nightly snapshot: the agent
gets the process numbers of those that write below the scratch folder and holds them still while it copies.
"""

import os

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "6s")

import json
import pathlib
import subprocess
import sys
import time

import dask
from distributed import Client, LocalCluster

AGENT = '''
"""Nightly snapshot of the scratch volume: writers are held while the blocks are copied."""
import json, os, signal, sys, time

writers = json.load(open(sys.argv[1]))
copying = float(sys.argv[2])
print("snapshot: holding", writers, flush=True)
for pid in writers:
    os.kill(pid, signal.SIGSTOP)
time.sleep(copying)
for pid in writers:
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
print("snapshot: done", flush=True)
'''

POND_AREA = {
    "A1": 42_000,
    "A2": 38_500,
    "B1": 51_000,
    "B2": 47_200,
    "C1": 29_000,
    "C2": 33_300,
    "D1": 61_000,
    "D2": 58_000,
}


def evaporate_pond(name, area, days):
    volume, lithium = area * 0.8, area * 0.8 * 0.6
    until = time.monotonic() + 2.5
    day = 0
    while day < days or time.monotonic() < until:
        loss = area * 0.0052 * (1.0 - 0.3 * (day % 365 > 180))
        volume = max(volume - loss, volume * 0.985)
        lithium *= 0.9998
        day += 1
        if day % 200 == 0:
            time.sleep(0.01)
    pathlib.Path("scratch").mkdir(exist_ok=True)
    pathlib.Path("scratch", f"{name}.txt").write_text(f"{volume:.3f} {lithium:.3f}")
    return lithium / max(volume, 1.0)


@dask.delayed
def season_report(grades):
    return sum(grades) / len(grades)


def start_snapshot(client):
    """What the host's timer does at this hour."""
    workers = client.run(os.getpid)
    first = sorted(workers.values())[:1]
    pathlib.Path("writers.json").write_text(json.dumps(first))
    pathlib.Path("snapshot_agent.py").write_text(AGENT)
    return subprocess.Popen([sys.executable, "snapshot_agent.py", "writers.json", "45"])


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    )
    client = Client(cluster)
    agent = None
    try:
        ponds = [
            dask.delayed(evaporate_pond)(name, area, 900)
            for name, area in POND_AREA.items()
        ]
        grade = client.compute(season_report(ponds))
        time.sleep(3)
        agent = start_snapshot(client)
        print(f"mean grade of the season: {grade.result(timeout=50):.4f}")
    finally:
        client.close()
        cluster.close()
        if agent is not None:
            agent.terminate()
            agent.wait()


if __name__ == "__main__":
    main()
