"""Noise maps along the motorways for the regional planning office.

Each segment is modelled on its own.  The model is a vendored module with the manners of a command-line
program (it was one); the job writes it next to itself and ships it to the workers.
"""

import argparse
import math
import sys
import tempfile
import textwrap
from pathlib import Path

import dask
from dask.distributed import Client, KilledWorker, LocalCluster

MODEL = textwrap.dedent(
    '''
    """Sound propagation, version 4.2 (port of the command-line program)."""
    import math
    import os
    import sys
    import time

    SURFACES = {"asphalt": 0.0, "concrete": 2.4, "quiet": -3.1}


    def fatal(code, text):
        print("propagation:", text, file=sys.stderr)
        sys.stderr.flush()
        os._exit(code)


    def level(name, cars, speed, surface, distance):
        if surface not in SURFACES:
            fatal(12, f"segment {name}: no entry in the surface table")
        return 37.3 + 10 * math.log10(cars) + speed / 20 + SURFACES[surface] - 10 * math.log10(distance)


    def profile(segment, steps):
        out = []
        for i in range(1, steps + 1):
            surface = segment["surfaces"][i * len(segment["surfaces"]) // (steps + 1)]
            out.append(level(segment["id"], segment["cars"], segment["speed"], surface, 10.0 * i))
            time.sleep(0.04)
        return out
    '''
)


def segments(count):
    for number in range(count):
        surfaces = ["asphalt", "asphalt", "concrete" if number % 3 else "quiet"]
        if number == 9:
            surfaces = ["asphalt", "asphalt", "asphalt", "gravel"]
        yield {
            "id": f"A7-{number:03d}",
            "cars": 900 + 37 * number,
            "speed": 100 + 10 * (number % 4),
            "surfaces": surfaces,
        }


def model_segment(segment, steps):
    import propagation

    levels = propagation.profile(segment, steps)
    return segment["id"], max(levels), levels


def traffic_counts(station):
    """Counts of the loops in the road, smoothed; small but many hours."""
    import time

    total = 0.0
    for hour in range(60):
        total += 400 + 350 * math.sin(hour / 24 * 2 * math.pi + station)
        time.sleep(0.03)
    return station, total


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=16)
    parser.add_argument("--steps", type=int, default=30)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "propagation.py"
        module.write_text(MODEL)
        dask.config.set({"distributed.scheduler.allowed-failures": 0})
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=3,
                memory_limit="350MB",
                dashboard_address=None,
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.upload_file(str(module))
            counts = client.map(traffic_counts, range(10), key="traffic_counts")
            maps = [
                client.submit(
                    model_segment, s, args.steps, key=f"model_segment-{s['id']}"
                )
                for s in segments(args.segments)
            ]
            done, lost = 0, []
            for future in maps + counts:
                try:
                    future.result()
                    done += 1
                except KilledWorker as err:
                    lost.append(err)
                    print(f"lost: {future.key}", file=sys.stderr)
            print(f"{done} of {len(maps) + len(counts)} pieces done")
            if lost:
                raise lost[-1]


if __name__ == "__main__":
    main()
