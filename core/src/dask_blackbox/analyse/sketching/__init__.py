"""Make the sketch of a run, which is kept after its recording is deleted.

normalisation  names, messages and values without what differs in every run
prefixes       tasks by prefix
environment    packages, configuration, code, cluster

A sketch of a failed run has the fingerprint of its failure, which failures of the same kind
share.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import user_frames
from dask_blackbox.analyse.numbers import numbers_of
from dask_blackbox.analyse.sketching.environment import (
    facts_of,
    parts_of,
    recorded_sources,
)
from dask_blackbox.analyse.sketching.normalisation import (
    normal_message,
    normal_prefix,
    normal_value,
)
from dask_blackbox.analyse.sketching.prefixes import inputs_of, prefixes_of, with_cpu
from dask_blackbox.events import GraphUpdated
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, short
from dask_blackbox.guard import guard
from dask_blackbox.layout import STOPPED_BY_HOST
from dask_blackbox.manifest import BY_A_PERSON, Manifest
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import Fingerprint, Inputs, Sketch

__all__ = ["facts_of_sketch", "normal_prefix", "normal_value", "sketch_of"]


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
    fingerprint = None
    if not _stopped(case, verdict):  # no kind of failure: the next run may be as long
        with guard("the fingerprint of a sketch"):
            fingerprint = fingerprint_of(case, verdict)
    return msgspec.structs.replace(
        sketch,
        verdict=verdict.rule,
        title=short(verdict.title, 200),
        fingerprint=fingerprint,
    )


def _stopped(case: Case, verdict: Finding) -> bool:
    by = case.outcome.by
    person = by is not None and by.reason in BY_A_PERSON
    return person or verdict.rule == STOPPED_BY_HOST


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
    }


_FRAMES = 3
_DIGITS = 12


def fingerprint_of(case: Case, verdict: Finding) -> Fingerprint:
    """Return the fingerprint of a failure."""
    prefix = _prefix(case, verdict)
    exception, message, frames = _raised(case, verdict)
    parts = [verdict.rule, prefix, exception, *frames, message]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    texts = [each for each in (prefix, exception, *frames[-1:], message) if each]
    return Fingerprint(
        id=digest[:_DIGITS], basis=short(" · ".join([verdict.rule, *texts]), 200)
    )


def _prefix(case: Case, verdict: Finding) -> str:
    prefix = verdict.subject.prefix
    if prefix is None and verdict.subject.key:
        prefix = case.prefix_of(verdict.subject.key)
    return normal_prefix(prefix or "")


def _raised(case: Case, verdict: Finding) -> tuple[str, str, list[str]]:
    """Return class, message and own frames of the exception behind the verdict."""
    failure = case.blame.failure
    if failure is not None and not failure.killed:
        name, message = failure.root or (failure.exception, failure.message)
        return class_of(name), normal_message(message), _frames(failure.traceback)
    if failure is not None or (case.deaths and verdict.subject.prefix):
        return "", "", []  # what workers died of; which of them reported last is chance
    exception = case.exception
    if exception is None:
        return "", "", []
    name = exception.chain[-1] if exception.chain else exception.exception
    frames = _frames(exception.traceback)
    return class_of(name), normal_message(exception.message), frames


def _frames(traceback: str) -> list[str]:
    return [
        f"{PurePath(frame.file).name}:{frame.function}"
        for frame in user_frames(traceback)[-_FRAMES:]
    ]
