"""Did user code end the workers' processes?

`sys.exit` in a task passes through Dask and takes the whole worker with it; with code 0 not
even the nanny's log says that anything happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.frames import Frame, user_frame
from dask_blackbox.analyse.obituary import (
    deaths_blamed_on,
    prefixes_at_fault,
    verdict_on_deaths,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["WORKER_EXIT"]

_QUOTES = "'\""
_LEFT = re.compile(
    r"""Unhandled exception in async instruction for .*?execute\(['"](?P<key>.+?)['"]\)"""
    r""".*?exception=SystemExit\((?P<said>.*?)\)>"""
)


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_EXIT.slug)
    if not deaths:
        yield from _in_a_thread(case)
        return
    code = deaths[-1].exit_code
    frame = _where_it_left(deaths)
    names = [f"'{short(name, 40)}'" for name in prefixes_at_fault(case, deaths)]
    what = " or ".join(names) or "a task"
    yield from verdict_on_deaths(
        case,
        WORKER_EXIT,
        deaths,
        did="exited",
        how=f"with code {code}",
        more=f"`sys.exit` was called at {frame}{_said(deaths)}." if frame else "",
        remedy=(
            f"Code that {what} runs ends its process (`sys.exit`, `os._exit`, `exit()`, "
            f"or a library's main function){f': see {frame.file}:{frame.line}' if frame else ''}. "
            "Raise an exception instead: it reaches the client with its traceback, and the "
            "worker with its data lives on."
        ),
    )


def _in_a_thread(case: Case) -> Iterator[Finding]:
    """Yield that a task ended the event loop of a process that driver and worker share.

    Nothing dies then, and nothing moves any more.
    """
    stopped = case.exception is None or only_waited(case.exception)
    shared = any(a.startswith("inproc:") for a in case.run.workers["address"])
    if not case.failed or case.explained or case.blame.failure or case.deaths:
        return
    if not shared or not (stopped or case.raised("KeyboardInterrupt")):
        return
    lines = case.run.logs.filter(pl.col("message").str.contains(_LEFT.pattern))
    for row in lines.sort("at").head(1).iter_rows(named=True):
        found = _LEFT.search(row["message"])
        if found is None:
            return
        key, frame = found["key"], user_frame(row["message"])
        at = f" at {frame}" if frame else ""
        look = f": see {frame.file}:{frame.line}" if frame else ""
        yield WORKER_EXIT.found(
            f"'{short(case.prefix_of(key), 40)}' called sys.exit in the driver's own process",
            cause=(
                f"'{short(key, 80)}' raised SystemExit({short(found['said'], 120)}){at}. Its "
                "worker is a thread of the driver's process (`processes=False`), so it took "
                "the event loop of scheduler and workers along: no process ended, and "
                "nothing moved until the driver was stopped."
            ),
            remedy=(
                f"Raise an exception instead of `sys.exit`{look}: it reaches the client with "
                "its traceback."
            ),
            confidence="high",
            subject=Subject(key=key, prefix=case.prefix_of(key)),
            evidence=(
                Evidence(
                    text=short(row["message"], 400),
                    source="logs",
                    at=row["at"].timestamp(),
                    see=case.see("logs", "--filter", "SystemExit"),
                ),
            ),
        )


def _said(deaths: tuple[Death, ...]) -> str:
    """Return what `sys.exit` was given, if that was a text."""
    lines = (line for death in reversed(deaths) for line in reversed(death.last_lines))
    found = next(filter(None, map(_LEFT.search, lines)), None)
    if found is None or found["said"].isdecimal() or not found["said"]:
        return ""
    return f" with “{short(found['said'].strip(_QUOTES), 160)}”"


def _where_it_left(deaths: tuple[Death, ...]) -> Frame | None:
    for death in reversed(deaths):
        for line in reversed(death.last_lines):
            frame = user_frame(line) if "SystemExit" in line else None
            if frame is not None:
                return frame
    return None


WORKER_EXIT = Rule(
    slug="worker-exit",
    title="User code ended the workers' processes",
    question="Did the run fail because code in a task ended its worker's process?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's process ended by itself with an exit code, 0 included, while it was "
            "running a task: `sys.exit()`, `os._exit()`, or a library that calls them."
        ),
        evidence=(
            "The exit code that the nanny saw, no closing reason before it, and what the "
            "worker was executing; for `sys.exit`, the traceback in the worker's last "
            "lines. Silent where the worker closed in an orderly way."
        ),
        remedy="Raise an exception instead of ending the process.",
        before="def load(path):\n    if not path.exists():\n        sys.exit(3)",
        after="def load(path):\n    if not path.exists():\n        raise FileNotFoundError(path)",
    ),
)
