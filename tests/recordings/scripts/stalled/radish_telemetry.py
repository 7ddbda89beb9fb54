"""Telemetry of the cold rooms of a radish packer: probes are smoothed, calibrated and reconciled each night.

Probes of a room share one registry file; whoever writes it holds the lock of the registry. Calibrations reach the
reconciliation through a queue, since they come in no particular order.
"""

import os
import time

import numpy as np
from distributed import Client, LocalCluster, Lock, Queue, get_worker

ROOMS = ["north", "south"]
PROBES = 4


def smooth_probe(room, probe):
    rng = np.random.default_rng(probe + 10 * len(room))
    series = rng.normal(2.0, 0.3, 50_000)
    kernel = np.ones(25) / 25
    return np.convolve(series, kernel, mode="valid")


def frost_hours(series):
    return int((series < 1.9).sum())


def note(path, line):
    with open(path, "a") as out:
        out.write(line + "\n")


def reconcile_room(room, expected, path):
    """Wait for all calibrations of the room and write them as one block."""
    registry = Lock(f"registry-{room}")
    calibrations = Queue(f"calibrations-{room}")
    with registry:
        note(path, f"# {room}")
        block = [calibrations.get() for _ in range(expected)]
        for probe, offset in sorted(block):
            note(path, f"{probe};{offset:.4f}")
    return len(block)


def calibrate_probe(room, probe, path):
    """Offset of one probe against the reference in its room."""
    time.sleep(0.4)
    offset = float(np.random.default_rng(probe).normal(0, 0.05))
    with Lock(f"registry-{room}"):
        note(path, f"{probe};seen by {get_worker().name}")
    Queue(f"calibrations-{room}").put((probe, offset))
    return offset


def slow_export(series_counts):
    # the feed to the energy supplier takes its time
    for _ in range(10):
        time.sleep(0.4)
    return sum(series_counts)


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=4, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    queues = [Queue(f"calibrations-{room}", client=client) for room in ROOMS]

    frost = []
    for room in ROOMS:
        series = client.map(smooth_probe, [room] * PROBES, range(PROBES))
        frost += client.map(frost_hours, series)
    export = client.submit(slow_export, frost)

    # south has its registry kept by hand since the move
    room = "north"
    path = os.path.abspath(f"registry_{room}.csv")
    reconciled = client.submit(reconcile_room, room, PROBES, path)
    time.sleep(0.2)
    offsets = client.map(
        calibrate_probe, [room] * PROBES, range(PROBES), [path] * PROBES
    )

    print("frost hours:", sum(client.gather(frost)), flush=True)
    print("exported:", export.result(), flush=True)
    print("reconciled:", reconciled.result(), flush=True)
    print("largest offset:", max(client.gather(offsets)), flush=True)
    for queue in queues:
        queue.close()
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()
