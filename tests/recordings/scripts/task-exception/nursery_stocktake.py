"""Weekly stocktake of a chain of plant nurseries.

Every glasshouse writes a CSV of its benches on Friday evening.  This job starts a small Dask installation of its own
(one scheduler, two workers), adds the pots up per glasshouse, values them and writes one line per glasshouse.
"""

import argparse
import csv
import logging
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client, as_completed

log = logging.getLogger("stocktake")
PRICES = {"fuchsia": 2.4, "lavender": 3.1, "thyme": 1.9, "hebe": 4.8}


class Installation:
    """Scheduler and workers that live as long as the job."""

    def __init__(self, folder, workers):
        self.file = folder / "scheduler.json"
        self.processes = []
        self.start(
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        for number in range(workers):
            self.start(
                "distributed.cli.dask_worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "1",
                "--name",
                f"bench-{number}",
                "--no-dashboard",
                "--memory-limit",
                "400MB",
                "--local-directory",
                str(folder),
            )

    def start(self, module, *options):
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", module, *options])
        )

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def write_benches(folder, houses):
    """What the hand terminals of the glasshouses would have left."""
    for number in range(1, houses + 1):
        with open(folder / f"house_{number:02}.csv", "w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["bench", "plant", "pots"])
            for bench in range(40):
                plant = list(PRICES)[(bench + number) % 4]
                pots = (
                    "n/a"
                    if number in (4, 7) and bench == 31
                    else 20 + bench * number % 17
                )
                rows.writerow([bench, plant, pots])
    (folder / "house_02.csv").rename(folder / "house_02.csv.late")


def count_pots(rows):
    totals = {}
    for row in rows:
        totals[row["plant"]] = totals.get(row["plant"], 0) + int(row["pots"])
    return totals


def tally_house(folder, number):
    path = pathlib.Path(folder) / f"house_{number:02}.csv"
    try:
        handle = open(path, newline="")
    except FileNotFoundError:
        logging.getLogger("distributed.worker").warning(
            "house %s is late, its late file is used", number
        )
        handle = open(str(path) + ".late", newline="")
    with handle:
        totals = count_pots(csv.DictReader(handle))
    time.sleep(0.2)
    return number, sum(PRICES[plant] * pots for plant, pots in totals.items())


def run(client, folder, houses):
    values, missing = {}, []
    futures = {
        client.submit(
            tally_house, str(folder), n, key=f"tally-house-{n:02}", retries=1
        ): n
        for n in houses
    }
    for future in as_completed(futures):
        number = futures[future]
        try:
            number, value = future.result()
        except Exception:
            log.warning("house %s is left out", number)
            missing.append(number)
        else:
            values[number] = value
            log.info("house %s: %.2f", number, value)
    return values, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--houses", type=int, default=9)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stocktake-"))
    write_benches(folder, options.houses)
    installation = Installation(folder, workers=2)
    client = None
    try:
        client = Client(scheduler_file=str(installation.file), timeout=20)
        client.wait_for_workers(2, timeout=20)
        values, missing = run(client, folder, range(1, options.houses + 1))
        (folder / "stock.csv").write_text(
            "".join(f"{n},{v:.2f}\n" for n, v in sorted(values.items()))
        )
    finally:
        installation.stop()
        if client is not None:
            client.close(timeout=2)
    if missing:
        sys.exit(
            f"stocktake failed: {len(missing)} of {options.houses} houses are not counted"
        )


if __name__ == "__main__":
    main()
