"""Daily anchovy landings: harbour offices deliver one small file each, the ministry wants tonnes by harbour at six.

There is no batch system on the office machine, so the script brings its own scheduler and workers up for the
run and takes them down at the end, whatever happened.
"""

import csv
import json
import logging
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import dask
from distributed import Client

log = logging.getLogger("landings")

HARBOURS = [
    "santona",
    "bermeo",
    "ondarroa",
    "getaria",
    "laredo",
    "colindres",
    "llanes",
    "lastres",
    "burela",
]


class Fleet:
    """A scheduler and a few workers as plain commands on this machine."""

    def __init__(self, workers: int):
        self.workers = workers
        self.processes: list[subprocess.Popen] = []
        self.scratch = tempfile.TemporaryDirectory(prefix="fleet-")

    def start(self) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        self._spawn(
            "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
        )
        for number in range(self.workers):
            self._spawn(
                "worker",
                address,
                "--no-nanny",
                "--nthreads",
                "1",
                "--name",
                f"boat-{number}",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                self.scratch.name,
            )
        return address

    def _spawn(self, *arguments: str) -> None:
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", *arguments])
        )

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(timeout=8)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.scratch.cleanup()


def write_inbox(folder: Path) -> None:
    rng = random.Random(1126)
    for harbour in HARBOURS:
        if harbour == "lastres":
            continue  # the office is closed on Thursdays
        with open(folder / f"{harbour}.csv", "w", newline="") as handle:
            out = csv.writer(handle, delimiter=";")
            out.writerow(["vessel", "species", "kg"])
            for trip in range(400):
                weight = f"{rng.uniform(80, 4200):.1f}"
                if harbour == "colindres" and trip >= 260:
                    weight = f"{rng.randint(1, 4)}.{rng.randint(100, 999)},5"
                out.writerow([f"{harbour[:3].upper()}-{trip:04d}", "ANE", weight])


def read_landings(path: str) -> list[dict]:
    try:
        with open(path, newline="") as handle:
            return list(csv.DictReader(handle, delimiter=";"))
    except FileNotFoundError:
        logging.getLogger("landings").warning(
            "no file from %s today, counted as nothing landed", Path(path).stem
        )
        return []


def landed_tonnes(rows: list[dict]) -> float:
    return sum(float(row["kg"]) for row in rows) / 1000


def quota_share(tonnes: float, quota: float) -> dict:
    return {"tonnes": round(tonnes, 2), "share": round(tonnes / quota, 4)}


def national_report(shares: list[dict]) -> dict:
    return {
        "total": sum(s["tonnes"] for s in shares),
        "share": sum(s["share"] for s in shares),
    }


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    inbox = Path(tempfile.mkdtemp(prefix="landings-"))
    write_inbox(inbox)
    fleet = Fleet(workers=2)
    client = None
    try:
        client = Client(fleet.start(), timeout=30)
        client.wait_for_workers(2, timeout=30)
        shares = []
        for harbour in HARBOURS:
            rows = dask.delayed(read_landings)(str(inbox / f"{harbour}.csv"))
            tonnes = dask.delayed(landed_tonnes)(rows)
            shares.append(dask.delayed(quota_share)(tonnes, 5200.0))
        report = client.compute(dask.delayed(national_report)(shares)).result()
        Path("landings.json").write_text(json.dumps(report))
        log.info("report written: %s", report)
    finally:
        log.info("taking the fleet down")
        fleet.stop()
        if client is not None:
            client.close(timeout=3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
