"""What one diagnosis costs: CPU and queries of small runs, and of recordings that are kept.

    python benchmarks/diagnosis.py [--against src-of-another-version] [--rounds 15]

With `--against`, both versions are measured in turn, each in processes of their own, and
the ratio is of the medians.  CPU is user and system time of the process, all threads
included, the least of several diagnoses of each run: what else the machine does adds to it
by chance, and takes nothing away.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from dask_blackbox.run_tables import RunTables

_TESTS = Path(__file__).parents[1] / "tests"
_PAIRS = 3
_OF_EACH = 4  # recordings of each set


def main() -> None:
    """Print a line for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="`core/src` of another version")
    parser.add_argument("--rounds", type=int, default=15, help="diagnoses of each run")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(_measured(options.rounds)))
        return
    sources = [None] if options.against is None else [options.against.resolve(), None]
    found: dict[Path | None, list[dict[str, Any]]] = {each: [] for each in sources}
    for _ in range(_PAIRS):
        for source in sources:
            found[source].append(_in_a_process(source, options.rounds))
    for name, now in found[None][0].items():
        line = f"{name}: {_cpu(found[None], name):.1f} ms of CPU"
        line += f", {now['queries']:.0f} queries"
        if options.against is not None:
            before = _cpu(found[sources[0]], name)
            queries = found[sources[0]][0][name]["queries"]
            ratio = _cpu(found[None], name) / before
            line += f"; before {before:.1f} ms, {queries:.0f} queries: {ratio:.2f}"
        print(line)


def _cpu(measured: Iterable[dict[str, Any]], name: str) -> float:
    return float(median(each[name]["cpu"] for each in measured))


def _in_a_process(source: Path | None, rounds: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", "--rounds", str(rounds)]
    env = os.environ | ({} if source is None else {"PYTHONPATH": str(source)})
    done = subprocess.run(  # noqa: S603 - this file
        command, env=env, check=True, capture_output=True
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _measured(rounds: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, runs in _runs().items():
        for run in runs:
            _diagnose(run)  # what is imported and compiled once in a process
        found[name] = {
            "cpu": mean(_least(run, rounds) for run in runs) * 1e3,
            "queries": mean(_queries(run) for run in runs),
        }
    return found


def _runs() -> dict[str, list[RunTables]]:
    sys.path[:0] = [str(_TESTS / "support")]
    from kept_recordings import SETS, recordings
    from runs_from_rows import (
        a_death,
        a_failed_task,
        a_graph,
        a_log_line,
        a_run,
        a_sample,
        a_task,
        a_worker,
        an_exception,
        failed_with,
        killed_worker,
    )

    failed = failed_with(an_exception("ValueError", "bad price 'n/a'"))
    three = [a_run(a_worker(), a_graph(), failed)]
    ten = [
        a_run(
            a_worker(),
            a_worker("tcp://w2", pid=101),
            a_graph(),
            *(a_task(f"load-{number}") for number in range(3)),
            a_failed_task("sum-1", "ValueError", "bad price 'n/a'"),
            a_log_line("a line of the job"),
            a_sample("tcp://w1", at=3),
            failed,
        ),
        a_run(
            a_worker(),
            a_worker("tcp://w2", pid=101),
            a_graph(),
            *(a_task(f"load-{number}") for number in range(4)),
            a_death("tcp://w1", exit_code=-11, executing=["boom-1"]),
            failed_with(killed_worker("boom-1")),
        ),
    ]
    real = [run for of in SETS for run in list(recordings(of).values())[:_OF_EACH]]
    return {"runs of three rows": three, "runs of ten rows": ten, "recordings": real}


def _least(run: RunTables, rounds: int) -> float:
    return min(_diagnose(run) for _ in range(rounds))


def _diagnose(run: RunTables) -> float:
    """Return the CPU seconds of the card of a run of which nothing was derived before."""
    from dask_blackbox.analyse import findings_in
    from dask_blackbox.card import card_of
    from dask_blackbox.run_tables import RunTables

    tables = {
        name: getattr(run, name)
        for name in ("tasks", "errors", "logs", "metrics", "events")
    }
    fresh = RunTables(
        run.manifest, run.ending, tables, last_heartbeat=run.last_heartbeat
    )
    begun = time.process_time()
    card_of(fresh, findings_in(fresh))
    return time.process_time() - begun


def _queries(run: RunTables) -> int:
    """Return how many queries of polars a diagnosis makes."""
    import polars as pl

    with patch.object(
        pl.DataFrame, "lazy", autospec=True, side_effect=pl.DataFrame.lazy
    ) as queries:
        _diagnose(run)
    return int(queries.call_count)


if __name__ == "__main__":
    main()
