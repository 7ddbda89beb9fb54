"""Value the day's isotope blends with the lab's own assaykit.

Releases are unpacked side by side, as on the lab's file server, and every host
puts the one that it is told to use on its PYTHONPATH.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client

log = logging.getLogger("blends")

RELEASES = {
    "4.1": """
        __version__ = "4.1"
        HALF_LIFE = {"Mo-99": 65.9, "I-131": 192.5, "Lu-177": 159.5}

        def decay(activity, isotope, hours):
            return activity * 0.5 ** (hours / HALF_LIFE[isotope])

        def blend_value(parts, hours):
            return sum(decay(activity, isotope, hours) for isotope, activity in parts)
        """,
    "4.2": """
        __version__ = "4.2"
        HALF_LIFE = {"Mo-99": 65.9, "I-131": 192.5, "Lu-177": 159.5}

        def decay(activity, isotope, hours):
            return activity * 0.5 ** (hours / HALF_LIFE[isotope])

        def blend_value(parts, hours, detector="ge"):
            gain = {"ge": 1.0, "nai": 0.93}[detector]
            return gain * sum(decay(activity, isotope, hours) for isotope, activity in parts)
        """,
}

# host -> release, from the deployment's inventory
INVENTORY = {"hotcell-a": "4.2", "hotcell-b": "4.1"}


def unpack(root: Path) -> None:
    for version, source in RELEASES.items():
        folder = root / "releases" / version
        folder.mkdir(parents=True)
        (folder / "assaykit.py").write_text(textwrap.dedent(source))


def launch(root: Path, release: str, *words: str) -> subprocess.Popen:
    path = os.pathsep.join(
        p
        for p in (str(root / "releases" / release), os.environ.get("PYTHONPATH", ""))
        if p
    )
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        env=dict(os.environ, PYTHONPATH=path),
        cwd=root,
    )


def start(root: Path) -> list[subprocess.Popen]:
    address_file = str(root / "scheduler.json")
    running = [
        launch(
            root,
            "4.2",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            address_file,
        )
    ]
    for host, release in INVENTORY.items():
        running.append(
            launch(
                root,
                release,
                "worker",
                "--scheduler-file",
                address_file,
                "--name",
                host,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "400MB",
                "--local-directory",
                str(root / host),
            )
        )
    return running


def stop(running: list[subprocess.Popen]) -> None:
    for process in reversed(running):
        process.terminate()
    for process in running:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def value_blend(number: int) -> float:
    import assaykit

    time.sleep(2.5)  # spectrum comes from the detector's archive
    parts = [("Mo-99", 10.0 + number), ("Lu-177", 4.0 * number)]
    return assaykit.blend_value(
        parts, hours=24 + number, detector="nai" if number % 5 == 3 else "ge"
    )


def installed() -> str:
    import assaykit

    return f"assaykit {assaykit.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blends", type=int, default=20)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(prefix="blends-") as tmp:
        root = Path(tmp)
        unpack(root)
        running = start(root)
        try:
            with Client(
                scheduler_file=str(root / "scheduler.json"), timeout="60s"
            ) as client:
                client.wait_for_workers(len(INVENTORY), timeout=60)
                for address, what in client.run(installed).items():
                    log.info("%s has %s", address, what)
                values = client.map(
                    value_blend, range(args.blends), pure=False, retries=1
                )
                log.info("worth %.1f GBq", client.submit(sum, values).result())
        finally:
            stop(running)


if __name__ == "__main__":
    main()
