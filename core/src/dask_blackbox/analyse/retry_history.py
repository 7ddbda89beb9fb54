"""What retries of the same failure did before: in this run, and in earlier ones.

A retry is another attempt of a run.  Where there are no retries (cron, a terminal), it is the
next run of the job, if it began soon after and nothing was different.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.differences import differences
from dask_blackbox.analyse.earlier_runs import alike, by_start
from dask_blackbox.analyse.failures import host_retries
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.sketching import kind_of_failure
from dask_blackbox.finding import Confidence, Evidence, Finding, lowest_confidence
from dask_blackbox.formatting import counted
from dask_blackbox.layout import SketchName
from dask_blackbox.run_tables import FINISHED
from dask_blackbox.sketch import Sketch

_SOON = 600.0  # seconds between a failed run and its manual rerun
_WHAT_RUNS = frozenset(("package", "python", "dask-config", "parameters", "code"))
_EXCEPTIONS = ("task-exception", "driver-exception")
_PROVEN_BY = 3
"""So many retries that failed alike, and none that did not, are proof enough."""


class Retries(NamedTuple):
    """How often a retry of a failure succeeded, and how often it failed alike."""

    cured: int = 0
    repeated: int = 0


def with_retry_history(case: Case, verdict: Finding) -> Finding:
    """Return a verdict whose retry advice agrees with what retries did before."""
    past, again = _retries_before_this(case, verdict)
    here = _retries_in_this_run(case)
    reported = _reported(
        Advice(
            verdict.retry_advice,
            lowest_confidence(verdict.confidence, verdict.retry_confidence),
        ),
        Retries(past.cured + here.cured, past.repeated + here.repeated + again),
        raised=verdict.rule in _EXCEPTIONS,
    )
    evidence = [
        Evidence(text=text, source="history")
        for text in _sentences(past, here, again=again)
    ]
    return msgspec.structs.replace(
        verdict,
        retry_advice=reported.advice,
        retry_confidence=reported.confidence,
        evidence=(*verdict.evidence, *evidence),
    )


def _reported(reported: Advice, retries: Retries, *, raised: bool) -> Advice:
    cured, repeated = retries
    if reported.advice == "memory" or not (cured or repeated):
        return (
            reported  # what a retry had more memory for says nothing of the same again
        )
    if cured and cured >= repeated:
        sure: Confidence = "high" if cured > max(1, repeated) else "medium"
        return Advice("transient", sure)
    if cured:
        known = reported.advice not in ("transient", "unknown")
        return Advice(reported.advice if known else "transient", "low")
    proven = repeated >= _PROVEN_BY
    if reported.advice == "transient":
        return Advice("transient", "low" if proven else reported.confidence)
    if reported.advice == "unknown":
        return Advice("code", "high" if proven else "medium") if raised else reported
    return Advice(reported.advice, "high") if proven else reported


def _sentences(past: Retries, here: Retries, *, again: bool) -> Iterator[str]:
    if here.cured:
        others = f"; {here.repeated:,} raised it again" if here.repeated else ""
        yield (
            f"In this run, {counted(here.cured, 'task')} raised the same exception and "
            f"succeeded on a retry{others}."
        )
    if past.cured:
        yield (
            "Earlier, a retry succeeded after this failure "
            f"{counted(past.cured, 'time')}."
        )
    if past.repeated:
        yield (
            f"Earlier, a retry failed in the same way {counted(past.repeated, 'time')}."
        )
    if again:
        yield "This attempt is a retry, and failed in the same way as the one before."


def _retries_in_this_run(case: Case) -> Retries:
    """Return how many tasks raised the same as the one to blame and were retried."""
    failure = case.blame.failure
    if failure is None or failure.killed:
        return Retries()
    alike = case.run.errors.filter(
        (pl.col("prefix") == failure.prefix)
        & (pl.col("exception") == failure.exception)
    )
    retried = {*alike.filter(pl.col("outcome") == "retried")["key"]}
    of_host = host_retries(case.run)
    retried |= {key for key, retries in of_host.items() if retries}
    failed = {*alike.filter(pl.col("outcome") == "erred")["key"]}
    finished = case.run.tasks.filter(FINISHED)["key"]
    # To Dask, a task of the host's finishes also where the host says that it failed.
    cured = retried & {*finished} - failed - of_host.keys()
    return Retries(cured=len(cured), repeated=len(retried & failed))


def _retries_before_this(case: Case, verdict: Finding) -> tuple[Retries, bool]:
    """Return what earlier retries did, and whether this attempt repeats the one before it."""
    history = case.history
    if not (history.attempts or history.tries or history.sketches):
        return Retries(), False
    fingerprint = kind_of_failure(case, verdict)
    if fingerprint is None:
        return Retries(), False
    kind = fingerprint.id
    attempts = _retries_before((*history.attempts, *history.tries), kind)
    runs = _reruns(history.sketches, kind)
    again = bool(history.tries) and alike(history.tries[-1], kind)
    found = Retries(attempts.cured + runs.cured, attempts.repeated + runs.repeated)
    return found, again


def _retries_before(names: Iterable[SketchName], fingerprint: str) -> Retries:
    """Return what further attempts of earlier runs did after failures of a kind.

    Args:
        names: Of all attempts that are known, in any order.
    """
    inorder = sorted(names, key=lambda each: each.address)
    retried = [
        (before, after)
        for _, tries in groupby(inorder, key=lambda each: each.address[:2])
        for before, after in pairwise(tries)
        if alike(before, fingerprint)
        and after.address.attempt == before.address.attempt + 1
    ]
    return Retries(
        cured=sum(after.state == "succeeded" for _, after in retried),
        repeated=sum(alike(after, fingerprint) for _, after in retried),
    )


def _reruns(sketches: Sequence[Sketch], fingerprint: str) -> Retries:
    """Return what the next run did where it began soon after, with nothing different."""
    cured = repeated = 0
    for before, after in pairwise(by_start(sketches)):
        kind = before.fingerprint
        if kind is None or kind.id != fingerprint or before.run_id == after.run_id:
            continue
        ended = before.started + (before.duration or 0.0)
        if after.started - ended > _SOON or not _same(before, after):
            continue
        cured += after.good
        repeated += after.fingerprint is not None and after.fingerprint.id == kind.id
    return Retries(cured, repeated)


def _same(before: Sketch, after: Sketch) -> bool:
    """Return whether two runs ran the same code with the same parameters.

    A date that is another one is a difference here, though not one that explains a failure:
    the next day of a backfill is no retry of the one before.
    """
    if _given(before) != _given(after):
        return False
    return not any(each.kind in _WHAT_RUNS for each in differences(before, after))


def _given(sketch: Sketch) -> dict[str, str]:
    """Return the parameters of a run as they were given, without variables of its environment."""
    given = sketch.facts.get("parameters", {})
    return {n: each for n, each in given.items() if not n.startswith("environment ")}
