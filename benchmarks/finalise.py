"""What the end of a large recording costs: reading it back, the rules, the reports.

    python benchmarks/finalise.py [--tasks 1000000] [--workers 40] [--rules]

The recording is made up: chains of tasks on many workers, with samples of each worker
once a second, as a capture would have sent them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from dask_blackbox import report
from dask_blackbox.analyse import RULES, Case, findings_in
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.card import card_of
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import SegmentWriter, read_segment
from dask_blackbox.tables import frames_of_batches, write_tables

_BATCH = 5_000
_BEGUN = 1_790_000_000.0
_STEPS = ("read_parquet", "assign", "shuffle-transfer", "groupby-chunk", "sum-agg")


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument(
        "--rules", action="store_true", help="each rule's own time, too"
    )
    parser.add_argument(
        "--rough", action="store_true", help="gaps, many graphs, long tasks, many lines"
    )
    asked = parser.parse_args()
    blobs = list(_segments(asked.tasks, asked.workers, rough=asked.rough))
    print(
        f"{asked.tasks:,} tasks: {sum(map(len, blobs)) / asked.tasks:.1f} bytes a task"
    )
    with _timed("segments read back, tables"):
        frames = frames_of_batches(
            batch for blob in blobs for batch in read_segment(blob).frames
        )
    manifest = Manifest(recording="x", job="nightly", run_id="1", started=_BEGUN)
    ending = Ending(state="succeeded", ended=frames["tasks"]["stop"].max().timestamp())  # type: ignore[union-attr]
    run = RunTables(manifest, ending, frames)
    with _timed("rules"):
        findings = findings_in(run)
    with _timed("card"):
        card = card_of(run, findings)
    print(f"  end of run to card: {_timed.total:.1f} s")
    with _timed("sketch"):
        sketch_of(Case(run))
    with _timed("Parquet"):
        write_tables(run)
    for name in ("html", "performance_html"):
        with _timed(name):
            page = getattr(report, name)(run, card)
        print(f"  {len(page) / 1e6:.1f} MB")
    print(f"altogether {_timed.total:.1f} s, ", end="")
    print(
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB at most"
    )
    print("found:", [finding.rule for finding in findings])
    if asked.rules:
        _each_rule(run)


class _Timed:
    """Prints how long something takes, of the process's own time, and adds it up."""

    total = 0.0

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        took = time.process_time() - begun
        self.total += took
        print(f"{what}: {took:.2f} s of CPU time", flush=True)


_timed = _Timed()


def _each_rule(run: RunTables) -> None:
    case, took = Case(run), {}
    for rule in RULES:
        begun = time.process_time()
        list(rule.ask(case))
        took[rule.slug] = time.process_time() - begun
    for slug, seconds in sorted(took.items(), key=lambda each: -each[1])[:12]:
        print(f"  {slug:28}{seconds:6.2f} s")


def _segments(number: int, workers: int, *, rough: bool) -> Iterator[bytes]:
    """Yield segments with the rows of a run, five thousand tasks to a batch."""
    chance = np.random.default_rng(1)
    addresses = [f"tcp://10.0.0.{n}:{40_000 + n}" for n in range(workers)]
    seconds = chance.lognormal(-2.5, 0.6, number)
    stop = _BEGUN + 5 + np.cumsum(seconds) / workers / 0.8
    if rough:  # one at a time, a pause after each, and now and then one that takes long
        seconds[::1_000] = 30
        stop = _BEGUN + 5 + np.cumsum(seconds + 0.02)
    ended = float(stop[-1])
    yield _segment(0, _first(addresses, number), _BEGUN)
    for segment, low in enumerate(range(0, number, _BATCH), start=1):
        part = slice(low, min(low + _BATCH, number))
        rows: dict[str, Any] = {
            "task": [
                (
                    f"('{_STEPS[n % 5]}-{n % 7:032x}', {n})", _STEPS[n % 5],
                    f"{_STEPS[n % 5]}-{n % 7:032x}", addresses[n % workers], n % workers,
                    float(at - took), float(at), float(took), 0.001, 0.0, 0.0,
                    1_000_000 + n % 977, "pandas.DataFrame", "finished",
                )
                for n, at, took in zip(
                    range(low, part.stop), stop[part], seconds[part], strict=True
                )
            ],
            "metric": [
                sample
                for at in np.arange(stop[low], stop[part.stop - 1], 1.0)
                for sample in _samples(float(at), addresses, ended)
            ],
        }  # fmt: skip
        if rough:
            rows |= _trouble(stop[part], seconds[part])
        yield _segment(segment, rows, float(stop[part.stop - 1]))


def _samples(at: float, addresses: list[str], ended: float) -> list[tuple[Any, ...]]:
    done = (at - _BEGUN) / (ended - _BEGUN)
    used = int(1e9 + 3e8 * done)
    measured = (90.0, used, 8 * 10**8, 0, 60, 1e6, 1e6, 0.0, 0.0, 0.02)
    of_workers = [(at, each, *measured, 1, 3, 200, "running") for each in addresses]
    wanted = (len(addresses), 3 * len(addresses), 0, "running")
    return [*of_workers, (at, "scheduler", *measured, *wanted)]


def _trouble(stop: Any, seconds: Any) -> dict[str, Any]:
    """Return a graph for every tenth task, and a line of each process that was blocked."""
    said = "Event loop was unresponsive in Worker for 3.50s.  This is often caused by"
    begun = (stop - seconds)[::10]
    return {
        "event": [
            (float(at) - 0.01, "graph-updated", "Client-1", '{"tasks": 10}')
            for at in begun
        ],
        "log": [
            (float(at), "worker", "tcp://10.0.0.0:40000", n % 400, n,
             "distributed.core", 20, said, None)
            for n, at in enumerate(begun)
        ],
    }  # fmt: skip


def _first(addresses: list[str], number: int) -> dict[str, Any]:
    added = [
        (_BEGUN, "worker-added", address, json.dumps(
            {"name": n, "host": "10.0.0.1", "pid": 100 + n, "nthreads": 1,
             "memory_limit": 4 * 2**30}))
        for n, address in enumerate(addresses)
    ]  # fmt: skip
    graph = json.dumps(
        {"tasks": number, "prefixes": dict.fromkeys(_STEPS, number // 5)}
    )
    return {"event": [*added, (_BEGUN + 5, "graph-updated", "Client-1", graph)]}


def _segment(number: int, rows: dict[str, Any], at: float) -> bytes:
    writer = SegmentWriter("x", number)
    writer.append("scheduler", number + 1, at, rows)
    return writer.close()


if __name__ == "__main__":
    main()
