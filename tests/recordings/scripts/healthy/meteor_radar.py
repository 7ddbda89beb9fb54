"""Meteor counts of three radars, combined when the last of them has delivered its night.

The stations send their files over slow links, the northern one always last.  Collectors wait for them on the cluster,
give up after two minutes, and the combination begins when the operator's "night is over" event is set.
"""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
from distributed import Client, Event, LocalCluster, Variable

LINKS = {"trondheim": 3.0, "collm": 7.0, "svalbard": 19.0}

SENDER = textwrap.dedent(
    """
    import os, random, sys, time

    station, delay, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    rng = random.Random(station)
    time.sleep(delay)
    part = os.path.join(folder, station + ".part")
    with open(part, "w") as f:
        for _ in range(4000):
            f.write(f"{rng.uniform(0, 43200):.2f} {rng.gauss(91, 6):.2f}\\n")
    os.replace(part, os.path.join(folder, station + ".dat"))
    """
)


def collect_station(station, folder, patience=120):
    """Wait for the file of one station and read it."""
    path = Path(folder) / f"{station}.dat"
    until = time.monotonic() + patience
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"no file from {station}")
        time.sleep(0.25)
    return np.loadtxt(path)


def hourly(meteors):
    counts, _ = np.histogram(meteors[:, 0], bins=12, range=(0, 43200))
    return counts


def combine_night(hours, heights):
    over = Event("night-is-over")
    if not over.wait(timeout=60):
        raise RuntimeError("the operator never closed the night")
    total = np.sum(hours, axis=0)
    return {
        "peak_hour": int(total.argmax()),
        "meteors": int(total.sum()),
        "height": float(np.mean(heights)),
    }


def mean_height(meteors):
    return float(meteors[:, 1].mean())


def main():
    folder = Path("incoming").resolve()
    folder.mkdir(exist_ok=True)
    senders = [
        subprocess.Popen([sys.executable, "-c", SENDER, s, str(d), str(folder)])
        for s, d in LINKS.items()
    ]
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            status = Variable("night-status", client=client)
            status.set("collecting")
            nights = {
                s: client.submit(
                    collect_station, s, str(folder), key=f"collect_station-{s}"
                )
                for s in LINKS
            }
            hours = [client.submit(hourly, n) for n in nights.values()]
            heights = [client.submit(mean_height, n) for n in nights.values()]
            result = client.submit(combine_night, hours, heights)
            for sender in senders:
                sender.wait(60)
            print(f"links are closed, status {status.get()}", flush=True)
            time.sleep(4)
            status.set("closed")
            Event("night-is-over", client=client).set()
            night = result.result(timeout=60)
            print(
                "{meteors} meteors, peak in hour {peak_hour}, mean height {height:.1f} km".format(
                    **night
                )
            )


if __name__ == "__main__":
    main()
