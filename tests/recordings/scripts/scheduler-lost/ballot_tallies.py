"""Overnight consistency check of the ballot tallies.

Starts scheduler and workers as the operators do on the counting hosts,
checks the tallies of the districts, waits for the postal file, which is
delivered last, and checks it against the districts.
"""

import argparse
import json
import logging
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client

log = logging.getLogger("ballot_tallies")

DISTRICTS = 14
LISTS = ["oak", "birch", "maple", "cedar"]


def launch(folder, workers):
    """Scheduler and workers by the command line."""
    scheduler_file = str(folder / "scheduler.json")
    common = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            common
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                scheduler_file,
                "--idle-timeout",
                "12 seconds",
            ]
        )
    ]
    for i in range(workers):
        procs.append(
            subprocess.Popen(
                common
                + [
                    "worker",
                    "--scheduler-file",
                    scheduler_file,
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--no-nanny",
                    "--name",
                    f"count-{i}",
                    "--memory-limit",
                    "250MB",
                    "--death-timeout",
                    "60",
                    "--local-directory",
                    str(folder),
                ]
            )
        )
    return scheduler_file, procs


def stop(procs):
    for p in procs:
        if p.poll() is None:
            p.terminate()
    for p in procs:
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def write_tally(path, seed, scale):
    rng = random.Random(seed)
    precincts = [
        {"precinct": i, "votes": {x: rng.randint(5, scale) for x in LISTS}}
        for i in range(120)
    ]
    path.write_text(json.dumps({"precincts": precincts}))


def deliver_postal(path, after):
    """The courier's upload: appears when it appears."""

    def upload():
        time.sleep(after)
        part = path.with_suffix(".part")
        write_tally(part, 999, 900)
        part.rename(path)

    threading.Thread(target=upload, daemon=True, name="courier").start()


def check_tally(path):
    data = json.loads(Path(path).read_text())
    totals = dict.fromkeys(LISTS, 0)
    for precinct in data["precincts"]:
        for name, votes in precinct["votes"].items():
            if votes < 0:
                raise ValueError(
                    f"{path}: precinct {precinct['precinct']}: {votes} votes"
                )
            totals[name] += votes
    time.sleep(0.3)
    return totals


def compare(postal, district):
    return {x: postal[x] / max(district[x], 1) for x in LISTS}


def wait_for_file(path, timeout):
    end = time.monotonic() + timeout
    while not path.exists():
        if time.monotonic() > end:
            raise FileNotFoundError(path)
        time.sleep(0.5)
    log.info("%s is here, %d bytes", path.name, path.stat().st_size)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--courier", type=float, default=22, help="seconds until the postal file comes"
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    folder = Path(tempfile.mkdtemp(prefix="tally-"))
    procs = []
    try:
        scheduler_file, procs = launch(folder, workers=2)
        for i in range(DISTRICTS):
            write_tally(folder / f"district_{i:02d}.json", i, 400)
        wait_for_file(Path(scheduler_file), timeout=90)
        with Client(scheduler_file=scheduler_file, timeout=20) as client:
            client.wait_for_workers(2, timeout=60)
            paths = [str(p) for p in sorted(folder.glob("district_*.json"))]
            districts = client.gather(client.map(check_tally, paths))
            log.info("%d districts are consistent", len(districts))
            postal_file = folder / "postal.json"
            deliver_postal(postal_file, args.courier)
            wait_for_file(postal_file, timeout=120)
            postal = client.submit(check_tally, str(postal_file)).result(timeout=60)
            shares = client.gather(client.map(compare, [postal] * DISTRICTS, districts))
            log.info("postal share of oak: %s", [round(s["oak"], 2) for s in shares])
    finally:
        stop(procs)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
