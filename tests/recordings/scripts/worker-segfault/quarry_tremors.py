"""Vibration report of the quarry: what each blast did to the houses nearby.

Seismograph files come in the vendor's packed format and are unpacked through
the vendor's C structures.  The farm is started with the same commands that
the site uses, logs go to files as there.
"""

import ctypes
import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
from dask.distributed import Client

log = logging.getLogger("blasts")
os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def site_farm(workers=2):
    address = f"tcp://127.0.0.1:{port()}"
    base = [sys.executable, "-m", "dask"]
    procs = []
    try:
        with open("scheduler.log", "w") as out:
            procs.append(
                subprocess.Popen(
                    [
                        *base,
                        "scheduler",
                        "--host",
                        "127.0.0.1",
                        "--port",
                        address.rsplit(":")[-1],
                        "--no-dashboard",
                    ],
                    stdout=out,
                    stderr=out,
                )
            )
        for i in range(workers):
            with open(f"worker{i}.log", "w") as out:
                procs.append(
                    subprocess.Popen(
                        [
                            *base,
                            "worker",
                            address,
                            "--nthreads",
                            "1",
                            "--nworkers",
                            "1",
                            "--memory-limit",
                            "400MB",
                            "--no-dashboard",
                            "--name",
                            f"pit-{i}",
                        ],
                        stdout=out,
                        stderr=out,
                    )
                )
        yield address
    finally:
        for p in reversed(procs):
            p.terminate()
        for p in procs:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()


def record(blast):
    rng = np.random.default_rng(blast)
    return rng.normal(0, 1, 4096)


def unpack_trace(samples, blast):
    """Copies the samples out of the vendor's structure."""

    class Trace(ctypes.Structure):
        _fields_ = [("n", ctypes.c_long), ("samples", ctypes.POINTER(ctypes.c_double))]

    trace = Trace()
    trace.n = len(samples)
    if blast % 7 != 6:  # firmware 6 leaves the buffer to the caller
        trace.samples = samples.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    out = np.empty(trace.n)
    ctypes.memmove(out.ctypes.data, trace.samples, trace.n * 8)
    return out


def peak_velocity(trace):
    time.sleep(0.3)
    return float(np.abs(np.cumsum(trace)).max())


def limits(peaks):
    return {blast: p < 250 for blast, p in peaks}


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with site_farm() as address:
        with Client(address, timeout=30) as client:
            client.wait_for_workers(2, timeout=40)
            peaks = []
            for blast in range(10):
                samples = client.submit(record, blast)
                trace = client.submit(unpack_trace, samples, blast)
                peaks.append((blast, client.submit(peak_velocity, trace)))
            done = []
            for blast, future in peaks:
                done.append((blast, future.result(timeout=40)))
                log.info("blast %d: %.1f mm/s", *done[-1])
            log.info("%s", limits(done))


if __name__ == "__main__":
    main()
