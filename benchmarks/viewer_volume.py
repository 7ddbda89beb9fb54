"""How long the viewer's pages, and `runs`, take with very many runs in the store.

    .venvs/core/bin/python benchmarks/viewer_volume.py [--runs 100000]

The store is a folder with the index markers and sketches of that many runs of 50 jobs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dask_blackbox import runs as runs_of
from dask_blackbox.layout import RunAddress, index_names, sketch_name
from dask_blackbox.serve import create_app
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.store import open_store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from app_server import Served, served

START, JOBS = 1_795_230_000.0, 50
PAGES = (
    "/",
    "/?state=failed",
    "/?job=job-07",
    "/?verdict=worker-memory-limit",
    "/?text=pandas",
    "/jobs/job-07",
)


def fill(folder: Path, runs: int) -> None:
    """Write the names that the viewer reads; each is an empty or a small file."""
    blob = packed(
        Sketch(job="job", run_id="run", state="failed", started=START, title="pandas")
    )
    for n in range(runs):
        failed = n % 50 == 0
        address = RunAddress(f"job-{n % JOBS:02}", f"run-{n:06}", 1)
        state = "failed" if failed else "succeeded"
        sketch = sketch_name(
            address,
            START + n * 60,
            state,
            duration=60.0,
            verdict="worker-memory-limit" if failed else None,
        )
        for name in (*index_names(address, START + n * 60, state), sketch):
            file = folder / name
            if n < JOBS:
                file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(blob if name == sketch else b"")


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=100_000)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), runs)
        with served(create_app(open_store(folder))) as viewer:
            print(f"| page, {runs:,} runs | median of 3 |")
            print("|---|---|")
            for page in PAGES:
                print(
                    f"| `{page}` | {statistics.median(spent_on(viewer, page)):.2f} s |"
                )
        print_calls(folder)


def print_calls(store: str) -> None:
    """Print what the calls of the Python interface take."""
    calls: dict[str, Callable[[], object]] = {
        "list(runs(store))": lambda: list(runs_of(store)),
        "runs(store).to_polars()": lambda: runs_of(store).to_polars(),
        "runs(store, job='job-07').to_polars()": lambda: runs_of(
            store, job="job-07"
        ).to_polars(),
        "runs(store, job='job-07').to_polars(details=True)": lambda: runs_of(
            store, job="job-07"
        ).to_polars(details=True),
    }
    print("\n| call | median of 3 |\n|---|---|")
    for text, call in calls.items():
        spent = []
        for _ in range(3):
            begun = time.perf_counter()
            call()
            spent.append(time.perf_counter() - begun)
        print(f"| `{text}` | {statistics.median(spent):.2f} s |")


def spent_on(viewer: Served, page: str) -> list[float]:
    """Return the seconds that a page takes, three times."""
    spent = []
    for _ in range(3):
        begun = time.perf_counter()
        if "<main>" not in viewer(page).text:
            raise RuntimeError(page)
        spent.append(time.perf_counter() - begun)
    return spent


if __name__ == "__main__":
    main()
