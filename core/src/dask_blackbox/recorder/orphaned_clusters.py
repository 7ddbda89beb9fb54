"""Clusters whose driver is gone: found in recordings, and closed by address.

An address alone names no cluster: another may listen there by now.  So a scheduler is
asked for its id first, and one that is not the recorded one is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dask_blackbox.events import ClusterOrphaned, DriverAttached

if TYPE_CHECKING:  # heavy
    from dask_blackbox.run import RunTables

__all__ = ["OwnedCluster", "close_cluster", "close_now", "orphan_row", "owned_clusters"]

_CONNECTING, _ANSWERING = 3.0, 5.0
_CLOSING = 15.0
_LOOKING = 0.2


class OwnedCluster(NamedTuple):
    """A cluster that a driver started, and that nobody is known to have closed.

    Attributes:
        address: Of its scheduler, as the driver knew it.
        scheduler: The scheduler's id.
    """

    address: str
    scheduler: str


def owned_clusters(run: RunTables) -> Iterator[OwnedCluster]:
    """Yield the clusters of a run's driver that its recorder has not closed."""
    closed = {each.scheduler for each in run.of(ClusterOrphaned) if each.closed}
    seen = set(closed)
    for attached in run.of(DriverAttached):
        kind = attached.cluster
        if kind is None or not kind.owned or kind.owned in seen:
            continue
        seen.add(kind.owned)
        yield OwnedCluster(kind.scheduler, kind.owned)


async def close_cluster(
    addresses: Sequence[str], scheduler: str, connection_args: Mapping[str, Any]
) -> str | None:
    """Close a cluster; return what is wrong, nothing if it is closed, None if it was.

    Takes some 20 seconds at most.

    Args:
        addresses: Of its scheduler, the best one first.
        scheduler: The scheduler's id.
        connection_args: As `distributed.Security` gives them.
    """
    for address in addresses:
        try:
            known = await _asked(address, connection_args, "identity")
        except (OSError, TimeoutError, ValueError):
            continue
        if str(known.get("id") or "") != scheduler:
            return None  # another cluster: the one that is meant is gone
        return await _closed(address, scheduler, connection_args)
    return None


async def _closed(address: str, scheduler: str, args: Mapping[str, Any]) -> str:
    with contextlib.suppress(OSError, TimeoutError):  # it closes before it answers
        await _asked(address, args, "terminate")
    deadline = time.monotonic() + _CLOSING
    while time.monotonic() < deadline:
        try:
            known = await _asked(address, args, "identity")
        except (OSError, TimeoutError):
            return ""
        if str(known.get("id") or "") != scheduler:
            return ""
        await asyncio.sleep(_LOOKING)
    return f"its scheduler still answers {_CLOSING:.0f} s after it was asked to close"


async def _asked(address: str, args: Mapping[str, Any], op: str) -> Any:
    from distributed.comm import connect
    from distributed.core import send_recv

    comm = await connect(address, timeout=_CONNECTING, **args)
    try:
        async with asyncio.timeout(_ANSWERING):
            return await send_recv(comm, op=op)
    finally:
        comm.abort()


def close_now(cluster: OwnedCluster) -> str | None:
    """As `close_cluster`, from a thread without an event loop, with Dask's own settings."""
    from distributed.security import Security

    args = Security().get_connection_args("client")
    return asyncio.run(close_cluster([cluster.address], cluster.scheduler, args))


def orphan_row(address: str, scheduler: str, error: str) -> list[Any]:
    """Return the row that says what became of a cluster whose driver is gone.

    Args:
        address: Of its scheduler.
        scheduler: The scheduler's id.
        error: Why it could not be closed; empty: it is closed.
    """
    detail = {"scheduler": scheduler, "closed": not error, "error": error}
    return [time.time(), ClusterOrphaned.kind, address, json.dumps(detail)]
