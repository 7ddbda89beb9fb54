"""Make the sketch of a run, which is kept after its recording is deleted.

normalisation       names, messages and values without what differs in every run
prefix_sketches     tasks by prefix
environment_sketch  packages, configuration, code, cluster
fingerprint         of the failure of a run that failed
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.numbers import numbers_of
from dask_blackbox.analyse.sketching.environment_sketch import (
    facts_of,
    parts_of,
    recorded_sources,
)
from dask_blackbox.analyse.sketching.fingerprint import fingerprint_of
from dask_blackbox.analyse.sketching.normalisation import normal_prefix, normal_value
from dask_blackbox.analyse.sketching.prefix_sketches import (
    inputs_of,
    prefixes_of,
    with_cpu,
)
from dask_blackbox.events import GraphUpdated
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import short
from dask_blackbox.guard import guard
from dask_blackbox.layout import STOPPED_BY_HOST
from dask_blackbox.manifest import BY_A_PERSON, Manifest
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import Fingerprint, Inputs, Sketch

__all__ = [
    "facts_of_sketch",
    "kind_of_failure",
    "normal_prefix",
    "normal_value",
    "sketch_of",
]


_STATE = 512  # bytes that a state of Prefect's seems to have at most
_made: WeakKeyDictionary[RunTables, Sketch] = WeakKeyDictionary()
"""Sketches by run: rules, card and store ask for the same one."""


def sketch_of(case: Case, verdict: Finding | None = None) -> Sketch:
    """Return the sketch of a run, which is kept after its recording is deleted.

    A part that cannot be made is left out (`guard`); the others stay.

    Args:
        verdict: Why it failed, if it did and that is known by now.
    """
    sketch = _made.get(case.run)
    if sketch is None:
        sketch = _made[case.run] = _without_verdict(case)
    if verdict is None:
        return sketch
    return msgspec.structs.replace(
        sketch,
        verdict=verdict.rule,
        title=short(verdict.title, 200),
        fingerprint=kind_of_failure(case, verdict),
    )


def kind_of_failure(case: Case, verdict: Finding) -> Fingerprint | None:
    """Return the fingerprint in the sketch of a failed run, which costs less than the sketch.

    None if the run was stopped, which is no kind of failure: the next run may be as long.
    """
    by = case.outcome.by
    stopped = by is not None and by.reason in BY_A_PERSON
    if not stopped and verdict.rule != STOPPED_BY_HOST:
        with guard("the fingerprint of a sketch"):
            return fingerprint_of(case, verdict)
    return None


def _without_verdict(case: Case) -> Sketch:
    manifest = case.run.manifest
    parts: dict[str, Any] = {}
    with guard("the numbers of a sketch"):
        parts["numbers"] = numbers_of(case)
        parts["duration"] = parts["numbers"].get("duration")
    with guard("the prefixes of a sketch"):
        prefixes = with_cpu(prefixes_of(case.run), case.task_activity.by_prefix)
        parts["prefixes"] = prefixes
        parts["inputs"] = _read(inputs_of(prefixes), manifest)
        parts["graphs"] = len(case.run.of(GraphUpdated))
    with guard("the environment of a sketch"):
        parts["facts"], parts["unknown"] = facts_of(case.run)
        parts["parts"] = parts_of(case.run)
        functions = (f for p in parts.get("prefixes", ()) for f in p.functions)
        parts["sources"] = recorded_sources(case.run, functions)
    return Sketch(
        blackbox=manifest.blackbox,
        recording=manifest.recording,
        job=manifest.job,
        run_id=manifest.run_id,
        attempt=manifest.attempt,
        state=case.state,
        started=manifest.started,
        **parts,
    )


def _read(inputs: Inputs, manifest: Manifest) -> Inputs:
    """Return the input of a run, with what tasks' results show of it.

    Prefect's tasks give their states, which Dask takes for a few bytes each, whatever
    they hold.
    """
    if manifest.host_kind != "prefect" or not inputs.nbytes:
        return inputs
    if inputs.nbytes > _STATE * (inputs.partitions or 1):
        return inputs
    return Inputs(partitions=inputs.partitions)


def facts_of_sketch(sketch: Sketch) -> dict[str, Any]:
    """Return the facts in a sketch's name: keyword arguments of `layout.sketch_name`."""
    peak = sketch.measure("peak_memory")
    return {
        "duration": sketch.duration,
        "input_bytes": sketch.inputs.total,
        "partitions": sketch.inputs.partitions,
        "peak_memory": None if peak is None else round(peak),
        "verdict": sketch.verdict,
        "fingerprint": None if sketch.fingerprint is None else sketch.fingerprint.id,
        "thread_seconds": sketch.measure("thread_seconds"),
        "memory_gib_seconds": sketch.measure("memory_gib_seconds"),
        "unusual": sketch.unusual,
    }
