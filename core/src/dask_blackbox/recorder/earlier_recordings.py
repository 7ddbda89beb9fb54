"""Checks whether earlier recordings have to be uploaded or finished, or clusters closed.

Usually there is nothing to do.  The check runs at the start of a recording and does not load
what the work itself needs: tables, rules and reports take half of a recorder's memory.

The recorder of an attempt closes its clusters when its driver is killed.  That recorder may
be gone, too (with its whole pod), or may have ended before the cluster did.  The next attempt
starts when the previous one is over, so its recorder closes the remaining clusters.  If there
is no next attempt, the next run of the job closes them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from dask_blackbox.errors import BlackboxError, BlobNotFoundError
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.documents import (
    is_silent,
    last_heartbeat,
    read_ending,
    read_manifest,
)
from dask_blackbox.reader.run_index import marked_runs
from dask_blackbox.recorder.orphaned_clusters import (
    STILL_CONNECTED,
    OwnedCluster,
    close_if_disconnected,
    orphan_row,
    owned_clusters,
)
from dask_blackbox.recorder.process_limits import MOST_ATTEMPTS
from dask_blackbox.recorder.spool_folder import Spooled, spooled_in
from dask_blackbox.store import Store

_LOOKED_AT = 20

SILENT = 300.0
"""Seconds without a sign of life after which a recording is finished by another recorder.

Longer than for the state `lost`: a store that was away for a minute is no death, though
a recorder that still runs would overwrite our result."""


def waiting_beside(own: Path, settings: Mapping[str, object]) -> list[Spooled]:
    """Return the recordings on this machine that still wait for the same store.

    Args:
        own: The spool folder of the recording that this process makes.
    """
    return [
        each
        for each in spooled_in(own.parent).ready
        # Its own is among them where nothing can be locked.
        if each.folder != own
        and each.settings.get("url") == settings.get("url")
        # Else not even the attempt without a diagnosis was done.
        and each.attempts <= MOST_ATTEMPTS
    ]


def silent_runs(store: Store, own: RunAddress) -> Iterator[RunAddress]:
    """Yield the last recordings of the same job that have no end and are silent.

    Args:
        own: Address of the recording that this process makes.

    Raises:
        StoreError: if the store cannot be read.
    """
    for entry in islice(marked_runs(store, job=own.job), _LOOKED_AT):
        if entry.state != "running" or entry.address == own:
            continue
        seen = last_heartbeat(store, entry.address.folder) or entry.started
        if time.time() - seen >= SILENT:
            yield entry.address


logger = logging.getLogger("dask_blackbox.recorder")

_MOST = 10
_POLL_INTERVAL = 2.0
_TIMEOUT = 180.0
"""Seconds for a recording to end, or to be silent, and for a client to leave."""


def earlier_attempts(own: RunAddress) -> list[RunAddress]:
    """Return the addresses of the attempts before one, the newest first."""
    numbers = range(own.attempt - 1, max(0, own.attempt - 1 - _MOST), -1)
    return [own._replace(attempt=number) for number in numbers]


async def close_clusters_of(
    store: Store,
    addresses: list[RunAddress],
    connection_args: Callable[[], Mapping[str, object]],
    *,
    seconds: float = _TIMEOUT,
) -> AsyncIterator[list[object]]:
    """Close the remaining clusters of some recordings; yield a row for each.

    Waits until a recording has ended or is silent, and until the driver's client has left
    the cluster; one that has not is left alone.

    Args:
        connection_args: Gives what `distributed.Security` gives, to connect with.
    """
    deadline = time.monotonic() + seconds
    for address in addresses:
        try:
            left = await _left(store, address, deadline)
        except BlackboxError as failure:
            logger.info("clusters of %s: %s", address.folder, failure)
            continue
        for cluster in left:
            error = await _closed(cluster, connection_args, deadline)
            logger.info("the cluster at %s: %s", cluster.address, _outcome(error))
            if error not in (None, STILL_CONNECTED):
                yield orphan_row(
                    cluster.address, cluster.scheduler, error, address.name
                )


async def _left(
    store: Store, address: RunAddress, deadline: float
) -> list[OwnedCluster]:
    try:
        while not await asyncio.to_thread(_is_over, store, address):
            if time.monotonic() > deadline:
                return []
            await asyncio.sleep(_POLL_INTERVAL)
    except BlobNotFoundError:
        return []  # nothing of it was recorded
    return await asyncio.to_thread(_read, store, address)


def _is_over(store: Store, address: RunAddress) -> bool:
    manifest = read_manifest(store, address.folder)
    if read_ending(store, address.folder, {}) is not None:
        return True
    seen = last_heartbeat(store, address.folder) or manifest.started
    return is_silent(store, seen)


def _read(store: Store, address: RunAddress) -> list[OwnedCluster]:
    from dask_blackbox.reader import Run  # with all that tables need

    return list(owned_clusters(Run.at(store, address)))


async def _closed(
    cluster: OwnedCluster,
    connection_args: Callable[[], Mapping[str, object]],
    deadline: float,
) -> str | None:
    while True:
        error = await close_if_disconnected(cluster, connection_args())
        if not error or time.monotonic() > deadline:
            return error
        await asyncio.sleep(_POLL_INTERVAL)


def _outcome(error: str | None) -> str:
    return "was closed already" if error is None else error or "closed"
