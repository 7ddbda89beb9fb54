"""Canoe trips: the river club's own scheduler and two workers; one of them is sent home half-way, as every evening."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile

import dask.bag as db
from dask.distributed import Client

RIVERS = ["Soča", "Ardèche", "Isar", "Dee"]


def spawn(*arguments):
    env = dict(os.environ, DASK_DISTRIBUTED__LOGGING__DISTRIBUTED="error")
    return subprocess.Popen([sys.executable, "-m", *arguments], env=env)


def trip(number):
    return {
        "river": RIVERS[number % 4],
        "km": 6 + (number * 13) % 31,
        "paddlers": 2 + number % 7,
        "wet": number % 9 == 0,
    }


def hours(entry):
    pace = 5.5 if entry["river"] != "Soča" else 8.0
    return dict(entry, hours=entry["km"] / pace)


def bill(client, first, last):
    trips = (
        db.from_sequence(range(first, last), npartitions=8)
        .map(trip)
        .map(hours)
        .filter(lambda e: not e["wet"])
    )
    per_river = trips.foldby(
        "river", lambda t, e: t + e["hours"] * e["paddlers"], 0.0, lambda a, b: a + b
    )
    return dict(client.compute(per_river).result())


def main():
    with tempfile.TemporaryDirectory(prefix="canoe-") as folder:
        where = os.path.join(folder, "scheduler.json")
        scheduler = spawn(
            "distributed.cli.dask_scheduler",
            "--scheduler-file",
            where,
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        )
        workers = [
            spawn(
                "distributed.cli.dask_worker",
                "--scheduler-file",
                where,
                "--nthreads",
                "1",
                "--name",
                name,
                "--no-nanny",
                "--memory-limit",
                "600MB",
                "--no-dashboard",
                "--local-directory",
                folder,
            )
            for name in ("bow", "stern")
        ]
        with Client(scheduler_file=where, timeout=30) as client:
            client.wait_for_workers(2, timeout=40)
            morning = bill(client, 0, 4000)
            # the stern worker's machine is switched off in the evening
            workers[1].send_signal(signal.SIGTERM)
            print("stern went home with", workers[1].wait(20))
            evening = bill(client, 4000, 8000)
            for river in sorted(set(itertools.chain(morning, evening))):
                print(
                    f"{river:8s} {morning[river]:9.0f} {evening[river]:9.0f} paddler hours"
                )
        workers[0].terminate()
        workers[0].wait(20)
        scheduler.send_signal(signal.SIGINT)
        scheduler.wait(20)
    print("done")


if __name__ == "__main__":
    main()
