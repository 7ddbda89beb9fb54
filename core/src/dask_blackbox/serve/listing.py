"""The newest runs, a page at a time: one short listing however many there are."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import index_names, read_index_name
from dask_blackbox.reader import RunEntry, marked_runs
from dask_blackbox.store import Store

CHOICES = {
    "failed": frozenset({"failed"}),
    "aborted": frozenset({"aborted"}),
    "succeeded": frozenset({"succeeded"}),
    # The index cannot tell them apart: nobody was left to say that a run is lost.
    "running or lost": frozenset({"running", "lost"}),
}
"""The states that one can ask for."""

_STATES = frozenset().union(*CHOICES.values())

_MOST_LOOKED_AT = 5_000
"""Runs looked at for one page: a rare state among very many runs takes several pages."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs, newest first.

    Attributes:
        runs: The runs, in the states that the index knows: a lost one as `running`.
        older: Where the next page begins; None: there is none.
    """

    runs: tuple[RunEntry, ...]
    older: str | None = None


def states_of(choice: str) -> AbstractSet[str] | None:
    """Return the states that a word stands for; None where nothing was chosen.

    Raises:
        ConfigurationError: if there is no such state.
    """
    if not choice:
        return None
    if choice in CHOICES:
        return CHOICES[choice]
    if choice in _STATES:
        return {choice}
    raise ConfigurationError(
        f"there is no state {choice!r}; choose one of {', '.join(sorted(_STATES))}"
    )


def page_of_runs(
    store: Store,
    *,
    job: str | None = None,
    states: AbstractSet[str] | None = None,
    after: str = "",
    size: int = 50,
) -> Page:
    """Return a page of the newest runs.

    Args:
        job: Of this job only.
        states: In these states only.
        after: The `older` of the page before.
    """
    runs: list[RunEntry] = []
    last = _entry(after)
    for looked_at, run in enumerate(marked_runs(store, job=job, after=last)):
        if len(runs) == size or looked_at == _MOST_LOOKED_AT:
            return Page(runs=tuple(runs), older=_cursor(last))
        last = run
        if states is None or run.state in states:
            runs.append(run)
    return Page(runs=tuple(runs))


def _cursor(run: RunEntry | None) -> str | None:
    if run is None:
        return None
    return index_names(run.address, run.started, run.state)[0].removeprefix(
        "index/all/"
    )


def _entry(cursor: str) -> RunEntry | None:
    """Return the run that a cursor stands for; None for one that is none of ours."""
    marked = read_index_name(f"index/all/{cursor}") if cursor else None
    if marked is None:
        return None
    return RunEntry(marked.address, marked.started_ms / 1000, "running", "")
