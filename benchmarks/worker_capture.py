"""What capture costs a worker by itself: CPU of the thread for a printed line and for a task.

    python benchmarks/worker_capture.py [--lines 200000] [--tasks 50000]

The worker's plugin runs without a cluster, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dask_blackbox.capture.worker.worker import WorkerCapture


def a_worker() -> Any:
    """Return what the plugin asks of a worker."""
    return SimpleNamespace(
        address="tcp://127.0.0.1:1",
        name="bench",
        nanny="tcp://127.0.0.1:2",
        id="Worker-bench",
        status=SimpleNamespace(name="running"),
        state=SimpleNamespace(tasks={}),
        active_threads={threading.get_ident(): "bench-1"},
        handlers={},
        scheduler_delay=0.0,
        log_event=lambda *_: None,
    )


def talk(lines: int) -> float:
    """Print lines; return seconds of CPU for each."""
    begun = time.thread_time()
    for number in range(lines):
        print(f"line {number} of a loop that talks")
    return (time.thread_time() - begun) / lines


def run_tasks(capture: WorkerCapture, tasks: int) -> float:
    """Have tasks begin and end; return seconds of CPU for each."""
    begun = time.thread_time()
    for number in range(tasks):
        key = f"noop-{number}"
        capture.transition(key, "ready", "executing")
        capture.transition(key, "executing", "memory")
    return (time.thread_time() - begun) / tasks


async def measured(lines: int, tasks: int) -> tuple[float, float, float]:
    """Return seconds for a line that nobody takes, for one that is taken, and for a task."""
    worker = a_worker()
    capture = WorkerCapture(
        name="bench", recording=f"bench-{os.getpid()}", ring_bytes=2**22, stdout=True
    )
    bare = talk(lines)
    capture.setup(worker)
    taken = talk(lines)
    task = run_tasks(capture, tasks)
    capture.teardown(worker)
    return bare, taken, task


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--tasks", type=int, default=50_000)
    chosen = parser.parse_args()
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
    ):
        figures = asyncio.run(measured(chosen.lines, chosen.tasks))
    bare, taken, task = (1e6 * each for each in figures)
    sys.stdout.write(
        f"a printed line: {bare:.2f} µs bare, {taken:.2f} µs recorded; "
        f"a task: {task:.2f} µs\n"
    )


if __name__ == "__main__":
    main()
