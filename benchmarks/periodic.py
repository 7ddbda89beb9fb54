"""What recording costs while nothing runs: an idle cluster, bare and recorded, in turn.

    python benchmarks/periodic.py [--pairs 3] [--seconds 30]

All that is left on an idle cluster is periodic work.  Prints, as a Markdown table of
medians, milliseconds of CPU and voluntary context switches (how often a thread woke and
slept again) per second, by process.  The kernel counts both, so that neighbours on the
machine change them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dask_blackbox import recording
from distributed import Client
from overhead import (  # type: ignore[import-not-found]  # beside this script
    cluster,
    many_tasks,
    noop,
)


def spent(pid: int) -> tuple[float, int]:
    """Return milliseconds of CPU that a process has used, and its context switches."""
    ran, switches = 0.0, 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        ran += int((thread / "schedstat").read_text("ascii").split()[0]) / 1e6
        status = (thread / "status").read_text("ascii")
        switches += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return ran, switches


def measured(
    client: Client, pids: dict[str, int], seconds: float, store: str | None
) -> dict[str, tuple[float, float]]:
    """Return milliseconds of CPU and context switches per second, by process."""
    recorded: Any = recording(client, store=store, job="idle") if store else None
    with recorded or nullcontext():
        many_tasks(client, 200)  # what only beginnings cost is over then
        time.sleep(3.0)
        begun = time.monotonic()
        before = {who: spent(pid) for who, pid in pids.items()}
        time.sleep(seconds)
        after = {who: spent(pid) for who, pid in pids.items()}
        lasted = time.monotonic() - begun
    return {
        who: (
            (after[who][0] - before[who][0]) / lasted,
            (after[who][1] - before[who][1]) / lasted,
        )
        for who in pids
    }


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    chosen = parser.parse_args()
    noop.__module__ = "__main__"  # the cluster cannot import it
    found: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    with cluster() as (client, scheduler), tempfile.TemporaryDirectory() as store:
        pids = {"scheduler": scheduler.pid, "driver": os.getpid()}
        for number, pid in enumerate(sorted(client.run(os.getpid).values()), 1):
            pids[f"worker {number}"] = pid
        for _ in range(chosen.pairs):
            for recorded in (False, True):
                where = store if recorded else None
                figures = measured(client, pids, chosen.seconds, where)
                for who, figure in figures.items():
                    found.setdefault((who, recorded), []).append(figure)
    print("| process | ms/s, bare | recorded | switches/s, bare | recorded |")
    print("|---|---|---|---|---|")
    for who in pids:
        bare, with_us = (
            [
                statistics.median(each)
                for each in zip(*found[who, recorded], strict=True)
            ]
            for recorded in (False, True)
        )
        print(
            f"| {who} | {bare[0]:.2f} | {with_us[0]:.2f} | "
            f"{bare[1]:.1f} | {with_us[1]:.1f} |"
        )


if __name__ == "__main__":
    main()
