"""Finds clusters whose driver is gone, and closes them.

An address alone does not identify a cluster, because another one may listen there by now.
Therefore the scheduler's id is checked first, and another scheduler is not closed.  If only a
recording says that the driver is gone, the scheduler is asked for the driver's client, too.

Clusters of a dask-gateway are stopped by the gateway's API: their schedulers accept connections
only through its proxy, and it owns their processes.  The name of such a cluster is never reused,
so it identifies the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from dask_blackbox.events import (
    ClusterOrphaned,
    DriverAttached,
    Rows,
    event_rows,
    of_kind,
)
from dask_blackbox.protocol.messages import OwnedScheduler
from dask_blackbox.recorder import late_imports

if TYPE_CHECKING:
    from distributed.security import Security

    from dask_blackbox.run_tables import RunTables

STILL_CONNECTED = "its driver is still connected"
"""Why a cluster is not closed: its driver still uses it."""

_GATEWAY_TIMEOUT = 40.0
_GATEWAY_POLL_INTERVAL = 0.5
_ACTIVE = ("pending", "running")

Connected = Callable[[str, Mapping[str, object]], Awaitable[bool]]
"""Takes a scheduler's address and connection arguments: is the driver's client there?"""


async def stop_at_gateway(
    gateway: str, address: str, connected: Connected | None = None
) -> str | None:
    """Stop a cluster; return the error, "" if it is stopped, None if it had been.

    Takes 40 seconds at most.

    Args:
        gateway: Address of the gateway's API.
        address: Of the scheduler, as `gateway://…/NAME`.
        connected: Asked first; a cluster with its client is left alone.  None: it is gone.
    """
    parts = urlsplit(address)
    name = parts.path.strip("/")
    by_hand = f"`dask_gateway.Gateway({gateway!r}).stop_cluster({name!r})` stops it"
    try:
        library = import_module("dask_gateway")
    except ImportError:
        return f"dask-gateway is not installed here; where it is, {by_hand}"
    try:
        async with (
            asyncio.timeout(_GATEWAY_TIMEOUT),
            library.Gateway(
                gateway,
                proxy_address=f"{parts.scheme}://{parts.netloc}",
                asynchronous=True,
            ) as client,
        ):
            if not await _gateway_lists(client, name):
                return None
            if connected is not None and await _gateway_says_connected(
                client, name, connected
            ):
                return STILL_CONNECTED
            await client.stop_cluster(name)
            while True:
                if not await _gateway_lists(client, name):
                    return ""
                await asyncio.sleep(_GATEWAY_POLL_INTERVAL)
    except Exception as error:  # noqa: BLE001 - of the library, and of what it asks
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{gateway} did not stop it ({reason}); {by_hand}"


class _Listed(Protocol):
    """A cluster in the gateway's list."""

    name: str


class _Cluster(Protocol):
    """A connected cluster: `dask_gateway.GatewayCluster`."""

    scheduler_address: str
    security: Security


class _Gateway(Protocol):
    """The part of `dask_gateway.Gateway` that is used; it need not be installed here."""

    async def list_clusters(self, *, status: Sequence[str]) -> Sequence[_Listed]: ...

    def connect(self, cluster_name: str) -> AbstractAsyncContextManager[_Cluster]: ...


async def _gateway_lists(client: _Gateway, name: str) -> bool:
    found = await client.list_clusters(status=_ACTIVE)
    return any(each.name == name for each in found)


async def _gateway_says_connected(
    client: _Gateway, name: str, connected: Connected
) -> bool:
    async with client.connect(name) as cluster:
        args = cluster.security.get_connection_args("client")
        return await connected(cluster.scheduler_address, args)


_CONNECTING, _ANSWERING = 3.0, 5.0
_CLOSING = 15.0
_POLL_INTERVAL = 0.2
_JOINED, _LEFT = "add-client", "remove-client"
"""The scheduler's events about a client that connects or leaves."""


class OwnedCluster(NamedTuple):
    """A cluster that a driver started and that is not known to be closed.

    Attributes:
        address: Of its scheduler, as the driver knew it.
        scheduler: The scheduler's id.
        client: Id of the driver's client; empty: not known.
        gateway: Address of the dask-gateway's API that it belongs to; empty: to none.
    """

    address: str
    scheduler: str
    client: str = ""
    gateway: str = ""

    @classmethod
    def of(cls, attached: DriverAttached) -> OwnedCluster | None:
        """Return the cluster that a driver has started and has to close, if it is one."""
        kind = attached.cluster
        if kind is None or not kind.owned:
            return None
        return cls(kind.scheduler, kind.owned, attached.client or "", kind.gateway)


class GatewayClusters:
    """The clusters that a driver started at a gateway; recorders do not pull from them."""

    def __init__(self) -> None:
        self.clusters: dict[str, OwnedCluster] = {}

    def add_rows(self, rows: Rows) -> None:
        """Collect facts from the rows of a batch."""
        for at, kind, subject, detail in event_rows(rows):
            if kind == DriverAttached.kind and '"gateway"' in detail:
                found = OwnedCluster.of(of_kind(DriverAttached, at, subject, detail))
                if found is not None and found.gateway:
                    self.clusters[found.scheduler] = found


