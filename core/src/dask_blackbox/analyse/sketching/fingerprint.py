"""The fingerprint of a failure, which failures of the same kind share."""

from __future__ import annotations

import hashlib
from pathlib import PurePath

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import user_frames
from dask_blackbox.analyse.sketching.normalisation import normal_message, normal_prefix
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, short
from dask_blackbox.sketch import Fingerprint

_FRAMES = 3
_DIGITS = 12


def fingerprint_of(case: Case, verdict: Finding) -> Fingerprint:
    """Return the fingerprint of a failure."""
    prefix = verdict.subject.prefix
    if prefix is None and verdict.subject.key:
        prefix = case.prefix_of(verdict.subject.key)
    prefix = normal_prefix(prefix or "")
    exception, message, frames = _raised(case, verdict)
    parts = [verdict.rule, prefix, exception, *frames, message]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    texts = [each for each in (prefix, exception, *frames[-1:], message) if each]
    return Fingerprint(
        id=digest[:_DIGITS], basis=short(" · ".join([verdict.rule, *texts]), 200)
    )


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
