"""Pulling through the driver, where the recorder cannot reach the scheduler itself.

A connection may need what only the driver's process has: a transport that a library registers,
as dask-gateway does, or a TLS context that was never a file.  Whether the recorder can connect
is known when it has tried; it then reports whether the driver has to relay the rows.  A relay
runs on its client's event loop and ends with it: its last pull comes before the client closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from dask_blackbox.capture.driver.driver_environment import gateway_cluster
from dask_blackbox.events import event_rows
from dask_blackbox.guard import guard
from dask_blackbox.protocol.exit_reports import UnreportedExits
from dask_blackbox.protocol.messages import REACHED, RELAY, Attach, Reply, Rows
from dask_blackbox.settings import setting_seconds

if TYPE_CHECKING:
    from distributed import Client

_BATCH = 2_000
_ANSWERING = 20.0
_POLL_INTERVAL = 0.05
_FINAL_EVENTS = 4.0
"""Seconds to wait for exit reports: exit codes arrive after exceptions."""
_FINISHING = 8.0
_SETTLING = 6.0
"""Seconds that the recorder may take to find out whether it can connect."""
_LOST_AFTER = 10.0
_ASKING_GATEWAY = 3.0
_FAILURES = (OSError, TimeoutError, LookupError, TypeError, AttributeError, ValueError)
"""What a call through a client raises that is closing, or whose scheduler is gone."""

Forward = Callable[[Rows], bool]
"""Takes rows for the recorder without blocking; returns whether it took them."""
Event = Callable[[str, str, dict[str, object]], None]
"""Takes kind, subject and particulars of an event for the recorder; never blocks."""


class Relays:
    """The clients of this process that may need a relay, and the relays of those that do.

    Args:
        forward: Takes the rows that were pulled.
        event: Takes events about a scheduler.
        failed: Takes what failed, and how.
        mask: Takes secret values that became known on the cluster.
    """

    def __init__(
        self,
        forward: Forward,
        event: Event,
        failed: Callable[[str, BaseException], None],
        mask: Callable[[tuple[str, ...]], None],
    ) -> None:
        self._forward, self._event = forward, event
        self._failed, self._mask = failed, mask
        self._changed = threading.Condition()
        self._clients: dict[str, list[tuple[Attach, Client]]] = {}
        self._reachable: dict[str, bool] = {}
        self._relays: dict[str, Relay] = {}

    def add(self, order: Attach, client: Client) -> None:
        """Note a client whose scheduler the recorder may not be able to connect to."""
        with self._changed:
            self._clients.setdefault(order.address, []).append((order, client))
            if self._reachable.get(order.address) is False:
                self._start(order.address)

    def note_reply(self, reply: Reply) -> None:
        """Note whether the recorder reaches a scheduler (in a thread of its connection)."""
        if reply.what not in (REACHED, RELAY):
            return
        with self._changed:
            self._reachable[reply.address] = reply.what == REACHED
            if reply.what == RELAY:
                self._start(reply.address)
            self._changed.notify_all()

    def _start(self, address: str) -> None:
        if address in self._relays:
            return
        for order, client in self._clients.get(address, ()):
            relay = Relay(order, client, self._forward, self._event, self._mask)
            self._relays[address] = relay
            relay.start(self._failed)
            return

    def addresses_of(self, client: Client) -> list[str]:
        """Return the address of a client's scheduler, if its rows may have to be relayed."""
        with self._changed:
            return [a for a, held in self._clients.items() if _holds(held, client)]

    def is_reachable(self, client: Client) -> bool:
        """Return whether the recorder reaches a client's scheduler, as far as that is known."""
        return all(self._reachable.get(each) for each in self.addresses_of(client))

    async def client_closing(self, client: Client) -> None:
        """Pull the remaining rows through a client that is about to close (on its loop)."""
        for address in self.addresses_of(client):
            await self._client_leaving(client, address)

    async def _client_leaving(self, client: Client, address: str) -> None:
        with self._changed:
            held = [each for each in self._clients[address] if each[1] is not client]
            self._clients[address] = held
            relay = self._relays.get(address)
        if relay is None or relay.client is not client:
            return
        with guard("the last rows of a cluster", on_error=self._failed):
            await relay.finish(leave=not held)
        with self._changed:
            self._relays.pop(address, None)
            self._start(address)  # through another client of it

    def flush(self) -> None:
        """Pull what there is, from a thread that is not a client's event loop."""
        for relay in list(self._relays.values()):
            with guard("rows that only the driver can pull", on_error=self._failed):
                relay.call(relay.pull_all, _FINISHING)

    def finish(self) -> None:
        """Pull the remaining rows, and remove everything of ours from the clusters.

        Before that, wait until the recorder knows which schedulers it reaches.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: all(
                    address in self._reachable
                    for address, held in self._clients.items()
                    if any(client.status == "running" for _, client in held)
                ),
                _SETTLING,
            )
            relays, self._relays = list(self._relays.values()), {}
        for relay in relays:
            with guard("the last rows of a cluster", on_error=self._failed):
                relay.call(relay.finish, _FINISHING + _FINAL_EVENTS)


def _holds(held: list[tuple[Attach, Client]], client: Client) -> bool:
    return any(each is client for _, each in held)


class Relay:
    """Pulls from one scheduler through a client, on that client's event loop.

    Args:
        order: What the recorder was asked.
        client: Connected to that scheduler.
        forward: Takes the rows.
        event: Takes events about the scheduler.
        mask: Takes secret values that became known on the cluster.
    """

    def __init__(
        self,
        order: Attach,
        client: Client,
        forward: Forward,
        event: Event,
        mask: Callable[[tuple[str, ...]], None],
    ) -> None:
        self.client, self._order = client, order
        self._forward, self._event, self._mask = forward, event, mask
        self._interval = setting_seconds("capture.interval")
        self._acknowledged = self._masked = 0
        self._exits = UnreportedExits()
        self._ending = False
        self._closing = False  # the scheduler; nothing more can be had of it
        self._turn: asyncio.Lock | None = None
        self._pulling: asyncio.Task[None] | None = None

    def start(self, failed: Callable[[str, BaseException], None]) -> None:
        """Pull from now on; callable from any thread."""

        def begin() -> None:
            if not self._ending:
                self._pulling = asyncio.ensure_future(self._pull_on(failed))

        loop: Any = self.client.loop
        loop.add_callback(begin)

    def call(self, do: Callable[[], Any], timeout: float) -> None:
        """Run a method of this relay on the client's loop, from another thread, and wait."""
        loop = getattr(self.client.loop, "asyncio_loop", None)
        if loop is None or not loop.is_running():
            return
        with contextlib.suppress(RuntimeError):
            if asyncio.get_running_loop() is loop:
                raise OSError("its client runs on this event loop: use `async with`")
        asyncio.run_coroutine_threadsafe(do(), loop).result(timeout)

    async def pull_all(self) -> None:
        """Pull what the scheduler has now."""
        await self._pull_all(last=False)

    async def finish(self, *, leave: bool = True) -> None:
        """Pull the remaining rows, and remove everything of ours from the cluster.

        Args:
            leave: Unless another client of the recording remains connected.
        """
        self._ending = True
        if self._pulling is not None:
            self._pulling.cancel()
        if self.client.status == "closed":  # one that closes can still call
            return
        async with asyncio.timeout(_FINISHING):
            await report_state(self.client, self._order.address, self._event)
            if self._closing:
                return
            await self._pull_all(last=True)
            deadline = time.monotonic() + _FINAL_EVENTS
            while self._exits and time.monotonic() < deadline:
                await asyncio.sleep(_POLL_INTERVAL)
                await self._pull_all(last=False)
            if leave and await self._ask("alone", client=self.client.id):
                await self._ask("withdraw")
                await self._pull_all(last=False)
                await self._ask("leave")

    async def _pull_on(self, failed: Callable[[str, BaseException], None]) -> None:
        with guard("rows that only the driver can pull", on_error=failed):
            await report_state(self.client, self._order.address, self._event)
            failing: float | None = None
            while self.client.status != "closed":
                begun = time.time()
                try:
                    await self._pull_all(last=False)
                    failing = None
                except _FAILURES as error:
                    if self._closing:
                        return
                    failing = begun if failing is None else failing
                    if time.time() - failing >= _LOST_AFTER:
                        await self._lost(error, failing)
                        return
                await asyncio.sleep(self._interval)

    async def _lost(self, error: BaseException, since: float) -> None:
        address = self._order.address
        await report_state(self.client, address, self._event)
        why = str(error) or repr(error)
        facts = {"address": address, "error": why, "at": since}
        self._event("scheduler-lost", address, facts)

    async def _pull_all(self, *, last: bool) -> None:
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            while True:
                answer = await self._ask(
                    "pull", acknowledged=self._acknowledged, limit=_BATCH, last=last
                )
                last = False
                if not isinstance(answer, dict) or "seq" not in answer:
                    raise LookupError(f"no recorder plugin there: {answer!r}")
                if len(masked := answer.get("masked", ())) > self._masked:
                    self._mask(tuple(masked))
                    self._masked = len(masked)
                if answer["rows"] is None or answer["seq"] <= self._acknowledged:
                    return
                rows = Rows(
                    source=f"scheduler {self._order.address}",
                    seq=answer["seq"],
                    at=answer["at"],
                    rows=msgspec.msgpack.decode(answer["rows"]),
                    dropped=answer["dropped"],
                    buffer=answer["buffer"],
                )
                if not self._forward(rows):
                    return  # the scheduler keeps them until there is a recorder again
                self._exits.add_rows(rows.rows)
                self._acknowledged = rows.seq
                self._closing = self._closing or any(
                    kind == "scheduler-closing"
                    for _, kind, _, _ in event_rows(rows.rows)
                )

    async def _ask(self, what: str, **more: object) -> Any:
        call = getattr(self.client.scheduler, f"{self._order.tap}-{what}")
        async with asyncio.timeout(_ANSWERING):
            return await call(**more)


async def report_state(client: Client, address: str, event: Event) -> None:
    """Report the state of a gateway's cluster, as its gateway knows it (on the client's loop)."""
    found = gateway_cluster(getattr(client, "cluster", None))
    if found is None:
        return
    gateway, name = found
    facts: dict[str, object] = {"name": name}
    try:
        async with asyncio.timeout(_ASKING_GATEWAY):
            # The public method of a synchronous gateway waits for this very loop.
            report = await gateway._cluster_report(name)  # noqa: SLF001
        facts["state"] = report.status.name
    except Exception as error:  # noqa: BLE001 - of a library, and of what it asks
        facts["error"] = f"{type(error).__name__}: {error}"
    with guard("the state of a gateway's cluster"):
        event("gateway-cluster", address, facts)


def event_row(kind: str, subject: str, detail: dict[str, object]) -> list[object]:
    """Return the row of an event that happens now, or at the moment that its detail has."""
    at = detail.pop("at", None)
    moment = at if isinstance(at, float) else time.time()
    return [moment, kind, subject, json.dumps(detail)]
