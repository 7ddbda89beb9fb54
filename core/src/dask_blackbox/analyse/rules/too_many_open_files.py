"""Did a process run out of file descriptors?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang_evidence import how_it_ended
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject

__all__ = ["TOO_MANY_OPEN_FILES"]

_SAID = r"\[Errno 24\]|Too many open files"
_LEAST = 65_536
_MANY = 200


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained:
        return
    failure, exception = case.blame.failure, case.exception
    if failure is not None and not failure.killed:
        if re.search(_SAID, f"{failure.message} {failure.traceback}"):
            on = f" on {case.name_of(failure.worker)}" if failure.worker else ""
            at = f", at {failure.frame}" if failure.frame else ""
            yield _found(
                case,
                f"'{short(failure.key, 80)}' raised {short(str(failure), 160)}{on}{at}",
                worker=failure.worker,
                subject=Subject(
                    key=failure.key, prefix=failure.prefix, worker=failure.worker
                ),
                sure="high" if case.blame.proven else "medium",
            )
        return
    if exception is not None and case.said(_SAID):
        at = f", at {exception.file}:{exception.line}" if exception.file else ""
        said = f"The driver itself raised {short(exception.message, 160)}{at}"
        yield _found(case, said, worker=None, subject=Subject(), sure="high")
        return
    yield from _in_silence(case)


def _in_silence(case: Case) -> Iterator[Finding]:
    """Yield that workers without descriptors stopped to answer, and nothing was raised."""
    hang = case.hang
    lines = _lines(case)
    if hang is None or not len(lines):
        return
    last = lines.row(-1, named=True)
    who = f"{case.name_of(last['source'])} " if last["role"] == "worker" else ""
    yield _found(
        case,
        f"{who or 'A process '}could open nothing any more, no connection either: Dask "
        f"logs that and waits. {how_it_ended(case, hang).rstrip('.')}",
        worker=last["source"] if last["role"] == "worker" else None,
        subject=Subject(worker=last["source"] if last["role"] == "worker" else None),
        sure="medium",
    )


def _lines(case: Case) -> pl.DataFrame:
    return case.run.logs.filter(
        pl.col("role").is_in(["worker", "scheduler", "nanny"])
        & pl.col("message").str.contains(_SAID)
    ).sort("at")


def _found(
    case: Case,
    said: str,
    *,
    worker: str | None,
    subject: Subject,
    sure: Confidence,
) -> Finding:
    most = _most(case, worker)
    counted = most >= _MANY  # they come and go between two heartbeats
    had = f" It had been counted with {most:,} open files." if counted else ""
    wanted = max(_LEAST, 4 * most)
    whose = (
        f"on {case.name_of(worker)}"
        if worker
        else "in the driver"
        if sure == "high"
        else ""
    )
    lines = _lines(case)
    return TOO_MANY_OPEN_FILES.found(
        f"Too many open files {whose}".rstrip(),
        cause=f"{said}.{had}",
        remedy=(
            f"Raise the limit where the process is started (`ulimit -n {wanted}`, "
            f"`LimitNOFILE={wanted}`, `--ulimit nofile={wanted}` for containers), and close "
            "what tasks open (`with open(…)`): a worker lives on after a task, with "
            "everything that is still open."
        ),
        confidence=sure,
        subject=subject,
        evidence=(
            *case.exception_evidence(),
            *(
                Evidence(
                    text=f"{row['role']} {row['source']}: {short(row['message'], 240)}",
                    source="logs",
                    at=row["at"].timestamp(),
                    see=case.see("logs", "--filter", "Too many open files"),
                )
                for row in lines.tail(2).iter_rows(named=True)
            ),
        ),
    )


def _most(case: Case, worker: str | None) -> int:
    """Return the most descriptors that a worker (any, if none is named) was seen with."""
    samples = case.run.metrics.filter(pl.col("source") != "scheduler")
    if worker is not None:
        samples = samples.filter(pl.col("source") == worker)
    return int(samples["fds"].max() or 0)  # type: ignore[arg-type]


TOO_MANY_OPEN_FILES = Rule(
    slug="too-many-open-files",
    title="A process had too many open files",
    question="Did a task, a worker or the driver run out of file descriptors?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A process reached its limit of open files and connections. A task raises "
            "`OSError: [Errno 24]`; a worker that has none left cannot even receive data, "
            "and the run hangs."
        ),
        evidence=(
            "Errno 24 in the failed task, in the driver's exception, or, where the run hung, "
            "in a worker's log; and how many files were open when last counted. Silent "
            "where such a line stands in the log of a run that failed of something else."
        ),
        remedy="Close what tasks open; raise `ulimit -n`.",
        before="frames = [open(path) for path in paths]",
        after="for path in paths:\n    with open(path) as file: ...",
    ),
)
