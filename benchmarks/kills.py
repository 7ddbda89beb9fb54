"""What is lost when workers are killed, and how soon their exit reports are in the bucket.

    python benchmarks/kills.py [--kills 17] [--only "dask worker"]

Workers log numbered lines (250 a second) and write each number, once it is logged, into
a file of their own.  They are killed (SIGKILL) at random moments, one after the other,
and replaced by their nanny or by us; what stands in those files and not in the recording
is lost.  The bucket is an S3 server on this machine.  Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from dask_blackbox import Run, recording
from dask_blackbox.segments import read_segment
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from distributed import Client, LocalCluster

WORKERS = 2
CHAT = 3.0  # seconds that a task takes
PATIENCE = 60.0
_SAID = re.compile(r"^said (\S+) (\d+)$")


def chat(folder: str) -> None:
    """Log numbered lines for a while; a line that is in the file was logged."""
    log = logging.getLogger("job.chat")
    who = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
    truth = os.open(f"{folder}/said/{who}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number, end = 0, time.monotonic() + CHAT
    while time.monotonic() < end and not Path(folder, "stop").exists():
        log.warning("said %s %d", who, number)
        os.write(truth, f"{time.time()} {number}\n".encode())
        number += 1
        time.sleep(0.004)
    os.close(truth)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Return what `condition` returns once it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.01)
    return found


class Witness(threading.Thread):
    """Reads the bucket over and over, and notes when a worker's exit report is in it."""

    def __init__(self, s3: EmbeddedS3) -> None:
        super().__init__(daemon=True)
        self._s3, self._read = s3.client(), set[str]()
        self._bucket = s3.bucket
        self.seen: dict[int, float] = {}
        self.stopped = threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        while not self.stopped.wait(0.05):
            self.look()

    def look(self) -> None:
        """Look once."""
        listed = self._s3.list_objects_v2(Bucket=self._bucket, Prefix="runs/")
        for each in listed.get("Contents", ()):
            name = each["Key"]
            if not name.endswith(".seg") or name in self._read:
                continue
            self._read.add(name)
            blob = self._s3.get_object(Bucket=self._bucket, Key=name)["Body"].read()
            for batch in read_segment(blob).frames:
                for _, kind, _, detail in batch.rows.get("event", ()):
                    reported = json.loads(detail)
                    if (
                        kind == "worker-exit-report"
                        and reported.get("signal") == "SIGKILL"
                    ):
                        self.seen.setdefault(reported["pid"], time.time())


@contextmanager
def local_cluster(folder: Path) -> Iterator[Any]:
    """A LocalCluster: its nannies live in this process."""
    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster


@contextmanager
def commands(folder: Path, *options: str) -> Iterator[Any]:
    """`dask scheduler` and `dask worker` as processes; a worker that is gone is replaced."""
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1000"}
    started: list[subprocess.Popen[bytes]] = []
    stopped = threading.Event()

    def start(*command: str) -> subprocess.Popen[bytes]:
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own
                [sys.executable, "-m", *command],
                env=environment,
                stdout=log,
                stderr=log,
                cwd=folder,
            )
        started.append(process)
        return process

    file = folder / "scheduler.json"
    place = ("--host", "127.0.0.1", "--no-dashboard")
    start("dask", "scheduler", *place, "--port", "0", "--scheduler-file", str(file))
    until(file.exists, "the scheduler")
    worker = ("dask", "worker", "--scheduler-file", str(file), "--nthreads", "1")

    def keep(number: int) -> None:
        while not stopped.is_set():
            process = start(*worker, *place, *options)
            while process.poll() is None and not stopped.wait(0.05):
                pass

    keepers = [threading.Thread(target=keep, args=(i,)) for i in range(WORKERS)]
    for each in keepers:
        each.start()
    try:
        yield until(lambda: _address_in(file), "the scheduler's address")
    finally:
        stopped.set()
        for each in keepers:
            each.join()
        for process in reversed(started):
            process.terminate()
            process.wait()


