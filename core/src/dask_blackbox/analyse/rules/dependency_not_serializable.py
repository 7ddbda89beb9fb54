"""Could an intermediate result not travel to the worker that needs it?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import AtWork, Hang
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    how_it_ended,
    log_evidence,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Finding, Subject

__all__ = ["DEPENDENCY_NOT_SERIALIZABLE"]

_SAID = r"Could not serialize object of type (?P<type>[\w.]+)"
_WHY = re.compile(r"^(?:\w+\.)*\w*Error: (?P<why>cannot pickle .+)$", re.MULTILINE)
_ARRIVED = ("memory", "released")
_STARTED = ("executing", "long-running", "memory", "ready")


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None:
        return
    said = case.run.logs.filter(
        (pl.col("role") == "worker") & pl.col("message").str.contains(_SAID)
    )
    stuck = _stuck(hang)
    if not len(said) or stuck is None:
        return
    task, dependency = stuck
    # The worker that asked for it logs it too; the one that has the word has the trouble.
    messages = said["message"].to_list()
    found = re.search(_SAID, messages[-1])
    kind = found["type"] if found else "unknown"
    why = next((m["why"] for text in messages if (m := _WHY.search(text))), None)
    yield DEPENDENCY_NOT_SERIALIZABLE.found(
        f"A result of '{short(case.prefix_of(dependency), 40)}' ({kind}) cannot travel "
        "between workers",
        cause=(
            f"'{short(task.key, 80)}' on {case.name_of(task.worker)} waits for "
            f"'{short(dependency, 80)}', which is on another worker: an object of type {kind}, "
            f"which cannot be pickled{f' ({short(why, 120)})' if why else ''}. Dask logs that "
            f"once and waits for ever. {how_it_ended(case, hang)}"
        ),
        remedy=(
            f"Return plain data from '{short(case.prefix_of(dependency), 40)}' (paths, arrays, "
            f"settings) and make the {kind} inside the task that uses it; or give its class "
            "`__reduce__`. On one worker it only works by luck."
        ),
        confidence=case.sure_of_the_hang,
        subject=Subject(
            key=dependency, prefix=case.prefix_of(dependency), worker=task.worker
        ),
        evidence=(*log_evidence(case, _SAID), *evidence_of_hang(case, hang)),
    )


def _stuck(hang: Hang) -> tuple[AtWork, str] | None:
    """Return a task that a worker has but cannot start, and what it waits for there."""
    candidates = [
        (task, key, state)
        for task in hang.tasks
        if task.executing_for is None and task.state not in _STARTED
        for key, state in task.waits_for
        if state not in _ARRIVED
    ]
    failed = [each for each in candidates if each[2] == "error"]
    for task, key, _ in failed or candidates:
        return task, key
    return None


DEPENDENCY_NOT_SERIALIZABLE = Rule(
    slug="dependency-not-serializable",
    title="An intermediate result cannot travel between workers",
    question="Does a task wait for ever for a result that cannot be pickled?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A task returned something that cannot be pickled (a lock, an open file, a "
            "connection), and a task on another worker needs it. Dask logs an error there "
            "and leaves the task processing for ever; the driver hears nothing."
        ),
        evidence=(
            "“Could not serialize object of type …” in a worker's log, and, in the stall "
            "detector's account, a task that a worker has and cannot start because its input "
            "has not come. Silent without either."
        ),
        remedy="Return plain data; make such objects inside the task that uses them.",
        before="connection = client.submit(connect)\nclient.submit(read, connection)",
        after="client.submit(connect_and_read, settings)",
    ),
)
