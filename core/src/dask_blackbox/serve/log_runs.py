"""Log lines of many runs: the newest runs, within a few seconds."""

from __future__ import annotations

import time
from itertools import islice

import msgspec

from dask_blackbox.errors import BlackboxError
from dask_blackbox.reader import Run, RunEntry, marked_runs
from dask_blackbox.report.log_search import LogQuery, chosen_lines
from dask_blackbox.store import Store

__all__ = ["LogSearch", "lines_of_runs"]

_MOST_RUNS, _MOST_LINES, _OF_A_RUN = 50, 500, 50
_TIMEOUT = 8.0


class LinesOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """The first lines of a run that fit, and how many there are."""

    run: RunEntry
    lines: tuple[dict[str, object], ...]
    number: int


class LogSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, in how many runs it was looked for, and whether there are more."""

    found: tuple[LinesOfRun, ...]
    searched: int
    more: bool


def lines_of_runs(
    store: Store,
    query: LogQuery,
    *,
    job: str | None = None,
    timeout: float = _TIMEOUT,
) -> LogSearch:
    """Return the lines of the newest runs that fit a query.

    Raises:
        ConfigurationError: if the query has a part that cannot be understood.
        StoreError: if the store cannot be listed.
    """
    deadline = time.monotonic() + timeout
    found: list[LinesOfRun] = []
    searched = lines = 0
    runs = list(islice(marked_runs(store, job=job), _MOST_RUNS + 1))
    for entry in runs[:_MOST_RUNS]:
        if time.monotonic() > deadline or lines >= _MOST_LINES:
            break
        searched += 1
        try:
            opened = Run.at(store, entry.address)
            if opened.logs.is_empty():
                continue
            chosen, _ = chosen_lines(opened, query)
        except BlackboxError:
            if searched == len(runs) == 1:
                raise
            continue  # one run that cannot be read hides no other
        if chosen.height:
            first = tuple(chosen.head(_OF_A_RUN).to_dicts())
            found.append(LinesOfRun(run=entry, lines=first, number=chosen.height))
            lines += len(first)
    return LogSearch(found=tuple(found), searched=searched, more=searched < len(runs))
