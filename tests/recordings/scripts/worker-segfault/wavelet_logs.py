"""Unpack wavelet-compressed borehole logs and average them for a field report.

The unpacking is done by an old C routine which is handed addresses into the
file's buffer.  Workers are separate ``dask worker`` commands whose output goes to
``logs/``, as on the interpretation machines.
"""

import ctypes
import os
import random
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from distributed import Client, as_completed

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
HEADER = "<4sIQ"  # magic, length, offset


def write_holes(folder, holes):
    rnd = random.Random(5)
    folder.mkdir(exist_ok=True)
    for n in range(holes):
        samples = bytes(rnd.randrange(256) for _ in range(4096))
        offset = struct.calcsize(HEADER)
        if n == 9:  # logger firmware 2.x counts in another unit
            offset = 1 << 42
        (folder / f"hole_{n:03d}.wlg").write_bytes(
            struct.pack(HEADER, b"WLG1", len(samples), offset) + samples
        )
    return sorted(str(p.resolve()) for p in folder.glob("*.wlg"))


def read_caliper(path):
    time.sleep(0.25)
    return path, 8.5 + (len(path) % 7) / 10


def unpack_trace(path):
    time.sleep(0.25)
    raw = Path(path).read_bytes()
    magic, length, offset = struct.unpack_from(HEADER, raw)
    if magic != b"WLG1":
        raise ValueError(f"{path} is no borehole log")
    source = ctypes.create_string_buffer(raw, len(raw))
    target = ctypes.create_string_buffer(length)
    ctypes.memmove(target, ctypes.addressof(source) + offset, length)
    return path, sum(target.raw) / length


@contextmanager
def command(log_file, *args):
    with open(log_file, "w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def collect(client, paths):
    calipers = client.map(read_caliper, paths)
    traces = client.map(unpack_trace, paths)
    missing, values = [], {}
    for future in as_completed(calipers + traces):
        try:
            path, value = future.result()
            values.setdefault(path, []).append(value)
        except Exception:
            missing.append(future.key)
    return values, missing


@click.command()
@click.option("--holes", default=14)
@click.option("--logs", default="logs", type=click.Path())
def report(holes, logs):
    logs = Path(logs)
    logs.mkdir(exist_ok=True)
    paths = write_holes(Path("holes"), holes)
    with ExitStack() as stack:
        stack.enter_context(
            command(
                logs / "scheduler.log",
                "scheduler",
                "--port",
                "0",
                "--host",
                "127.0.0.1",
                "--no-dashboard",
                "--scheduler-file",
                "scheduler.json",
            )
        )
        deadline = time.time() + 15
        while not os.path.exists("scheduler.json") and time.time() < deadline:
            time.sleep(0.2)
        for n in (1, 2):
            stack.enter_context(
                command(
                    logs / f"machine-{n}.log",
                    "worker",
                    "--scheduler-file",
                    "scheduler.json",
                    "--name",
                    f"machine-{n}",
                    "--nthreads",
                    "2",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                    "--local-directory",
                    "spill",
                )
            )
        client = stack.enter_context(
            Client(scheduler_file="scheduler.json", timeout=15)
        )
        client.wait_for_workers(2, timeout=25)
        values, missing = collect(client, paths)
    click.echo(f"{len(values)} holes, {len(missing)} results missing")
    if missing:
        raise click.ClickException("field report is not complete, nothing was written")
    Path("report.txt").write_text(
        "\n".join(f"{p} {v}" for p, v in sorted(values.items()))
    )


if __name__ == "__main__":
    report()
