"""Counts of quails from the calls recorded at night; includes the monthly drill with a stopped worker."""

import argparse
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from distributed import Client, as_completed

log = logging.getLogger("quails")

NIGHTS = [f"night-{n:02d}" for n in range(36)]


class BadRecording(Exception):
    """The file has no usable sound."""


def spawn(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


def start_worker(scheduler_file, folder, name):
    return spawn(
        "worker",
        "--scheduler-file",
        scheduler_file,
        "--name",
        name,
        "--nthreads",
        "1",
        "--memory-limit",
        "300MB",
        "--dashboard-address",
        ":0",
        "--local-directory",
        folder,
    )


def count_calls(night, folder):
    number = int(night.split("-")[1])
    time.sleep(0.25)
    if number % 12 == 5:
        raise BadRecording(f"{night}: wind above 9 m/s, nothing to hear")
    marker = os.path.join(folder, f"{night}.seen")
    if number % 10 == 3 and not os.path.exists(marker):
        open(marker, "w").close()
        raise OSError(f"{night}: card reader not ready")
    return night, random.Random(number).randrange(0, 40)


def check_cards(folder):
    """The card check ends with 3 if there are new cards; that is fine."""
    code = subprocess.run(
        [sys.executable, "-c", "import sys; sys.exit(3)"], cwd=folder
    ).returncode
    log.warning("card check ended with exit code %d: new cards", code)
    return code == 3


def stop(processes):
    for process in reversed(processes):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drill-after", type=int, default=8)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    processes = []
    with tempfile.TemporaryDirectory(
        prefix="quails-", ignore_cleanup_errors=True
    ) as folder:
        scheduler_file = os.path.join(folder, "scheduler.json")
        try:
            processes.append(
                spawn(
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--dashboard-address",
                    ":0",
                    "--scheduler-file",
                    scheduler_file,
                )
            )
            while not os.path.exists(scheduler_file):
                time.sleep(0.2)
            processes += [
                start_worker(scheduler_file, folder, n) for n in ("hide-1", "hide-2")
            ]
            check_cards(folder)
            with Client(scheduler_file=scheduler_file, timeout=20) as client:
                client.wait_for_workers(2, timeout=30)
                futures = client.map(count_calls, NIGHTS, folder=folder, retries=1)
                counts, unusable = {}, []
                for n, future in enumerate(as_completed(futures)):
                    if n == args.drill_after:
                        log.warning(
                            "drill: stop worker hide-2 in the middle of the work"
                        )
                        processes[2].send_signal(signal.SIGTERM)
                    try:
                        night, calls = future.result()
                        counts[night] = calls
                    except BadRecording as error:
                        log.error("unusable: %s", error)
                        unusable.append(str(error))
                log.info(
                    "%d nights, %d calls, %d unusable",
                    len(counts),
                    sum(counts.values()),
                    len(unusable),
                )
                if len(counts) + len(unusable) != len(NIGHTS):
                    raise SystemExit("nights are missing")
        finally:
            stop(processes)


if __name__ == "__main__":
    main()
