"""Could a task not allocate what it asked for, while its worker lived on?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from dask.utils import parse_bytes

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, short, size
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["TASK_MEMORY_ERROR"]

_CLASSES = ("MemoryError", "_ArrayMemoryError", "ArrowMemoryError", "OutOfMemoryError")
_ASKED = re.compile(  # as NumPy, Torch, CuPy and Arrow say it
    r"(?:(?:[Uu]nable|[Tt]ried) to allocate|allocating) "
    r"(?P<size>[\d.,]+ ?[KMGTPE]?i?B|[\d.,]+ bytes)"
    r"|alloc of size (?P<bytes>\d+)"
)


def _ask(case: Case) -> Iterator[Finding]:
    yield from _that_closed_workers(case)
    failure = case.blame.failure
    if case.explained or failure is None or failure.killed:
        return
    # What was raised; or what it began with, where the job's code wraps that.
    own = (failure.raised.name, failure.raised.message)
    root = failure.root or ("", "")
    name, message = own if own[0] in _CLASSES else (class_of(root[0]), root[1])
    if name not in _CLASSES:
        return
    life = case.run.workers.filter(
        case.run.workers["address"] == (failure.worker or "")
    )
    limit = max((n for n in life["memory_limit"].to_list() if n), default=None)
    what = f"'{short(failure.prefix or failure.key, 40)}'"
    wanted = _wanted(message)
    where = f", at {failure.frame}" if failure.frame else ""
    yield TASK_MEMORY_ERROR.found(
        f"{what} could not allocate {wanted or 'the memory it asked for'}",
        cause=(
            f"'{short(failure.key, 80)}' on "
            f"{case.name_of(failure.worker) if failure.worker else 'a worker'} raised "
            f"{short(str(failure), 300)}{where}. "
            + (f"It began with {name}: {short(message, 200)}. " * (own[0] != name))
            + "The worker itself lived on"
            + (f"; its limit is {size(limit)}." if limit else ".")
        ),
        remedy=(
            "Make the piece that one task works on smaller (more partitions, smaller "
            "chunks)"
            + (f": it asked for {wanted} in one piece" if wanted else "")
            + (f", and a worker has {size(limit)}" if limit else "")
            + _split(wanted, limit, life["nthreads"].max())
            + ". Check the shape or the join that grew so large."
        ),
        confidence="high" if case.blame.proven else "medium",
        subject=Subject(key=failure.key, prefix=failure.prefix, worker=failure.worker),
        evidence=(
            Evidence(
                text=f"{failure.key}: {short(str(failure), 400)}",
                source="errors",
                at=failure.at,
            ),
            *case.exception_evidence(),
        ),
    )


def _wanted(message: str) -> str | None:
    """Return how much could not be allocated, in words, if the message says so."""
    asked = _ASKED.search(message)
    if asked is None:
        return None
    return asked["size"] or size(int(asked["bytes"]))


def _that_closed_workers(case: Case) -> Iterator[Finding]:
    """Yield that whole processes could allocate nothing any more, and closed themselves."""
    deaths = deaths_blamed_on(case, TASK_MEMORY_ERROR.slug)
    if not deaths:
        return
    limits = {death.memory_limit for death in deaths}
    unknown = "Dask knows of no limit there, so it neither spilled nor paused."
    yield from verdict_on_deaths(
        case,
        TASK_MEMORY_ERROR,
        deaths,
        did="could allocate no more memory",
        how="and closed themselves" if len(deaths) > 1 else "and closed itself",
        more=unknown if limits == {None} else "",
        remedy=(
            "Something other than Dask limits what a process may allocate there: `ulimit -v` "
            "(login nodes and batch systems set it), or a machine without overcommit. Set "
            "`--memory-limit` below that, so that Dask spills in time; make the pieces "
            "smaller, or have the limit raised."
        ),
    )


def _split(wanted: str | None, limit: int | None, threads: Any) -> str:
    """Return in how many pieces it fits: a thread's share, of which a quarter is free."""
    if wanted is None or limit is None:
        return ""
    share = limit / max(int(threads or 1), 1) * 0.75
    pieces = math.ceil(parse_bytes(wanted.replace(" ", "").replace(",", "")) / share)
    if pieces < 2:  # noqa: PLR2004
        return ""
    return (
        f"; a thread's share of that holds {size(share)}, so it takes at least "
        f"{pieces:,} pieces"
    )


TASK_MEMORY_ERROR = Rule(
    slug="task-memory-error",
    title="A task could not allocate memory",
    question="Did a task raise MemoryError while its worker lived on?",
    severity="failure",
    retry_advice="memory",
    ask=_ask,
    page=Page(
        detects=(
            "NumPy, Arrow or Python refused an allocation inside a task. The worker survived; "
            "the piece was too large for any worker of this kind."
        ),
        evidence=(
            "The class of the task's exception (MemoryError, NumPy's, Arrow's), or of what it "
            "began with, tied to the "
            "driver's exception; or a worker that could not even send a heartbeat for want "
            "of memory, says so, and closes itself. Silent where the worker died at its "
            "limit (`worker-memory-limit`) and "
            "where the scheduler refused to start the task (`result-too-large`)."
        ),
        remedy="Smaller chunks; check the shape.",
        before="da.ones((200_000, 200_000), chunks=-1)",
        after='da.ones((200_000, 200_000), chunks="128 MiB")',
    ),
)
