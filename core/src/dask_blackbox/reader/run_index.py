"""Lists the runs of a store from its index alone, newest first: cheap, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import NamedTuple, cast

from dask_blackbox.card_data import RunState
from dask_blackbox.layout import RunAddress, index_names, read_index_name, safe
from dask_blackbox.reader.documents import is_silent, last_heartbeat, url_of
from dask_blackbox.store import Store

_ORDER = ("running", "lost", "aborted", "failed", "succeeded")
"""States from the earliest that a run reaches to the last."""


class RunEntry(NamedTuple):
    """A run as the index knows it.

    Attributes:
        address: Its job, run id (both in their safe forms) and attempt.
        started: Epoch seconds.
        state: Of a run without an end: `running`, or `lost` by its heartbeat.
        url: The address of its recording.
    """

    address: RunAddress
    started: float
    state: RunState
    url: str


def list_runs(
    store: Store, *, job: str | None = None, limit: int | None = 20
) -> list[RunEntry]:
    """Return the newest runs of a store, or of one job of it, newest first.

    Raises:
        StoreError: if the store cannot be listed.
    """
    return list(islice(entries(store, job=job), limit))


def entries(store: Store, *, job: str | None = None) -> Iterator[RunEntry]:
    """Yield the runs of a store, newest first; stopping early costs nothing more."""
    for entry in marked_runs(store, job=job):
        if entry.state == "running":
            yield entry._replace(state=_living(store, entry.address, entry.started))
        else:
            yield entry


def marked_runs(
    store: Store, *, job: str | None = None, after: RunEntry | None = None
) -> Iterator[RunEntry]:
    """Yield the runs as the index alone knows them: a lost one as `running`.

    Nothing is read but names, so that a page of a viewer is one listing.

    Args:
        job: Of this job only.
        after: Those that come after this one.
    """
    prefix = f"index/jobs/{safe(job)}/" if job else "index/all/"
    # No state sorts after `~`, so that all markers of the run itself are passed over.
    last = index_names(after.address, after.started, "~") if after else ("", "")
    names = store.names(prefix, after=last[1 if job else 0])
    marked = (entry for name in names if (entry := read_index_name(name)))
    # Markers of one run stand together: they differ in their last word only.
    for (address, started_ms), markers in groupby(marked, key=lambda entry: entry[:2]):
        state = max((marker.state for marker in markers), key=_rank)
        url = url_of(store, address.folder)
        yield RunEntry(address, started_ms / 1000, cast("RunState", state), url)


def _rank(state: str) -> int:
    return _ORDER.index(state) if state in _ORDER else -1


def _living(store: Store, address: RunAddress, started: float) -> RunState:
    seen = last_heartbeat(store, address.folder) or started
    return "lost" if is_silent(store, seen) else "running"
