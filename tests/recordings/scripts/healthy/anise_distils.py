"""Acceptance of the week's anise distillations.

Runs outside their limits are expected: their samples are refused by an exception that is counted, not
mended.  Scheduler and workers are processes of this job and are sent away by signals when it is done.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from distributed import Client, as_completed


class Refused(Exception):
    """A sample that must not be blended."""


def assay(run):
    """Anethole and water of one run."""
    time.sleep(0.1)
    anethole = 88 + (run * 37 % 100) / 10
    water = (run * 13 % 40) / 10
    if anethole < 90:
        raise Refused("anethole")
    if water > 3.5:
        raise Refused("water")
    return run, anethole


def blend(samples):
    return sum(anethole for _, anethole in samples) / len(samples)


def spawn(folder, name, *command):
    out = open(folder / f"{name}.log", "w")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        stdout=out,
        stderr=out,
        start_new_session=True,
    )


def send_away(process, first):
    os.killpg(process.pid, first)
    try:
        process.wait(6)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main():
    folder = Path(tempfile.mkdtemp(prefix="still-"))
    contact = folder / "contact.json"
    still = spawn(
        folder,
        "scheduler",
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(contact),
    )
    helpers = [
        spawn(
            folder,
            f"helper-{n}",
            "worker",
            "--scheduler-file",
            str(contact),
            "--name",
            f"helper-{n}",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--memory-limit",
            "300MB",
            "--local-directory",
            str(folder),
        )
        for n in range(2)
    ]
    refused = Counter()
    try:
        with Client(scheduler_file=str(contact), timeout=20) as client:
            client.wait_for_workers(2, timeout=30)
            accepted = []
            for future in as_completed(client.map(assay, range(60))):
                try:
                    future.result()
                except Refused as reason:
                    refused[str(reason)] += 1
                else:
                    accepted.append(future)
            strength = client.submit(blend, accepted).result()
            print(f"{len(accepted)} runs accepted, strength {strength:.2f}", flush=True)
            del accepted, future
    finally:
        send_away(helpers[0], signal.SIGTERM)
        send_away(helpers[1], signal.SIGINT)
        send_away(still, signal.SIGTERM)
    for reason, number in refused.most_common():
        print(f"refused for {reason}: {number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
