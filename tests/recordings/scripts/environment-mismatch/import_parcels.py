"""Duties on the parcels that arrived from abroad.

The rules of the customs office are a package of their own that is released every month into a folder per release.
The nodes of the fleet are listed in nodes.json with the release that is deployed on them.
"""

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("parcels")

OCTOBER = '''
"""Customs rules, release of October."""
RATE = {"toys": 0.047, "textiles": 0.12, "books": 0.0}

def assess(parcels):
    return [round(p["value"] * RATE[p["kind"]], 2) for p in parcels if p["value"] > 150]
'''
NOVEMBER = '''
"""Customs rules, release of November: the one-stop scheme for parcels below the threshold."""
RATE = {"toys": 0.047, "textiles": 0.12, "books": 0.0}
FLAT = {"IOSS": 3.0, "postal": 5.0}

def assess(parcels, scheme="postal"):
    return [round(p["value"] * RATE[p["kind"]], 2) if p["value"] > 150 else FLAT[scheme] for p in parcels]
'''
NODES = [
    {"name": "depot-north", "release": "2026.11"},
    {"name": "depot-south", "release": "2026.10"},
]


def deploy():
    for release, text in (("2026.10", OCTOBER), ("2026.11", NOVEMBER)):
        folder = Path("releases") / release
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "customs_rules.py").write_text(text)
    Path("nodes.json").write_text(json.dumps(NODES))


class Fleet:
    """Scheduler and workers as the nodes run them: plain commands, one worker a node."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.processes = []
        self.scheduler_file = Path("fleet.json").absolute()

    def start(self, *arguments, release):
        path = [
            str((Path("releases") / release).absolute()),
            os.environ.get("PYTHONPATH", ""),
        ]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
        command = [
            sys.executable,
            "-m",
            "dask",
            *arguments,
            "--scheduler-file",
            str(self.scheduler_file),
        ]
        self.processes.append(subprocess.Popen(command, env=env))

    def __enter__(self):
        self.scheduler_file.unlink(missing_ok=True)
        self.start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            release="2026.11",
        )
        while not self.scheduler_file.exists():
            time.sleep(0.1)
        for node in self.nodes:
            self.start(
                "worker",
                "--name",
                node["name"],
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "300MB",
                release=node["release"],
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(15)


def batches(count):
    kinds = ["toys", "textiles", "books"]
    for batch in range(count):
        parcels = [
            {"value": 40 + (batch * 37 + n * 53) % 400, "kind": kinds[n % 3]}
            for n in range(200)
        ]
        if batch == 4:
            parcels.append({"value": None, "kind": "books"})
        yield parcels


def complete(parcels):
    for parcel in parcels:
        if parcel["value"] is None:
            raise ValueError("parcel without a declared value")
    return parcels


def main():
    deploy()
    sys.path.insert(0, str(Path("releases/2026.11").absolute()))
    import customs_rules

    with Fleet(json.loads(Path("nodes.json").read_text())) as fleet:
        client = Client(scheduler_file=str(fleet.scheduler_file))
        client.wait_for_workers(len(fleet.nodes), timeout=30)
        accepted = []
        for number, parcels in enumerate(batches(16)):
            try:
                accepted.append(complete(parcels))
            except ValueError as error:
                log.warning("batch %d set aside: %s", number, error)
        futures = client.map(customs_rules.assess, accepted, scheme="IOSS")
        try:
            wait(futures)
            duties = client.gather(futures)
            log.info("duties of %d batches: %.2f", len(duties), sum(map(sum, duties)))
        finally:
            log.info(
                "batches done: %d of %d",
                sum(f.status == "finished" for f in futures),
                len(futures),
            )
            client.close()


if __name__ == "__main__":
    main()
