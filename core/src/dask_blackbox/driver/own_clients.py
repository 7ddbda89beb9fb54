"""Every Dask client that this process makes, joined to the recording that it belongs to.

A host's run may make clients of its own, beside or instead of the one that the host makes
for it.  So `Client._start` and `Client._close` are wrapped while somebody listens: what a
setting (`distributed.client.preload`) could do as well would be inherited by the processes
of clusters, where this package need not be installed.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.guard import guard

if TYPE_CHECKING:
    from dask_blackbox.driver.session import Recording

__all__ = ["clients_without", "listen", "note_owner", "unlisten"]

ChooseRecording = Callable[[object], "Recording | Awaitable[Recording | None] | None"]

_lock = threading.Lock()
_choosers: list[ChooseRecording] = []
_patches = Patches()
_owners: WeakKeyDictionary[object, Recording] = WeakKeyDictionary()


def listen(choose: ChooseRecording) -> None:
    """Join clients that connect from now on to a recording.

    Args:
        choose: Returns the recording that a client belongs to, or None, or an awaitable
            of that; called on the client's event loop, in the context in which the client
            was made.
    """
    with _lock:
        _choosers.append(choose)
        if not _patches:
            _install()


def unlisten(choose: ChooseRecording) -> None:
    """Undo `listen`."""
    with _lock:
        if choose in _choosers:
            _choosers.remove(choose)
        if not _choosers:
            _patches.restore()


def note_owner(client: object, recording: Recording) -> None:
    """Note that a client was joined to a recording by somebody else."""
    _owners[client] = recording


def clients_without() -> list[object]:
    """Return the connected clients of this process that belong to no recording."""
    from distributed import Client

    return [
        client
        for client in list(Client._instances)  # noqa: SLF001 - the only list of them
        if client.status == "running"
        and not client.asynchronous
        and client not in _owners
    ]


async def _joined(client: Any) -> None:
    if client in _owners or client.status != "running":
        return
    for choose in tuple(_choosers):
        chosen = choose(client)
        recording = await chosen if inspect.isawaitable(chosen) else chosen
        if recording is not None:
            _owners[client] = recording
            await recording.attach_on_loop(
                client, everything=getattr(client, "cluster", None) is not None
            )
            return


async def _client_closing(client: Any) -> None:
    recording = _owners.pop(client, None)
    if recording is not None and client.status == "running" and client.scheduler:
        await asyncio.to_thread(recording.drain, str(client.scheduler.address))


def _install() -> None:
    from distributed import Client

    client_class: Any = Client
    # They have no hooks.
    start, close = client_class._start, client_class._close  # noqa: SLF001

    @functools.wraps(start)
    async def _start(self: object, *args: object, **kwargs: object) -> object:
        result = await start(self, *args, **kwargs)
        with guard("a Dask client of this process"):
            await _joined(self)
        return result

    @functools.wraps(close)
    async def _close(self: object, fast: bool = False) -> object:  # noqa: FBT001, FBT002
        if not fast:
            with guard("the final events of a cluster"):
                await _client_closing(self)
        return await close(self, fast=fast)

    _patches.replace(Client, "_start", start, _start)
    _patches.replace(Client, "_close", close, _close)