def owned_clusters(run: RunTables) -> Iterator[OwnedCluster]:
    """Yield the clusters of a run's driver that its recorder has not closed."""
    closed = {each.scheduler for each in run.of(ClusterOrphaned) if each.closed}
    owned: dict[str, OwnedCluster] = {}
    for attached in run.of(DriverAttached):
        found = OwnedCluster.of(attached)
        if found is None:
            continue
        # It is reported before it has a client, and again with its first one.
        known = owned.get(found.scheduler)
        if known is None or not known.client:
            owned[found.scheduler] = found
    yield from (each for name, each in owned.items() if name not in closed)


async def close_cluster(
    addresses: Sequence[str], scheduler: str, connection_args: Mapping[str, object]
) -> str | None:
    """Close a cluster; return the error, "" if it is closed, None if it had been.

    Takes some 20 seconds at most.

    Args:
        addresses: Of its scheduler, the best one first.
        connection_args: As `distributed.Security` gives them.
    """
    for address in addresses:
        try:
            found = await _scheduler_id(address, connection_args)
        except (OSError, TimeoutError, TypeError, ValueError):
            continue
        if found != scheduler:
            return None  # another cluster: the one that is meant is gone
        return await _closed(address, scheduler, connection_args)
    return None


async def close_owned(cluster: OwnedScheduler) -> str | None:
    """As `close_cluster`, of a cluster to which its driver had not connected yet."""
    args = late_imports.security()(**cluster.security).get_connection_args("client")
    return await close_cluster((cluster.address,), cluster.scheduler, args)


async def close_if_disconnected(
    cluster: OwnedCluster, connection_args: Mapping[str, object]
) -> str | None:
    """As `close_cluster`, unless the driver's client is still connected.

    Args:
        cluster: Which cluster, by a recording of its driver.
        connection_args: As `distributed.Security` gives them.
    """
    if cluster.gateway:
        return await stop_at_gateway(
            cluster.gateway,
            cluster.address,
            lambda at, args: _is_connected(cluster._replace(address=at), args),
        )
    try:
        found = await _scheduler_id(cluster.address, connection_args)
        if found != cluster.scheduler:
            return None
        if cluster.client and await _is_connected(cluster, connection_args):
            return STILL_CONNECTED
    except (OSError, TimeoutError):
        return None
    except (TypeError, ValueError) as error:
        return f"only its driver could connect to it ({error})"
    return await _closed(cluster.address, cluster.scheduler, connection_args)


async def _is_connected(cluster: OwnedCluster, args: Mapping[str, object]) -> bool:
    noted = await _asked(cluster.address, args, "events", topic=cluster.client)
    events = (
        [each for each in noted if isinstance(each, list | tuple) and len(each) > 1]
        if isinstance(noted, list | tuple)
        else []
    )
    actions = [each[1].get("action") for each in events if isinstance(each[1], dict)]
    moves = [each for each in actions if each in (_JOINED, _LEFT)]
    return moves[-1:] == [_JOINED]


async def until_closed(
    addresses: Sequence[str], scheduler: str, connection_args: Mapping[str, object]
) -> None:
    """Wait until a cluster is closed, without a limit: one request, then its connection's end.

    Args:
        addresses: Of its scheduler, the best one first.
        connection_args: As `distributed.Security` gives them.
    """
    from distributed.comm import connect

    for address in addresses:
        try:
            comm = await connect(address, timeout=_CONNECTING, **connection_args)
        except (OSError, TimeoutError, ValueError):
            continue
        try:
            await comm.write({"op": "identity", "reply": True})
            async with asyncio.timeout(_ANSWERING):
                known = await comm.read()
            if _id_in(known) == scheduler:
                await comm.read()  # of a connection that nothing is asked on: its end
        except (OSError, TimeoutError):
            return
        finally:
            comm.abort()
        return


async def _closed(address: str, scheduler: str, args: Mapping[str, object]) -> str:
    with contextlib.suppress(OSError, TimeoutError):  # it closes before it answers
        await _asked(address, args, "terminate")
    deadline = time.monotonic() + _CLOSING
    while time.monotonic() < deadline:
        try:
            found = await _scheduler_id(address, args)
        except (OSError, TimeoutError):
            return ""
        if found != scheduler:
            return ""
        await asyncio.sleep(_POLL_INTERVAL)
    return f"its scheduler still answers {_CLOSING:.0f} s after it was asked to close"


async def _scheduler_id(address: str, args: Mapping[str, object]) -> str:
    return _id_in(await _asked(address, args, "identity"))


def _id_in(identity: object) -> str:
    return str(identity.get("id") or "") if isinstance(identity, dict) else ""


async def _asked(
    address: str, args: Mapping[str, object], op: str, **what: object
) -> object:
    from distributed.comm import connect
    from distributed.core import send_recv

    comm = await connect(address, timeout=_CONNECTING, **args)
    try:
        async with asyncio.timeout(_ANSWERING):
            return await send_recv(comm, reply=True, op=op, **what)
    finally:
        comm.abort()


def close_now(cluster: OwnedCluster) -> str | None:
    """As `close_if_disconnected`, from a thread without an event loop, with Dask's own settings."""
    args = late_imports.security()().get_connection_args("client")
    return asyncio.run(close_if_disconnected(cluster, args))


def orphan_row(address: str, scheduler: str, error: str, run: str = "") -> list[object]:
    """Return the row that reports what happened to a cluster whose driver is gone.

    Args:
        error: Why it could not be closed; empty: it is closed.
        run: Whose driver had started it; empty: the one that is recorded.
    """
    detail = {"scheduler": scheduler, "closed": not error, "error": error}
    if run:
        detail["run"] = run
    return [time.time(), ClusterOrphaned.kind, address, json.dumps(detail)]
