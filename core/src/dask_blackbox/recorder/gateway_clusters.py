"""Clusters of a dask-gateway whose driver is gone: stopped by the gateway's own API.

Their schedulers accept connections only through the gateway's proxy, and the gateway owns
their processes.  The name of a cluster is never reused, so it identifies the cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    # Dask loads with what uses it.
    from distributed.security import Security

STILL_CONNECTED = "its driver is still connected"
"""Why a cluster is not closed that nobody has left."""

_SECONDS = 40.0
_POLL_INTERVAL = 0.5
_ACTIVE = ("pending", "running")

Connected = Callable[[str, Mapping[str, object]], Awaitable[bool]]
"""Takes a scheduler's address and connection arguments: is the driver's client there?"""


async def stop_at_gateway(
    gateway: str, address: str, connected: Connected | None = None
) -> str | None:
    """Stop a cluster; return what is wrong, nothing if it is stopped, None if it was.

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
            asyncio.timeout(_SECONDS),
            library.Gateway(
                gateway,
                proxy_address=f"{parts.scheme}://{parts.netloc}",
                asynchronous=True,
            ) as client,
        ):
            if not await _is_active(client, name):
                return None
            if connected is not None and await _is_connected(client, name, connected):
                return STILL_CONNECTED
            await client.stop_cluster(name)
            while True:
                if not await _is_active(client, name):
                    return ""
                await asyncio.sleep(_POLL_INTERVAL)
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
    """What is used of `dask_gateway.Gateway`, which need not be installed here."""

    async def list_clusters(self, *, status: Sequence[str]) -> Sequence[_Listed]: ...

    def connect(self, cluster_name: str) -> AbstractAsyncContextManager[_Cluster]: ...


async def _is_active(client: _Gateway, name: str) -> bool:
    found = await client.list_clusters(status=_ACTIVE)
    return any(each.name == name for each in found)


async def _is_connected(client: _Gateway, name: str, connected: Connected) -> bool:
    async with client.connect(name) as cluster:
        args = cluster.security.get_connection_args("client")
        return await connected(cluster.scheduler_address, args)
