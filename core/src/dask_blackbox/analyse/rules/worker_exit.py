"""Did user code end the workers' processes?

`sys.exit` in a task passes through Dask and takes the whole worker with it; with code 0 not
even the nanny's log says that anything happened.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from dask_blackbox.finding import Finding

__all__ = ["WORKER_EXIT"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_EXIT.slug)
    if not deaths:
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
        more=f"`sys.exit` was called at {frame}." if frame else "",
        remedy=(
            f"Code that {what} runs ends its process (`sys.exit`, `os._exit`, `exit()`, "
            f"or a library's main function){f': see {frame.file}:{frame.line}' if frame else ''}. "
            "Raise an exception instead: it reaches the client with its traceback, and the "
            "worker with its data lives on."
        ),
    )


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
