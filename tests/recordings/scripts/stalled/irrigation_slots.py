"""Hands out tonight's irrigation slots for the lower canal district.

Every plot's meter hangs on one radio bus, so only one plot may be read at a time.  The plan is written to
slots.csv and read by the pump controllers at 21:00.  A scheduler and two workers are started with the dask
commands, in the same way as on the district's server.
"""

import contextlib
import csv
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client, Lock, wait

log = logging.getLogger("irrigation")
HERE = Path.cwd()
METERS = HERE / "meters"
DEADLINE = 16.0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write_meters():
    METERS.mkdir(exist_ok=True)
    for number in range(1, 13):
        (METERS / f"plot{number:02d}.txt").write_text(f"{40 + 3 * number}.5\n")
    # the radio of plot 5 answers with dashes until it has been polled once
    (METERS / "plot05.first").write_text("--.-\n")


def poll(folder, plot):
    first = Path(folder) / f"plot{plot:02d}.first"
    if first.exists():
        text = first.read_text()
        first.unlink()
    else:
        text = (Path(folder) / f"plot{plot:02d}.txt").read_text()
    time.sleep(0.15)
    return float(text)


def read_plot(folder, plot):
    bus = Lock("canal-radio-bus")
    bus.acquire()
    moisture = poll(folder, plot)
    bus.release()
    return {"plot": plot, "moisture": moisture}


def plan_slot(reading):
    minutes = max(0, round((90 - reading["moisture"]) * 0.8))
    return {**reading, "minutes": minutes}


@contextlib.contextmanager
def district_server():
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    procs = []
    try:
        procs.append(
            subprocess.Popen(
                dask
                + [
                    "--host",
                    "127.0.0.1",
                    "--port",
                    address.rsplit(":", 1)[1],
                    "--no-dashboard",
                ]
            )
        )
        for name in ("north-gate", "south-gate"):
            procs.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "distributed.cli.dask_worker",
                        address,
                        "--nthreads",
                        "2",
                        "--no-nanny",
                        "--name",
                        name,
                        "--memory-limit",
                        "300MB",
                        "--no-dashboard",
                    ]
                )
            )
        yield address
    finally:
        for p in reversed(procs):
            p.send_signal(signal.SIGTERM)
        for p in procs:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    write_meters()
    with district_server() as address, Client(address, timeout=20) as client:
        client.wait_for_workers(2, timeout=20)
        readings = [
            client.submit(
                read_plot, str(METERS), plot, retries=3, key=f"read_plot-{plot:02d}"
            )
            for plot in range(1, 13)
        ]
        slots = client.map(plan_slot, readings)
        try:
            wait(slots, timeout=DEADLINE)
        except TimeoutError:
            late = sum(f.status != "finished" for f in slots)
            log.error(
                "%d of %d plots have no slot after %.0f s, pumps keep last night's plan",
                late,
                len(slots),
                DEADLINE,
            )
            raise
        with open(HERE / "slots.csv", "w", newline="") as out:
            rows = csv.DictWriter(out, ["plot", "moisture", "minutes"])
            rows.writeheader()
            rows.writerows(client.gather(slots))
    log.info("plan written by %s", os.getpid())


if __name__ == "__main__":
    main()
