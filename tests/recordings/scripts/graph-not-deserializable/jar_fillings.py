"""Filling control of a jam factory: which lines fill too much or too little.

The rules of the scale office (tolerances by jar size) are a small module in "lib", which the job puts on its path,
as all jobs of the factory do.  The cluster is a permanent one in production; here the job starts it as the
service would, in the service's own folder.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import dask.bag as db
from distributed import Client

LIB = pathlib.Path("lib")
SCALE_OFFICE = '''
"""Tolerable negative error by nominal content in grams, after the directive on prepackages."""
LIMITS = [(50, 0.09), (100, 4.5), (200, 0.045), (300, 9), (500, 0.03), (1000, 15)]


class Tally:
    def __init__(self):
        self.jars = self.short = 0

    def add(self, jar):
        self.jars += 1
        self.short += jar["content"] < jar["nominal"] - tolerance(jar["nominal"])
        return self

    def merge(self, other):
        self.jars += other.jars
        self.short += other.short
        return self


def tolerance(nominal):
    for limit, value in LIMITS:
        if nominal <= limit:
            return value * nominal if value < 1 else value
    return 0.015 * nominal


def tally(jars):
    result = Tally()
    for jar in jars:
        result.add(jar)
    return [result]
'''


def jars_of(line):
    import random

    rng = random.Random(line)
    nominal = rng.choice([190, 340, 450])
    return [
        {"line": line, "nominal": nominal, "content": rng.gauss(nominal + 3, 5)}
        for _ in range(2000)
    ]


@contextlib.contextmanager
def factory_service(workers):
    with tempfile.TemporaryDirectory(prefix="factory-") as home:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("VIRTUAL_ENV", "TERM")
        }
        file = os.path.join(home, "scheduler.json")
        dask = [sys.executable, "-m", "dask"]
        running = [
            subprocess.Popen(
                dask
                + [
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    file,
                ],
                cwd=home,
                env=environment,
            )
        ]
        running += [
            subprocess.Popen(
                dask
                + [
                    "worker",
                    "--scheduler-file",
                    file,
                    "--nthreads",
                    "2",
                    "--memory-limit",
                    "350MB",
                    "--name",
                    f"hall-{n}",
                    "--no-dashboard",
                ],
                cwd=home,
                env=environment,
            )
            for n in range(workers)
        ]
        try:
            yield file
        finally:
            for process in reversed(running):
                process.terminate()
            for process in running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(8)
                process.poll() is None and process.kill()


def compute_with_retry(collection, attempts=2):
    for attempt in range(1, attempts + 1):
        try:
            return collection.compute()
        except RuntimeError as error:
            print(f"attempt {attempt} of {attempts}: {error}", flush=True)
            if attempt == attempts:
                raise
            time.sleep(1)


def main():
    LIB.mkdir(exist_ok=True)
    (LIB / "scale_office.py").write_text(SCALE_OFFICE)
    sys.path.insert(0, str(LIB.resolve()))
    import scale_office

    with factory_service(2) as file, Client(scheduler_file=file, timeout=20) as client:
        client.wait_for_workers(2, timeout=20)
        lines = db.from_sequence(range(8), npartitions=4).map(jars_of).flatten()
        count = lines.count().compute()
        print(f"{count} jars weighed")
        tallies = compute_with_retry(lines.map_partitions(scale_office.tally))
        total = scale_office.Tally()
        for tally in tallies:
            total.merge(tally)
        print(f"{total.short} of {total.jars} jars short")


if __name__ == "__main__":
    main()
