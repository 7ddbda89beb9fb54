"""What capture costs a scheduler by itself: CPU of its event loop for a no-op task.

    python benchmarks/scheduler_capture.py [--tasks 2000] [--rounds 100]

The scheduler's plugin runs without a cluster, in this process: its hook is called for the
five transitions of each task, as Dask does, and the rows are pulled.  The fastest round
counts, as neighbours on the machine only make one slower.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from dask_blackbox.capture.scheduler.ownership import ForeignLines, Ownership
from dask_blackbox.capture.scheduler.scheduler import SchedulerCapture

GROUP = "noop-0123456789abcdef0123456789abcdef"
CLIENT = "Client-1"


def a_plugin(tasks: int) -> Any:
    """Return a plugin that knows so many tasks of its client."""
    prefix = SimpleNamespace(name="noop")
    group: Any = SimpleNamespace(name=GROUP, prefix=prefix)
    known = {
        f"{GROUP}-{n}": SimpleNamespace(key=f"{GROUP}-{n}", group=group, actor=False)
        for n in range(tasks)
    }
    scheduler: Any = SimpleNamespace(tasks=known, workers={}, plugins={})
    plugin: Any = SchedulerCapture(
        name="dask-blackbox-bench", recording="bench", client=CLIENT, worker=None,
        nanny=None, limit=200_000, metrics_interval=1.0,
    )  # fmt: skip
    plugin._scheduler, plugin._tasks = scheduler, known  # noqa: SLF001
    plugin.own = Ownership(scheduler, [CLIENT])
    plugin.own._groups[GROUP] = True  # noqa: SLF001
    plugin._others = ForeignLines(scheduler, plugin.own)  # noqa: SLF001
    return plugin


def run_tasks(hook: Callable[..., None], tasks: int) -> None:
    """Call a hook for all transitions of so many tasks."""
    part = [{"action": "compute", "start": 1.5, "stop": 1.6}]
    for number in range(tasks):
        key = f"{GROUP}-{number}"
        hook(key, "released", "waiting", stimulus_id="graph")
        hook(key, "waiting", "processing", stimulus_id="graph")
        hook(
            key, "processing", "memory", stimulus_id="finished", nbytes=28,
            worker="tcp://127.0.0.1:1", typename="int", startstops=part, thread=1,
            type=b"int", run_id=1, metadata={},
        )  # fmt: skip
        hook(key, "memory", "released", stimulus_id="released")
        hook(key, "released", "forgotten", stimulus_id="released")


def no_hook(key: str, start: str, finish: str, **facts: object) -> None:
    """Do nothing, as most plugins do for most transitions."""


def microseconds(work: Callable[[], object], tasks: int) -> float:
    """Return what a piece of work takes for each task."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) / tasks * 1e6


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args()
    tasks, plugin = chosen.tasks, a_plugin(chosen.tasks)
    figures: dict[str, list[float]] = {"without": [], "with": [], "pull": []}
    for number in range(chosen.rounds):
        rows = partial(plugin._rows.pull, number, tasks, 0.0)  # noqa: SLF001
        for what, work in {
            "without": partial(run_tasks, no_hook, tasks),
            "with": partial(run_tasks, plugin.transition, tasks),
            "pull": rows,
        }.items():
            figures[what].append(microseconds(work, tasks))
    bare, hook, pulled = (min(each) for each in figures.values())
    sys.stdout.write(
        f"a task: {hook - bare:.2f} µs in the hook (and {bare:.2f} µs to call an empty one "
        f"five times), {pulled:.2f} µs when it is pulled\n"
    )


if __name__ == "__main__":
    main()
