"""Count words on two workers, then check the count."""

import subprocess
import sys
import tempfile
from pathlib import Path

import dask.bag as db
from distributed import Client


def main():
    folder = Path(tempfile.mkdtemp())
    for n in range(6):
        (folder / f"part-{n}.txt").write_text("one two three\n" * 1000)
    (folder / "part-5.txt").write_text("one two three\n" * 400)  # cut off upload
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    )
    workers = [
        subprocess.Popen([*dask, "worker", "--scheduler-file", file, "--nthreads", "1"])
        for _ in range(2)
    ]
    try:
        client = Client(scheduler_file=str(file))
        client.wait_for_workers(2)
        words = db.read_text(str(folder / "part-*.txt")).str.split().flatten()
        counts = dict(words.frequencies().compute())
        assert counts["one"] == 6000, f"expected 6000 lines, got {counts['one']}"
        print(counts)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait()
        scheduler.terminate()
        scheduler.wait()


if __name__ == "__main__":
    main()
