"""What a recorded flow run costs beside prefect-dask's own runner: its start, and submit.

    .venvs/prefect/bin/python benchmarks/prefect_runner.py [--tasks 1000] [--rounds 5]

Starts a Prefect server, and runs the same flow in turn with `DaskTaskRunner`, recorded, and
recorded with `fast_submit`, each in a process of its own, who comes first changing from
round to round.  The flow submits one task and waits for it, then maps over many and waits
for all.  Prints a Markdown table: medians, and the medians of the ratios within each round.
The processor time is without the recorder's, which is no child of the flow's process.
A round before them is not counted: it writes the byte code, as the first run after an
installation does, also where `PYTHONDONTWRITEBYTECODE` is set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "demo"))

from prefect_host import PrefectHost  # noqa: E402 - found by the line above

PLAIN, RECORDED, FAST = "prefect-dask", "recorded", "recorded, fast_submit"
FIGURES = {
    "first_task": "flow's first line to the first result, s",
    "flow": "whole flow run without the mapped tasks, s",
    "submit": "`.map`, ms a task",
    "total": "`.map` and all results, ms a task",
    "cpu": "processor time of the flow's process and its workers, s",
    "own_cpu": "processor time of the flow's process alone, s",
}


def main() -> None:
    """Measure rounds, and print the table; or run one flow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--flow", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.flow:
        print(json.dumps(measured(asked.flow, asked.tasks)))
        return
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        host = PrefectHost(Path(folder) / "prefect")
        with host:
            rounds = [
                one_round(host, folder, n, asked) for n in range(asked.rounds + 1)
            ][1:]
    print(
        f"{asked.rounds} rounds of {asked.tasks:,} tasks, load {before:.1f} to ", end=""
    )
    print(f"{os.getloadavg()[0]:.1f}\n")
    print(table(rounds))


def one_round(
    host: PrefectHost, folder: str, number: int, asked: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Run the flow with each runner; return their figures."""
    order = [PLAIN, RECORDED, FAST]
    order = order[number % 3 :] + order[: number % 3]
    return {runner: in_a_process(host, folder, runner, asked.tasks) for runner in order}


def in_a_process(
    host: PrefectHost, folder: str, runner: str, tasks: int
) -> dict[str, float]:
    """Run the flow in a process of its own; return its figures."""
    command = [sys.executable, __file__, "--flow", runner, "--tasks", str(tasks)]
    environ = {
        **os.environ,
        **host.environ,
        "DASK_BLACKBOX__STORE__URL": f"{folder}/store",
        "PREFECT_LOGGING_LEVEL": "ERROR",
    }
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    before = processor_seconds()
    done = subprocess.run(  # noqa: S603 - this file
        command, env=environ, check=True, capture_output=True, text=True
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    figures["cpu"] = processor_seconds() - before
    print(f"{runner}: {figures}", file=sys.stderr)
    return figures


def processor_seconds() -> float:
    """Return the processor time of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(runner: str, tasks: int) -> dict[str, float]:
    """Run the flow here; return its figures."""
    # The environment in which types are checked has no Prefect.
    prefect: Any = import_module("prefect")
    task_runner = import_module("prefect_dask").DaskTaskRunner
    figures: dict[str, float] = {}

    def same(number: int) -> int:
        return number

    task = prefect.task(same)

    def body() -> None:
        began = time.perf_counter()
        task.submit(0).result()
        figures["first_task"] = time.perf_counter() - began
        mapping = time.perf_counter()
        futures = task.map(range(tasks))
        figures["submit"] = (time.perf_counter() - mapping) / tasks * 1e3
        for future in futures:
            future.result()
        figures["mapped"] = time.perf_counter() - mapping
        figures["total"] = figures["mapped"] / tasks * 1e3

    cluster = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    made = prefect.flow(
        body, name="bench", task_runner=task_runner(cluster_kwargs=cluster)
    )
    if runner != PLAIN:
        observed_flow = import_module("prefect_dask_blackbox").observed_flow
        made = observed_flow(made, fast_submit=runner == FAST)
    began = time.perf_counter()
    made()
    figures["flow"] = time.perf_counter() - began - figures.pop("mapped")
    figures["own_cpu"] = time.process_time()
    return figures


def table(rounds: list[dict[str, dict[str, float]]]) -> str:
    """Return medians and ratios as a Markdown table."""
    lines = [
        f"| figure | {PLAIN} | {RECORDED} | ratio | {FAST} | ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for figure, title in FIGURES.items():
        cells = [title, f"{middle(rounds, PLAIN, figure):.2f}"]
        for runner in (RECORDED, FAST):
            ratios = [each[runner][figure] / each[PLAIN][figure] for each in rounds]
            span = f"({min(ratios):.2f} to {max(ratios):.2f})"
            cells += [
                f"{middle(rounds, runner, figure):.2f}",
                f"{statistics.median(ratios):.2f} {span}",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def middle(
    rounds: list[dict[str, dict[str, float]]], runner: str, figure: str
) -> float:
    """Return the median of a figure."""
    return statistics.median(each[runner][figure] for each in rounds)


if __name__ == "__main__":
    main()
