"""Grading of almond deliveries by size and damage; the rules refuse a delivery that is too damp or not labelled.

Refusals are part of the business: the script counts them and reports them to the growers. It starts its cluster with
the dask commands and ends it the way the init system does, with signals.
"""

import logging
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from distributed import Client, as_completed

log = logging.getLogger("almonds")


class TooDamp(ValueError):
    pass


class NotLabelled(KeyError):
    pass


def grade_delivery(delivery: dict) -> dict:
    if delivery["grower"] is None:
        raise NotLabelled(delivery["number"])
    if delivery["moisture"] > 6.5:
        raise TooDamp(f"delivery {delivery['number']}: {delivery['moisture']:.1f} %")
    rng = np.random.default_rng(delivery["number"])
    millimetres = rng.normal(13.2, 1.6, 900_000)
    counts, _ = np.histogram(millimetres, bins=[0, 10, 12, 13, 14, 16, 30])
    broken = np.sort(rng.random(300_000))[-3000:].mean()
    return {
        "grower": delivery["grower"],
        "grades": counts.tolist(),
        "broken": float(broken),
    }


def deliveries(count: int) -> list[dict]:
    rng = np.random.default_rng(8)
    return [
        {
            "number": number,
            "grower": None if number % 13 == 5 else f"grower {number % 7}",
            "moisture": float(rng.uniform(3.5, 6.4)) if number % 9 else 7.1,
        }
        for number in range(1, count + 1)
    ]


def spawn(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "dask", *arguments])


def end(process: subprocess.Popen, how: signal.Signals) -> None:
    process.send_signal(how)
    try:
        code = process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    log.info("process %d ended with %s", process.pid, code)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    graded, refused = [], Counter()
    with tempfile.TemporaryDirectory(prefix="almonds-") as scratch:
        contact = Path(scratch) / "scheduler.json"
        scheduler = spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(contact),
        )
        workers = [
            spawn(
                "worker",
                "--scheduler-file",
                str(contact),
                "--nthreads",
                "1",
                "--memory-limit",
                "500MB",
                "--no-dashboard",
                "--name",
                f"line-{n}",
                "--local-directory",
                scratch,
            )
            for n in (1, 2)
        ]
        try:
            while not contact.exists():
                time.sleep(0.1)
            with Client(scheduler_file=str(contact), timeout=30) as client:
                client.wait_for_workers(2, timeout=30)
                for future in as_completed(client.map(grade_delivery, deliveries(60))):
                    try:
                        graded.append(future.result())
                    except (TooDamp, NotLabelled) as refusal:
                        refused[type(refusal).__name__] += 1
        finally:
            for worker in workers:
                end(worker, signal.SIGTERM)
            end(scheduler, signal.SIGINT)
    print(f"{len(graded)} graded, refused: {dict(refused)}")
    return 0 if len(graded) + sum(refused.values()) == 60 else 1


if __name__ == "__main__":
    sys.exit(main())
