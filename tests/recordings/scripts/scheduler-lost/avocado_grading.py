"""Grading of avocados from the packing line's sensors.

The packing house has one machine; the job starts its scheduler and workers with the
usual commands, with a limit on idling so that nothing is left over on Sundays.
Between the two Dask steps the calibration is fitted here, with the lab's own code.
"""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from distributed import Client

IDLE = os.environ.get("PACKING_IDLE", "8s")
CRATES = 24


def crate_spectra(crate):
    rng = np.random.default_rng(crate)
    return rng.normal(loc=crate % 5, scale=1.0, size=(400, 64))


def crate_features(spectra):
    return np.column_stack(
        [spectra.mean(axis=1), spectra.std(axis=1), spectra[:, :8].sum(axis=1)]
    )


def grade_crate(features, weights):
    score = features @ weights
    return np.bincount(np.digitize(score, [-1.0, 0.5, 2.0]), minlength=4)


def launch(folder):
    """Start the commands; returns the file that clients read."""
    scheduler_file = folder / "scheduler.json"
    base = [sys.executable, "-m", "dask"]
    commands = [
        [
            *base,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--idle-timeout",
            IDLE,
        ],
        [
            *base,
            "worker",
            "--name",
            "line-a",
            "--nthreads",
            "1",
            "--memory-limit",
            "350MB",
            "--death-timeout",
            "20",
        ],
        [
            *base,
            "worker",
            "--name",
            "line-b",
            "--nthreads",
            "1",
            "--memory-limit",
            "350MB",
            "--death-timeout",
            "20",
        ],
    ]
    processes = []
    for command in commands:
        log = open(folder / f"{command[3]}-{len(processes)}.log", "w")
        processes.append(
            subprocess.Popen(
                [*command, "--scheduler-file", str(scheduler_file), "--no-dashboard"],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )
        )

    def stop():
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            process.wait(15)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return str(scheduler_file)


def fit_calibration(sample, seconds=14.0):
    """Least squares by small steps, until the lab's time is used up."""
    weights = np.zeros(sample.shape[1])
    target = sample[:, 0] - sample[:, 1]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        weights -= 1e-5 * sample.T @ (sample @ weights - target) / len(sample)
        time.sleep(0.01)
    return weights


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="packing-"))
    client = Client(scheduler_file=launch(folder), timeout="15s")
    client.wait_for_workers(2, timeout=20)

    features = client.map(crate_features, client.map(crate_spectra, range(CRATES)))
    sample = np.vstack(client.gather(features[:3]))
    print(
        f"features of {CRATES} crates, calibrating on {len(sample)} fruits", flush=True
    )

    weights = fit_calibration(sample)
    print("calibrated", np.round(weights, 3), flush=True)

    grades = client.map(grade_crate, features, weights=weights)
    totals = sum(client.gather(grades))
    print("grades", totals.tolist())
    client.close()


if __name__ == "__main__":
    main()
