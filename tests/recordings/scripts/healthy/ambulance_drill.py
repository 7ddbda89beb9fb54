"""Monthly drill of the ambulance dispatch: replays calls on a throw-away cluster.

Calls that no vehicle can reach raise NoVehicle; the drill counts them and is
passed as long as they stay below one in five.  The drill starts and stops its
own scheduler and workers.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager

from dask.distributed import Client, as_completed


class NoVehicle(Exception):
    pass


class RadioSilence(Exception):
    pass


def dispatch(call):
    rng = random.Random(call)
    x, y = rng.uniform(0, 30), rng.uniform(0, 30)
    until = time.perf_counter() + 0.05
    best = 1e9
    while time.perf_counter() < until:
        best = min(best, abs(x - rng.uniform(0, 30)) + abs(y - rng.uniform(0, 30)))
    if call % 11 == 3:
        raise NoVehicle(f"call {call}: all vehicles of sector {call % 4} are out")
    return call, 4.0 + best


def radio_check(vehicle, folder):
    """The first call over the radio often gets no answer."""
    mark = os.path.join(folder, f"vehicle-{vehicle}")
    if vehicle % 3 == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise RadioSilence(f"vehicle {vehicle}")
    return vehicle


@contextmanager
def control_room(folder, workers=2):
    contact = os.path.join(folder, "room.json")

    def start(*words):
        return subprocess.Popen([sys.executable, "-m", "dask", *words])

    scheduler = start(
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--dashboard-address",
        ":0",
        "--scheduler-file",
        contact,
    )
    while not os.path.exists(contact):
        if scheduler.poll() is not None:
            raise RuntimeError("scheduler did not start")
        time.sleep(0.1)
    crew = [
        start(
            "worker",
            "--scheduler-file",
            contact,
            "--nthreads",
            "1",
            "--host",
            "127.0.0.1",
            "--memory-limit",
            "350MB",
            "--name",
            f"desk-{number}",
        )
        for number in range(workers)
    ]
    try:
        yield contact
    finally:
        for number, proc in enumerate(crew):
            proc.send_signal(signal.SIGTERM if number % 2 else signal.SIGINT)
        for proc in crew:
            proc.wait(20)
        scheduler.send_signal(signal.SIGTERM)
        scheduler.wait(20)
        print(
            "control room closed:",
            [proc.returncode for proc in crew],
            scheduler.returncode,
        )


def replay(client, calls, folder):
    vehicles = client.gather(
        client.map(radio_check, range(9), folder=folder, retries=2)
    )
    print(len(vehicles), "vehicles on the air")
    outcome, minutes = Counter(), []
    for future in as_completed(client.map(dispatch, range(calls))):
        try:
            minutes.append(future.result()[1])
            outcome["reached"] += 1
        except NoVehicle:
            outcome["not reached"] += 1
    return outcome, sum(minutes) / len(minutes)


def main():
    with tempfile.TemporaryDirectory() as folder, control_room(folder) as contact:
        with Client(scheduler_file=contact, timeout=20) as client:
            client.wait_for_workers(2, timeout=30)
            outcome, mean = replay(client, 120, folder)
    print(dict(outcome), f"mean {mean:.1f} minutes")
    if outcome["not reached"] * 5 > sum(outcome.values()):
        sys.exit("drill not passed")
    print("drill passed")


if __name__ == "__main__":
    main()
