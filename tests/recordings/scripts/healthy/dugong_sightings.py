"""Sightings of dugongs from the survey plane.

The plane's frames are classified on a small cluster that this script starts itself.  Frames with sun glint are
expected and refused by the classifier with an exception; they go to the list for a second look.  At the end the
cluster is stopped with signals, workers first.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from distributed import Client


class Glint(Exception):
    """Too much reflected sun to say anything."""


class NoExposure(Exception):
    pass


def classify_frame(number):
    rng = np.random.default_rng(number)
    frame = rng.normal(90, 12, (200, 200))
    if number % 11 == 3:
        raise Glint(f"frame {number}")
    if number % 17 == 5:
        raise NoExposure(f"frame {number}: shutter did not open")
    frame[rng.integers(0, 200, 30), rng.integers(0, 200, 30)] += 160
    time.sleep(0.05)
    return int((frame > 200).sum())


def start(folder, *args):
    with open(
        os.path.join(folder, f"{args[0]}-{len(os.listdir(folder))}.log"), "w"
    ) as out:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *args],
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def stop(proc, how=signal.SIGTERM, patience=10):
    """End a process and its children."""
    try:
        os.killpg(proc.pid, how)
        proc.wait(patience)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        proc.wait()
    return proc.returncode


async def survey(address_file, frames):
    async with Client(
        scheduler_file=address_file, asynchronous=True, timeout=30
    ) as client:
        await client.wait_for_workers(2, timeout=30)
        futures = {n: client.submit(classify_frame, n) for n in range(frames)}
        seen, second_look, dark = {}, [], []
        for n, future in futures.items():
            try:
                seen[n] = await future
            except Glint:
                second_look.append(n)
            except NoExposure:
                dark.append(n)
        return seen, second_look, dark


def main(frames=90):
    with tempfile.TemporaryDirectory() as folder:
        address_file = os.path.join(folder, "address.json")
        scheduler = start(
            folder,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            address_file,
        )
        workers = [
            start(
                folder,
                "worker",
                "--scheduler-file",
                address_file,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--name",
                f"plane-{i}",
                "--no-dashboard",
                *(["--no-nanny"] if i else []),
            )
            for i in range(2)
        ]
        try:
            seen, second_look, dark = asyncio.run(survey(address_file, frames))
        finally:
            codes = [stop(w) for w in workers] + [stop(scheduler, signal.SIGINT)]
            print("cluster stopped:", codes)
    animals = sum(seen.values())
    print(
        f"{len(seen)} frames, {animals} bright spots, second look: {second_look}, dark: {dark}"
    )
    return 0 if len(seen) + len(second_look) + len(dark) == frames else 1


if __name__ == "__main__":
    sys.exit(main())
