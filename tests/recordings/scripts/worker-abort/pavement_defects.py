"""Finds cracks in the pictures of the survey van (pavement condition, one strip per 100 m).

The strips are unpacked with the buffers of the C library, as the vendor's example does it, to save one copy. The
cluster is started with the dask commands, as on the survey host.
"""

import ctypes
import logging
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from dask.distributed import Client, KilledWorker

log = logging.getLogger("pavement")

STRIPS = 20
WIDTH = 640
HEADER = 64


@contextmanager
def command(*args, log_file):
    with open(log_file, "w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, args)], stdout=out, stderr=out
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def buffer_functions():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    return libc.malloc, libc.free


def decode_strip(number, layout):
    """Unpack one strip; layout 2 is the one of the new camera, which puts a header before the pixels."""
    malloc, free = buffer_functions()
    size = WIDTH * 400
    raw = np.random.default_rng(number).integers(0, 255, size, dtype=np.uint8)
    base = malloc(size + HEADER)
    pixels = base + HEADER if layout == 2 else base
    ctypes.memmove(pixels, raw.ctypes.data, size)
    strip = np.frombuffer(
        (ctypes.c_uint8 * size).from_address(pixels), dtype=np.uint8
    ).copy()
    free(pixels)
    time.sleep(0.2)
    return strip.reshape(400, WIDTH)


def crack_length(strip):
    edges = np.abs(np.diff(strip.astype("i2"), axis=1)) > 200
    return int(edges.sum())


def rate(lengths):
    grades = np.digitize(lengths, [8000, 12000, 16000])
    return {f"strip {i:02d}": int(g) for i, g in enumerate(grades)}


def survey(client):
    layouts = [1] * STRIPS
    layouts[13] = 2
    strips = [
        client.submit(decode_strip, i, layout, key=f"decode_strip-{i:02d}")
        for i, layout in enumerate(layouts)
    ]
    lengths = client.map(crack_length, strips)
    return rate(client.gather(lengths))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="van-", ignore_cleanup_errors=True)
            )
        )
        where = folder / "scheduler.json"
        stack.enter_context(
            command(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                0,
                "--no-dashboard",
                "--scheduler-file",
                where,
                log_file=folder / "scheduler.log",
            )
        )
        for name in ("left", "right"):
            stack.enter_context(
                command(
                    "worker",
                    "--scheduler-file",
                    where,
                    "--name",
                    name,
                    "--nthreads",
                    1,
                    "--memory-limit",
                    "400MB",
                    "--no-dashboard",
                    "--local-directory",
                    folder,
                    log_file=folder / f"{name}.log",
                )
            )
        while not where.exists():
            time.sleep(0.1)
        client = stack.enter_context(Client(scheduler_file=str(where), timeout=20))
        client.wait_for_workers(2, timeout=30)
        try:
            grades = survey(client)
        except KilledWorker:
            log.error("survey of the A417 not rated")
            raise
        log.info("%d strips rated, worst grade %d", len(grades), max(grades.values()))


if __name__ == "__main__":
    main()