def _address_in(file: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        return str(json.loads(file.read_text())["address"])
    return None


CLUSTERS: dict[str, Callable[[Path], Any]] = {
    "LocalCluster": local_cluster,
    "dask worker": commands,
    "dask worker --no-nanny": lambda folder: commands(folder, "--no-nanny"),
}


def living(folder: Path, killed: set[int]) -> list[int]:
    """Return the pids of the workers that have said something in the last second."""
    recent = time.time() - 1
    talking = {
        int(each.name.split("-")[0])
        for each in (folder / "said").iterdir()
        if each.stat().st_mtime > recent
    }
    return [p for p in talking - killed if Path(f"/proc/{p}").exists()]


def measure(kind: str, kills: int, s3: EmbeddedS3) -> dict[str, Any]:
    """Kill workers of one kind of cluster; return what came of it."""
    with tempfile.TemporaryDirectory(prefix="kills") as name:
        folder = Path(name)
        (folder / "said").mkdir()
        killed: dict[int, float] = {}
        with CLUSTERS[kind](folder) as cluster, Client(cluster) as client:
            client.wait_for_workers(WORKERS)
            witness = Witness(s3)
            with recording(
                client, store=s3.url, store_settings=s3.settings, job=f"kills {kind}"
            ) as rec:
                witness.start()
                futures = [
                    client.submit(chat, str(folder), pure=False)
                    for _ in range(10 * WORKERS * kills)
                ]
                for _ in range(kills):
                    until(
                        lambda: len(living(folder, set(killed))) == WORKERS, "workers"
                    )
                    time.sleep(random.uniform(0, 2))
                    talking = until(lambda: living(folder, set(killed)), "a worker")
                    pid = random.choice(talking)
                    killed[pid] = time.time()
                    os.kill(pid, signal.SIGKILL)
                until(lambda: len(living(folder, set(killed))) == WORKERS, "workers")
                try:
                    until(lambda: set(killed) <= set(witness.seen), "all reports")
                finally:
                    (folder / "stop").touch()
                client.gather(futures)
            witness.stopped.set()
            witness.join()
        run = Run.open(rec.card.links["recording"], settings=s3.settings)
        return compared(folder, run, killed, witness.seen)


def compared(
    folder: Path, run: Run, killed: dict[int, float], seen: dict[int, float]
) -> dict[str, Any]:
    """Return what the recording lacks of what was said."""
    recorded = set()
    for message in run.logs["message"].to_list():
        if found := _SAID.match(message):
            recorded.add((found[1], int(found[2])))
    said = lost = 0
    lost_for = 0.0
    for path in (folder / "said").iterdir():
        pid = int(path.name.split("-")[0])
        lines = [line.split() for line in path.read_text().splitlines()]
        gone = [float(at) for at, n in lines if (path.name, int(n)) not in recorded]
        said, lost = said + len(lines), lost + len(gone)
        if gone and pid in killed:
            lost_for = max(lost_for, killed[pid] - min(gone))
    waits = sorted(seen[pid] - at for pid, at in killed.items())
    return {
        "kills": len(killed),
        "said": said,
        "lost": lost,
        "lost for": lost_for,
        "deaths": run.card().numbers["deaths"],
        "median": statistics.median(waits),
        "worst": waits[-1],
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=17, help="of each kind")
    parser.add_argument("--only", default="", help="kinds with these words")
    options = parser.parse_args()
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 1_000,
            "distributed.deploy.lost-worker-timeout": "120s",
        }
    )
    print(f"load before: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    print(
        "| workers of | kills | deaths on the card | lines logged | lines lost | "
        "lost, ms | death to report in the bucket, s: median (worst) |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in CLUSTERS:
        if options.only and options.only != kind:
            continue
        with embedded_s3() as s3:
            found = measure(kind, options.kills, s3)
        print(
            f"| {kind} | {found['kills']} | {found['deaths']:.0f} | {found['said']} | "
            f"{found['lost']} | {1000 * found['lost for']:.0f} | "
            f"{found['median']:.2f} ({found['worst']:.2f}) |",
            flush=True,
        )
    print(f"load after: {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
