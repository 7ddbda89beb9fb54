"""Every Dask client that this process makes, joined to the recording that it belongs to.

A host's run may make clients of its own, beside or instead of the one that the host makes
for it.  So `Client._start` and `Client._close` are wrapped while a recording listens: what a
setting (`distributed.client.preload`) could do as well would be inherited by the processes
of clusters, where this package need not be installed.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.guard import guard

if TYPE_CHECKING:
    from distributed import Client

    from dask_blackbox.driver.session import Recording

ChooseRecording = Callable[[object], "Recording | Awaitable[Recording | None] | None"]

_lock = threading.Lock()
_choosers: list[ChooseRecording] = []
_patches = Patches()
_owners: WeakKeyDictionary[object, Recording] = WeakKeyDictionary()
_joined_here: WeakSet[object] = WeakSet()
_here: ContextVar[Recording | None] = ContextVar("dask_blackbox_here", default=None)


class EveryClient:
    """Attaches all clients of this process to one recording.

    Clients made in the recording's own context belong to it before any other recording; clients
    of other threads belong to it unless another recording attaches them.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._outer: Recording | None = None

    def begin(self) -> None:
        """Attach clients that connect from now on."""
        self._outer = _here.get()
        _here.set(self._recording)
        listen(self._choose)

    def attach_connected(self) -> None:
        """Attach the clients that are already connected."""
        for client in clients_without():
            self._recording.attach(client)
            _note_joined(client, self._recording)

    async def attach_connected_on_loop(self) -> None:
        """As `attach_connected`, and attach the asynchronous clients of this event loop."""
        await asyncio.to_thread(self.attach_connected)
        for client in clients_without(on_loop=asyncio.get_running_loop()):
            await self._recording.attach_on_loop(client)
            _note_joined(client, self._recording)

    def end(self) -> None:
        """Stop attaching clients."""
        unlisten(self._choose)
        if _here.get() is self._recording:
            _here.set(self._outer)

    def _choose(self, client: object) -> Recording | None:
        return self._recording if self._recording.recorded_now else None


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
    """Stop calling a function that `listen` was given."""
    with _lock:
        if choose in _choosers:
            _choosers.remove(choose)
        if not _choosers:
            _patches.restore()


def note_owner(client: object, recording: Recording) -> None:
    """Note that a client was joined to a recording elsewhere."""
    _owners[client] = recording


def forget_clients_of(recording: Recording) -> None:
    """Let the clients of a recording that has ended belong to the next one."""
    for client, owner in list(_owners.items()):
        if owner is recording:
            _owners.pop(client, None)
            _joined_here.discard(client)


def joined_to(client: object) -> Recording | None:
    """Return the recording that a client was joined to in this module, or None."""
    return _owners.get(client) if client in _joined_here else None


def _note_joined(client: object, recording: Recording) -> None:
    _owners[client] = recording
    _joined_here.add(client)


def clients_without(
    on_loop: asyncio.AbstractEventLoop | None = None,
) -> list[Client]:
    """Return the connected clients of this process that belong to no recording.

    Args:
        on_loop: Return the asynchronous ones of this event loop.  None: the synchronous ones.
    """
    from distributed import Client

    clients: list[Client] = list(Client._instances)  # noqa: SLF001 - the only list of them
    return [
        client
        for client in clients
        if client.status == "running"
        and client not in _owners
        and (
            client.asynchronous
            and getattr(client.loop, "asyncio_loop", None) is on_loop
            if on_loop is not None
            else not client.asynchronous
        )
    ]


async def _joined(client: Client) -> None:
    if client in _owners or client.status != "running":
        return
    for choose in _choosers_here():
        chosen = choose(client)
        recording = await chosen if inspect.isawaitable(chosen) else chosen
        if recording is not None:
            _note_joined(client, recording)
            await recording.attach_on_loop(
                client, everything=getattr(client, "cluster", None) is not None
            )
            return


def _choosers_here() -> list[ChooseRecording]:
    """Return the functions that choose a recording, that of this context first."""
    here = _here.get()
    choosers = list(_choosers)
    if here is not None:
        choosers.insert(0, lambda _: here if here.recorded_now else None)
    return choosers


async def _client_closing(client: Client, *, fast: bool) -> None:
    recording = _owners.pop(client, None)
    if recording is not None and client.status != "closed" and client.scheduler:
        # `Client.close` has said before that it closes; it does not wait then.
        fast = fast or client.status != "running"
        await recording.client_closing(client, fast=fast)


def _install() -> None:
    from distributed import Client

    client_class: Any = Client
    # They have no hooks.
    start, close = client_class._start, client_class._close  # noqa: SLF001

    @functools.wraps(start)
    async def _start(self: Client, *args: object, **kwargs: object) -> object:
        result = await start(self, *args, **kwargs)
        with guard("a Dask client of this process"):
            await _joined(self)
        return result

    @functools.wraps(close)
    async def _close(self: Client, fast: bool = False) -> object:  # noqa: FBT001, FBT002
        with guard("the final events of a cluster"):
            await _client_closing(self, fast=fast)
        return await close(self, fast=fast)

    _patches.replace(Client, "_start", start, _start)
    _patches.replace(Client, "_close", close, _close)
