"""Goldcrest counts from the microphones of a ringing station.

Two passes a day: the dusk pass condenses the recordings of the day, the dawn
pass counts calls in them. Each pass has a scheduler and workers of its own,
requested from the site's queue; all find each other by the scheduler file in
the shared folder of the station.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from distributed import Client

SHARED = Path("station")
SCHEDULER_FILE = SHARED / "scheduler.json"


def queue_submit(wait_seconds, *args):
    """The site's queue: starts what it is given when a slot is free."""
    command = (
        "import runpy, sys, time; time.sleep(float(sys.argv[1])); sys.argv = sys.argv[2:]; "
        "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    )
    return subprocess.Popen(
        [sys.executable, "-c", command, str(wait_seconds), *args],
        start_new_session=True,
    )


def queue_cancel(job):
    """The queue gives no notice: it ends the whole process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()


@contextlib.contextmanager
def pass_cluster(name, queue_seconds):
    jobs = [
        queue_submit(
            queue_seconds,
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(SCHEDULER_FILE),
        )
    ]
    try:
        for _ in range(150):
            if SCHEDULER_FILE.exists():
                break
            time.sleep(0.2)
        for n in range(2):
            jobs.append(
                queue_submit(
                    queue_seconds,
                    "distributed.cli.dask_worker",
                    "--scheduler-file",
                    str(SCHEDULER_FILE),
                    "--name",
                    f"{name}-{n}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "400MB",
                    "--no-dashboard",
                    "--death-timeout",
                    "15",
                )
            )
        print(f"[{name}] cluster requested", flush=True)
        yield
    finally:
        for job in reversed(jobs):
            queue_cancel(job)
        print(f"[{name}] cluster released", flush=True)


def condense(microphone):
    rng = np.random.default_rng(microphone)
    sound = rng.normal(size=200_000)
    return np.abs(sound).reshape(-1, 100).max(axis=1)


def count_calls(envelope, level):
    above = envelope > level
    return int(np.count_nonzero(above[1:] & ~above[:-1]))


def dusk_pass(microphones):
    with pass_cluster("dusk", queue_seconds=0):
        with Client(scheduler_file=str(SCHEDULER_FILE), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            envelopes = client.gather(client.map(condense, microphones))
    np.savez(
        SHARED / "envelopes.npz", **{str(m): e for m, e in zip(microphones, envelopes)}
    )
    print(f"[dusk] {len(envelopes)} recordings condensed", flush=True)


def dawn_pass(level):
    recordings = np.load(SHARED / "envelopes.npz")
    with pass_cluster("dawn", queue_seconds=12):
        with Client(scheduler_file=str(SCHEDULER_FILE), timeout=6) as client:
            futures = {
                m: client.submit(count_calls, recordings[m], level)
                for m in recordings.files
            }
            counts = client.gather(futures)
    for microphone, count in counts.items():
        print(f"[dawn] microphone {microphone}: {count} calls")


if __name__ == "__main__":
    SHARED.mkdir(exist_ok=True)
    dusk_pass(list(range(16)))
    dawn_pass(level=3.2)
