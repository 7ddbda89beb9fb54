"""The newest runs, a page at a time: one short listing however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import groupby

import msgspec

from dask_blackbox.layout import IndexEntry, RunAddress, read_index_name
from dask_blackbox.store import Store

__all__ = ["CHOICES", "ListedRun", "Page", "page_of_runs"]

CHOICES = {
    "failed": frozenset({"failed"}),
    "aborted": frozenset({"aborted"}),
    "succeeded": frozenset({"succeeded"}),
    # The index cannot tell them apart: nobody was left to say that a run is lost.
    "running or lost": frozenset({"running", "lost"}),
}
"""The states that one can ask for."""

_MOST_READ = 10_000
"""Markers read for one page at most: a rare state among very many runs takes several."""


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the index knows it.

    Attributes:
        address: Where it lies; its words are the safe forms of job and run.
        started: Epoch seconds.
        state: The last state that the index knows: `running` for a lost one, too.
    """

    address: RunAddress
    started: float
    state: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs, newest first.

    Attributes:
        runs: The runs.
        older: Where the next page begins; None: there is none.
    """

    runs: tuple[ListedRun, ...]
    older: str | None = None


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
        store: Where they lie.
        job: Of this job only (safe form).
        states: In these states only.
        after: The `older` of the page before.
        size: Runs on a page.
    """
    prefix = f"index/jobs/{job}/" if job else "index/all/"
    if after and not after.startswith(prefix):
        after = ""
    runs: list[ListedRun] = []
    read = 0
    last = after
    for found, names in _by_run(store.names(prefix, after=after)):
        if len(runs) == size or read >= _MOST_READ:
            return Page(runs=tuple(runs), older=last)
        read += len(names)
        last = names[-1]
        if states is None or found.state in states:
            runs.append(found)
    return Page(runs=tuple(runs))


def _by_run(names: Iterator[str]) -> Iterator[tuple[ListedRun, list[str]]]:
    """Yield each run with its markers, which lie side by side."""
    marked = (
        (entry, name) for name in names if (entry := read_index_name(name)) is not None
    )
    for (address, started_ms), group in groupby(marked, key=lambda pair: pair[0][:2]):
        markers = list(group)
        run = ListedRun(
            address=address,
            started=started_ms / 1000,
            state=_latest([entry for entry, _ in markers]),
        )
        yield run, [name for _, name in markers]


def _latest(entries: list[IndexEntry]) -> str:
    """Return the state that the run ended in, `running` only if there is no other."""
    return next((e.state for e in entries if e.state != "running"), "running")
