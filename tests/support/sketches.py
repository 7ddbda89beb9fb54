"""Sketches of made-up nightly runs, for short tests.

history_of([a_night(1), a_night(2), a_night(3, state="failed")])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.analyse.sketching import facts_of_sketch
from dask_blackbox.layout import RunAddress, SketchName, read_sketch_name, sketch_name
from dask_blackbox.sketch import Fingerprint, Inputs, PrefixSketch, Sketch

DAY = 86_400.0
FIRST = 1_793_000_000.0
GIB = 2**30


def a_prefix(name: str = "join", **fields: Any) -> PrefixSketch:
    """Return a prefix of a hundred tasks of a second each."""
    reported: dict[str, Any] = {
        "tasks": 100,
        "planned": 100,
        "seconds": (0.5, 0.8, 1.0, 1.2, 1.6, 2.2),
        "nbytes": (1e6,) * 6,
        "memory": (1e9,) * 6,
        "compute": 100.0,
        "result": 1e8,
        "code": f"code-of-{name}",
    }
    return PrefixSketch(name=name, **reported | fields)


def a_night(number: int = 1, **fields: Any) -> Sketch:
    """Return the sketch of a night's run.

    Args:
        number: Of the night.
        fields: What is otherwise; `facts` are added to those of every night.
    """
    facts = {
        "package/driver": {"pandas": "2.2.1", "dask": "2026.1.0"},
        "package/scheduler": {"pandas": "2.2.1", "dask": "2026.1.0"},
        "package/workers": {"pandas": "2.2.1", "dask": "2026.1.0"},
        "python": {"driver": "3.11.7", "scheduler": "3.11.7", "workers": "3.11.7"},
        "dask-config": {"distributed.worker.memory.target": "0.6"},
        "parameters": {"day": f"2026-10-{number % 28 + 1:02d}", "limit": "100"},
        "code": {"callable main": "aaaa", "git commit": "c0ffee"},
        "cluster-shape": {"workers": "4", "memory limit": "8 GiB"},
        "host": {"orchestrator": "airflow 3.1.0"},
    }
    for kind, values in fields.pop("facts", {}).items():
        facts[kind] = facts.get(kind, {}) | values
    reported: dict[str, Any] = {
        "job": "nightly",
        "run_id": f"run-{number}",
        "state": "succeeded",
        "started": FIRST + number * DAY,
        "duration": 600.0,
        "numbers": {
            "duration": 600.0,
            "peak_memory": 4.0 * GIB,
            "memory_limit": 8.0 * GIB,
        },
        "inputs": Inputs(partitions=100, nbytes=10 * GIB),
        "graphs": 1,
        "prefixes": (a_prefix("load", roots=100), a_prefix("join")),
    }
    return Sketch(**reported | {"facts": facts} | fields)


def failed(sketch: Sketch, fingerprint: str = "f" * 12) -> Sketch:
    """Return the same night, failed."""
    return msgspec.structs.replace(
        sketch,
        state="failed",
        verdict="task-exception",
        title="ValueError in 'join'",
        fingerprint=Fingerprint(id=fingerprint, basis="ValueError"),
    )


def name_of(sketch: Sketch) -> SketchName:
    """Return what the name of a sketch tells."""
    address = RunAddress.of(sketch.job, sketch.run_id, sketch.attempt)
    name = sketch_name(address, sketch.started, sketch.state, **facts_of_sketch(sketch))
    reported = read_sketch_name(name)
    assert reported is not None
    return reported


def history_of(nights: Iterable[Sketch]) -> History:
    """Return the history that these runs are, in any order."""
    newest = sorted(nights, key=lambda each: -each.started)
    return History(names=tuple(map(name_of, newest)), sketches=tuple(newest))
