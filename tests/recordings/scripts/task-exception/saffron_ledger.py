"""Monthly close of the saffron ledger: weigh the lots and write one summary file."""

import json
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
from distributed import Client, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("ledger")


def weigh_lot(lot):
    time.sleep(0.1)
    return lot["crates"] * lot["gram_weight"]


def load_lots():
    lots = [{"lot": n, "crates": 3 + n % 4, "gram_weight": 120 + n} for n in range(30)]
    lots[17] = {"lot": 17, "crates": 5, "weight": 137}
    return lots


def start_services(folder):
    sched_file = folder / "scheduler.json"
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                str(sched_file),
            ]
        )
    ]
    while not sched_file.exists():
        time.sleep(0.2)
    procs.append(
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--scheduler-file",
                str(sched_file),
                "--nthreads",
                "2",
                "--no-dashboard",
                "--local-directory",
                str(folder),
            ]
        )
    )
    return sched_file, procs


def stop_services(procs):
    for proc in reversed(procs):
        proc.terminate()
        proc.wait()


def write_summary(client, futures, path):
    placed = client.who_has(futures)
    path.write_text(json.dumps({"lots": len(futures), "placed": len(placed)}))


def main():
    dask.config.set({"distributed.comm.timeouts.connect": "15s"})
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        sched_file, procs = start_services(folder)
        client = Client(scheduler_file=str(sched_file), timeout=60)
        futures = []
        try:
            client.wait_for_workers(1, timeout=90)
            futures = client.map(weigh_lot, load_lots())
            wait(futures)
            total = sum(client.gather(futures))
            log.info("total grams: %s", total)
        finally:
            stop_services(procs)
            write_summary(client, futures, folder / "summary.json")
            client.close()


if __name__ == "__main__":
    main()
