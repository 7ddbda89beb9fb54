"""Grading of resin drums by their infrared spectrum, as the drums come off the line.

Two Dask workers (each with its nanny) are started by command, their output goes to a log folder as on the plant's
server.  The smoothing is done in place by a C routine, on buffers that the spectrometer software hands over.
"""

import array
import ctypes
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import dask
from dask.distributed import Client, as_completed

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
log = logging.getLogger("resin")
POINTS = 512


class Plant:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="resin-"))
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.file = str(self.folder / "scheduler.json")
        self.processes = []

    def launch(self, name, module, *options):
        with open(self.logs / f"{name}.log", "w") as out:
            command = [
                sys.executable,
                "-m",
                module,
                "--scheduler-file",
                self.file,
                "--no-dashboard",
                *options,
            ]
            self.processes.append(
                subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            )

    def __enter__(self):
        self.launch(
            "scheduler",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
        )
        for line in ("east", "west"):
            self.launch(
                f"worker-{line}",
                "distributed.cli.dask_worker",
                "--name",
                line,
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--local-directory",
                str(self.folder),
            )
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def measure(drum):
    """The spectrum of a drum; drum 13 was weighed but never put under the lamp."""
    values = array.array(
        "d", ((drum * 7 + point * 3) % 101 / 101 for point in range(POINTS))
    )
    return {"drum": drum, "values": values if drum != 13 else None}


def smooth_spectrum(values):
    address = values.buffer_info()[0] if values is not None else 0
    target = (ctypes.c_double * POINTS)()
    ctypes.memmove(target, address, ctypes.sizeof(target))
    return [sum(target[max(0, i - 2) : i + 3]) / 5 for i in range(POINTS)]


def grade_drum(spectrum):
    time.sleep(0.15)
    curve = smooth_spectrum(spectrum["values"])
    return spectrum["drum"], "ABC"[int(max(curve) * 100) % 3]


def grade_all(client, drums):
    spectra = [client.submit(measure, drum, key=f"measure-{drum:02}") for drum in drums]
    futures = [
        client.submit(grade_drum, s, key=f"grade-drum-{d:02}")
        for d, s in zip(drums, spectra)
    ]
    grades, open_drums = {}, []
    for future in as_completed(futures):
        if future.status == "finished":
            drum, grade = future.result()
            grades[drum] = grade
        else:
            log.error("%s: %s", future.key, type(future.exception()).__name__)
            open_drums.append(future.key)
    return grades, open_drums


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with (
        Plant() as plant,
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
    ):
        with Client(scheduler_file=plant.file, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            grades, open_drums = grade_all(client, list(range(24)))
            log.info("%s drums graded", len(grades))
    if open_drums:
        raise SystemExit(
            f"grading incomplete, drums stay in the yard: {', '.join(open_drums)}"
        )


if __name__ == "__main__":
    main()
