"""Bytecodes that one no-op task costs on the event loops of scheduler and worker, ours apart.

    python benchmarks/bytecodes.py [--tasks 1000]

A count does not depend on other users of the machine, but knows nothing of what C code
does (encoding, system calls).  Periodic work counts with what falls on the time that the
tasks take; because counting slows the loops down many times, there is more of it per task
than in reality.  Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from typing import Any

from dask_blackbox import recording
from distributed import Client
from overhead import (  # type: ignore[import-not-found]  # beside this script
    cluster,
    noop,
)


def begin() -> None:
    """Count the bytecodes of this thread, by source file, from now on."""
    import sys
    import types

    counts: dict[str, int] = {}

    def count(frame: Any, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            name = frame.f_code.co_filename
            counts[name] = counts.get(name, 0) + 1
        return count

    kept: Any = types.ModuleType("bytecodes_counted")
    kept.counts = counts
    sys.modules["bytecodes_counted"] = kept
    sys.settrace(count)


def end() -> dict[str, int]:
    """Stop counting; return the counts."""
    import sys

    sys.settrace(None)
    counts: dict[str, int] = sys.modules.pop("bytecodes_counted").counts
    return counts


async def begin_on_loop() -> None:
    """Count on the event loop of a worker."""
    begin()


async def end_on_loop() -> dict[str, int]:
    """Stop counting there."""
    return end()


def split(counts: dict[str, int], tasks: int) -> tuple[float, float]:
    """Return bytecodes per task: ours, and all others."""
    ours = sum(n for name, n in counts.items() if name.startswith("<dask-blackbox"))
    return ours / tasks, (sum(counts.values()) - ours) / tasks


def counted(client: Client, tasks: int) -> dict[str, tuple[float, float]]:
    """Run tasks; return bytecodes per task by role, ours and others'."""
    client.run_on_scheduler(begin)
    client.run(begin_on_loop)
    client.gather(client.map(noop, range(tasks), pure=False))
    of_workers = client.run(end_on_loop).values()
    merged: dict[str, int] = {}
    for counts in of_workers:
        for name, number in counts.items():
            merged[name] = merged.get(name, 0) + number
    scheduler = client.run_on_scheduler(end)
    return {"scheduler": split(scheduler, tasks), "worker": split(merged, tasks)}


def main() -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    chosen = parser.parse_args()
    for each in (noop, begin, end, begin_on_loop, end_on_loop):
        each.__module__ = "__main__"  # the cluster cannot import it
    print("| process | recorded | ours | others' | ours per others' |")
    print("|---|---|---|---|---|")
    with cluster() as (client, _), tempfile.TemporaryDirectory() as store:
        for recorded in (False, True):
            around: Any = (
                recording(client, store=store, job="bench")
                if recorded
                else nullcontext()
            )
            with around:
                client.gather(client.map(noop, range(500), pure=False))
                found = counted(client, chosen.tasks)
            for role, (ours, others) in found.items():
                print(
                    f"| {role} | {recorded} | {ours:.0f} | {others:.0f} | "
                    f"{ours / others:.3f} |"
                )


if __name__ == "__main__":
    main()
