"""Did the run meet a bug of Dask that is known?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.known_bugs import KNOWN_BUGS, KnownBug
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, short
from dask_blackbox.finding import Evidence, Finding

__all__ = ["KNOWN_BUG"]

_WARNING = 20  # the level: such lines come as INFO, too


def _ask(case: Case) -> Iterator[Finding]:
    installed = _installed(case)
    for bug in KNOWN_BUGS:
        version = installed.get(bug.package)
        if version is None or not bug.concerns(version):
            continue
        marks = _marks(case, bug)
        if marks:
            yield _finding(bug, version, marks)


def _finding(bug: KnownBug, version: str, marks: list[Evidence]) -> Finding:
    upgrade = f"Upgrade {bug.package} to {bug.fixed} or newer." if bug.fixed else ""
    return KNOWN_BUG.found(
        f"A known bug of {bug.package} {version}: {bug.name}",
        cause=(
            f"{bug.means} {bug.package} {version} has this bug, and its mark is in the "
            f"recording {counted(len(marks), 'time')}. See {bug.url}"
        ),
        remedy=upgrade or bug.instead,
        confidence="high",
        evidence=tuple(marks[:3]),
    )


def _installed(case: Case) -> dict[str, str]:
    for info in case.run.details("scheduler-info"):
        return {
            name: str(info[name]) for name in ("dask", "distributed") if info.get(name)
        }
    return {}


def _marks(case: Case, bug: KnownBug) -> list[Evidence]:
    """Return where the recording bears the mark of a bug."""
    mark = re.compile(bug.mark)
    logs = case.run.logs.filter(
        (pl.col("level") >= _WARNING) & pl.col("message").str.contains(bug.mark)
    )
    found = [
        Evidence(
            text=short(line["message"], 300), source="logs", at=line["at"].timestamp()
        )
        for line in logs.head(20).iter_rows(named=True)
    ]
    exception = case.exception
    if exception is not None and mark.search(
        f"{exception.message}\n{exception.traceback}"
    ):
        found.append(Evidence(text=short(exception.message, 300), source="driver"))
    return found


KNOWN_BUG = Rule(
    slug="known-bug",
    title="A known bug of Dask was met",
    question="Did the run meet a bug of Dask that is known?",
    severity="warning",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "The versions of dask and distributed have a bug that is reported, and the "
            "recording bears its mark."
        ),
        evidence=(
            "The versions on the scheduler, and log lines or the exception. Silent where only "
            "one of the two fits: a version alone says nothing of this run."
        ),
        remedy="Upgrade, or go round it; the finding names the report.",
        before="distributed==2025.1.0",
        after="distributed>=2026.1",
    ),
)
