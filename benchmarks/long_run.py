"""Memory of scheduler, workers, nanny, recorder and driver over a long run of no-op tasks.

    python benchmarks/long_run.py [--tasks 1000000] [--minutes 50] [--bare | --s3]

The tasks come in batches of a thousand, evenly over the time; the memory (RSS) is read
every five seconds.  Prints a Markdown table: each row is a tenth of the run, with the
largest value in it; then what the recording says of itself.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import ExitStack, nullcontext
from typing import Any

import psutil
from dask_blackbox import recording
from dask_blackbox.testing import embedded_s3
from distributed import Client
from overhead import (  # type: ignore[import-not-found]  # beside this script
    cluster,
    noop,
    recorders,
)

_BATCH, _SAMPLING, _PARTS = 1_000, 5.0, 10


class Memory(threading.Thread):
    """Reads the memory of some processes until it is stopped."""

    def __init__(self, processes: dict[str, psutil.Process]) -> None:
        super().__init__(daemon=True)
        self._processes = processes
        self._stopped = threading.Event()
        self.samples: list[dict[str, float]] = []

    def run(self) -> None:
        while True:
            found = {}
            for name, process in self._processes.items():
                try:
                    found[name] = process.memory_info().rss / 1e6
                except psutil.NoSuchProcess:
                    found[name] = float("nan")
            self.samples.append(found)
            if self._stopped.wait(_SAMPLING):
                return

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        self.join()


def processes_of(
    client: Client, scheduler: psutil.Process, *, recorded: bool
) -> dict[str, psutil.Process]:
    """Return the processes that are looked at."""
    pids = sorted(client.run(os.getpid).values())
    workers = {f"worker {n}": psutil.Process(pid) for n, pid in enumerate(pids, 1)}
    found = {"scheduler": scheduler, **workers}
    found["nanny"] = psutil.Process(workers["worker 1"].ppid())
    found["driver"] = psutil.Process()
    if recorded:
        [found["recorder"]] = recorders()
    return found


def run_tasks(client: Client, tasks: int, seconds: float) -> None:
    """Run no-op tasks, evenly over the time if that is long enough."""
    begun = time.monotonic()
    for first in range(0, tasks, _BATCH):
        early = begun + seconds * first / tasks - time.monotonic()
        time.sleep(max(0.0, early))
        client.gather(client.map(noop, range(first, first + _BATCH), pure=False))


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=50.0)
    parser.add_argument("--bare", action="store_true", help="without recording")
    parser.add_argument("--s3", action="store_true", help="into an S3 server")
    chosen = parser.parse_args()
    noop.__module__ = "__main__"  # of which Dask knows that a cluster cannot import it
    with ExitStack() as ends:
        client, scheduler = ends.enter_context(cluster())
        store = ends.enter_context(tempfile.TemporaryDirectory())
        settings = {}
        if chosen.s3:
            server = ends.enter_context(embedded_s3())
            store, settings = server.url, server.settings
        around: Any = nullcontext()
        if not chosen.bare:
            around = recording(client, store=store, store_settings=settings, job="long")
        begun = time.monotonic()
        with around:
            found = processes_of(client, scheduler, recorded=not chosen.bare)
            memory = Memory(found)
            memory.start()
            run_tasks(client, chosen.tasks, 60 * chosen.minutes)
            memory.stop()
            ended = time.monotonic()
        exit_took = time.monotonic() - ended
    samples = memory.samples
    print(f"{chosen.tasks} tasks in {ended - begun:.0f} s; exit {exit_took:.1f} s")
    print(f"| part | {' | '.join(found)} |")
    print("|---" * (len(found) + 1) + "|")
    for part in range(_PARTS):
        rows = samples[
            len(samples) * part // _PARTS : len(samples) * (part + 1) // _PARTS
        ]
        most = [max((row[name] for row in rows), default=0.0) for name in found]
        print(f"| {part + 1} | {' | '.join(f'{each:.0f}' for each in most)} |")
    if not chosen.bare:
        card = around.card
        print(card.state, card.numbers.get("tasks"), card.completeness)


if __name__ == "__main__":
    main()
