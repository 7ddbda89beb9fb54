"""Decode the CAN bus sessions of a tractor fleet.

Tractors upload one session file for each field they worked.  The decoder is the manufacturer's package `fieldbus`;
the farm contractor runs it on a small cluster started with the `dask` commands and bills fuel per hectare from the
result.
"""

import json
import logging
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("fleet")

# The package as the manufacturer ships it (version 4.2), installed here next to the job.
FIELDBUS = '''
"""Session decoder, version 4.2."""
import os
import threading
import time

MAX_SECONDS = float(os.environ.get("FIELDBUS_MAX_SECONDS", "3"))


def _give_up():
    os._exit(70)


class Session:
    """Open decoder.  One session must be decoded within MAX_SECONDS."""

    def __enter__(self):
        self._timer = threading.Timer(MAX_SECONDS, _give_up)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *exc):
        self._timer.cancel()

    def frames(self, raw):
        for frame in raw:
            time.sleep(0.002)
            yield {"rpm": frame[0] * 8, "fuel": frame[1] / 20, "speed": frame[2] / 256}
'''


class FieldCluster:
    """Scheduler and workers as ordinary processes, the way the contractor's servers run them."""

    def __init__(self, folder, workers=2):
        self.folder, self.count, self.processes = Path(folder), workers, []
        self.file = self.folder / "scheduler.json"

    def _dask(self, *words):
        command = [
            sys.executable,
            "-m",
            "dask",
            *words,
            "--scheduler-file",
            str(self.file),
            "--no-dashboard",
        ]
        self.processes.append(subprocess.Popen(command, cwd=self.folder))

    def __enter__(self):
        self._dask("scheduler", "--host", "127.0.0.1", "--port", "0")
        deadline = time.monotonic() + 20
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        for number in range(self.count):
            self._dask(
                "worker",
                "--nworkers",
                "1",
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--name",
                f"barn-{number}",
                "--local-directory",
                str(self.folder / "scratch"),
            )
        return self

    def __exit__(self, *exc):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def write_sessions(folder):
    rng = random.Random(42)
    for number in range(24):
        frames = (
            2600 if number == 15 else rng.randint(40, 160)
        )  # 15: headland left with the engine running
        raw = [
            [rng.randint(90, 260), rng.randint(0, 400), rng.randint(0, 2500)]
            for _ in range(frames)
        ]
        (folder / f"session_{number:02d}.json").write_text(json.dumps(raw))


def decode_session(path):
    import fieldbus

    raw = json.loads(Path(path).read_text())
    with fieldbus.Session() as session:
        fuel = sum(frame["fuel"] for frame in session.frames(raw))
    return {"session": Path(path).stem, "frames": len(raw), "fuel": round(fuel, 2)}


def bill(rows):
    return sum(row["fuel"] for row in rows) * 1.38


def main():
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    summary = Path("fuel_summary.json")
    try:
        (folder / "fieldbus.py").write_text(FIELDBUS)
        write_sessions(folder)
        with (
            FieldCluster(folder) as cluster,
            Client(scheduler_file=str(cluster.file), timeout="20s") as client,
        ):
            client.wait_for_workers(2, timeout=30)
            futures = client.map(
                decode_session, sorted(map(str, folder.glob("session_*.json")))
            )
            wait(futures)
            log.info(
                "%d sessions finished",
                sum(future.status == "finished" for future in futures),
            )
            rows = client.gather(futures)
        summary.write_text(json.dumps({"rows": rows, "bill": bill(rows)}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        archive = Path("archive")
        archive.mkdir(exist_ok=True)
        summary.rename(archive / summary.name)


if __name__ == "__main__":
    main()
