"""Fingerprint the ballads that were digitised during the day.

Starts a scheduler and two workers the same way as the batch queue's job template does.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, as_completed

log = logging.getLogger("ballads")


class Site:
    """Scheduler and workers of one nightly job."""

    def __init__(self, scratch: Path, workers: int, worker_options: list[str]):
        self.scratch = scratch
        self.workers = workers
        self.worker_options = worker_options
        self.file = scratch / "scheduler.json"
        self.processes: list[subprocess.Popen] = []

    def dask(self, *words: str) -> None:
        self.processes.append(
            subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=self.scratch)
        )

    def __enter__(self) -> "Site":
        self.dask(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            str(self.file),
        )
        for n in range(self.workers):
            self.dask(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--name",
                f"deck{n}",
                "--nthreads",
                "1",
                "--memory-limit",
                "500MB",
                "--no-dashboard",
                "--local-directory",
                str(self.scratch / f"deck{n}"),
                *self.worker_options,
            )
        return self

    def __exit__(self, *exc) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def decode(number: int) -> bytes:
    """Stand-in for ffmpeg: real recordings take about as long."""
    time.sleep(1.6)
    return hashlib.sha256(f"ballad {number}".encode()).digest() * 64


def fingerprint(number: int) -> tuple[int, str]:
    pcm = decode(number)
    frames = [pcm[i : i + 128] for i in range(0, len(pcm), 128)]
    if number % 11 == 4:
        frames = frames[1:]
        logging.getLogger("fingerprint").warning(
            "ballad %d: first frame corrupt, skipped", number
        )
    peaks = bytes(max(frame) for frame in frames)
    return number, hashlib.md5(
        peaks + os.path.basename(str(number)).encode()
    ).hexdigest()


def collect(client: Client, count: int, patience: float) -> dict[int, str]:
    """All fingerprints that arrive in time."""
    found: dict[int, str] = {}
    futures = [
        client.submit(fingerprint, n, key=f"fingerprint-{n:03d}") for n in range(count)
    ]
    try:
        for _, (number, digest) in as_completed(
            futures, with_results=True, timeout=patience
        ):
            found[number] = digest
            if len(found) % 5 == 0:
                log.info("%d of %d", len(found), count)
    except TimeoutError:
        log.error("gave up after %.0f s", patience)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ballads", type=int, default=44)
    parser.add_argument("--patience", type=float, default=36.0)
    parser.add_argument(
        "--worker-options", default="--lifetime 15s --lifetime-stagger 1s"
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="ballads-") as tmp:
        with Site(Path(tmp), 2, args.worker_options.split()) as site:
            with Client(scheduler_file=str(site.file), timeout="60s") as client:
                client.wait_for_workers(1, timeout=60)
                found = collect(client, args.ballads, args.patience)
    if len(found) < args.ballads:
        sys.exit(f"index not published: {len(found)} of {args.ballads} fingerprints")
    log.info("index published")


if __name__ == "__main__":
    main()
