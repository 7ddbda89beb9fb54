"""`Recording`: the driver's side of one recording, from its first order to its card.

It starts a recorder process, puts capture on the cluster, and waits only for word of the
store and, at the end, for the card, both within set limits.  Our own
failures become one log line and a fact on the card; only with `required=True` does a run
that cannot be recorded fail, and then before it costs anything.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from dask_blackbox.attach import RunCard, RunState
from dask_blackbox.capture.surroundings import cluster_facts
from dask_blackbox.errors import (
    ConfigurationError,
    RecorderError,
    StoreError,
)
from dask_blackbox.flight.configuring import config_of
from dask_blackbox.flight.ending import end_of, said_again
from dask_blackbox.flight.keeper import Keeper
from dask_blackbox.flight.own_code import OwnCode
from dask_blackbox.flight.relaying import Relay, must_relay
from dask_blackbox.flight.standing import Standing
from dask_blackbox.guard import guard
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.record.orders import LEFT, Config, End
from dask_blackbox.settings import setting_seconds
from dask_blackbox.store import store_settings as gathered_store_settings

__all__ = ["Recording"]

logger = logging.getLogger("dask_blackbox")


class Recording:
    """One recording, seen from the driver.  Made by `recording`.

    Attributes:
        card: The run's card: a `running` one at first, the final one after `finish`.
        links: URLs by name (`report`, `performance_report`, `recording`), known once the
            store is; they open in a browser where the store can do that.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        manifest: Manifest,
        store: str | os.PathLike[str] | None,
        store_settings: Mapping[str, Any] | None,
        parameters: Mapping[str, Any] | None,
        function: Callable[..., Any] | None,
        required: bool,
        command: Sequence[str] | None,
    ) -> None:
        self._client, self._manifest, self._required = client, manifest, required
        self._store = None if store is None else os.fspath(store)
        self._store_settings = store_settings
        self._parameters, self._function = parameters, function
        self._command = command
        self._keeper: Keeper | None = None
        self._driver: Any = None
        self._code: OwnCode | None = None
        self._standing: Standing | None = None
        self._thread = threading.get_ident()
        self._reason: str | None = None
        self._exit_code: int | None = None
        self._left = False
        self._finished: RunCard | None = None
        self._finishing = threading.RLock()
        self._owner = os.getpid()
        self._relays: list[Relay] = []
        self.links: dict[str, str] = {}
        self.attached = False
        """Whether the cluster of any client is recorded."""
        self.control: str | None = None
        """Path of the socket on which the recorder listens for other processes."""

    # The life of a recording

    def start(self) -> None:
        """Start the recorder, attach the client, and hear whether the store works.

        Takes `blackbox.start-timeout` at most.

        Raises:
            StoreError: the store does not work, and the recording is required.
            RecorderError: the recorder does not start, and the recording is required.
            ConfigurationError: a setting cannot work, and the recording is required; or
                an asynchronous client was given (use `async with`).
        """
        if self._client is not None and getattr(self._client, "asynchronous", False):
            raise ConfigurationError(
                "this client is asynchronous: use `async with recording(client)`"
            )
        self._begin()
        if self._client is not None:
            self.attach(self._client)
        self._hear_of_the_store()

    def attach(self, client: Any, *, everything: bool = False) -> None:
        """Record the cluster of another client as well.

        Args:
            client: A connected, synchronous `distributed.Client`.
            everything: Record the tasks of all clients of that cluster, not only those
                of this one and of the tasks that it submits.
        """
        from dask_blackbox.flight.joining import install_now

        if self._keeper is None:
            return
        with guard("the plugins on the cluster", tell=self._keeper.failed):
            recording = self._manifest.recording
            order = install_now(client, recording, everything=everything)
            facts = cluster_facts(client)
            if must_relay(order):
                self._relays.append(self._keeper.relay(order, client, facts))
            else:
                self._keeper.attach(order, client.id, facts)
            self.attached = True

    def attach_address(self, address: str, security: Any) -> None:
        """Record whoever uses the cluster at an address, without being its client.

        Args:
            address: Of the scheduler.
            security: A `distributed.Security`.
        """
        import asyncio

        from dask_blackbox.flight.joining import install_at

        if self._keeper is None:
            return
        with guard("the plugins on the cluster", tell=self._keeper.failed):
            recording = self._manifest.recording
            order = asyncio.run(install_at(address, security, recording))
            self._keeper.attach(order, "")
            self.attached = True

    def task_failed(self, key: str, prefix: str, exception: BaseException) -> None:
        """Note a failure that Dask takes for a result: frameworks return states, not raise.

        Args:
            key: Of the task.
            prefix: What tasks of its kind are called.
            exception: What the task's function raised.
        """
        if self._keeper is None:
            return
        with guard("a task's exception"):
            from dask_blackbox.capture.driver import describe_exception

            told = describe_exception(exception)
            what = [told["exception"], told["message"], told["traceback"]]
            self._keeper.row(
                "error", [time.time(), key, prefix, None, "erred", *what, None]
            )

    def finish(
        self, exception: BaseException | None = None, state: RunState | None = None
    ) -> RunCard:
        """End the recording and return the card; again, and it returns the same card.

        Takes `blackbox.finish-timeout` at most.

        Args:
            exception: What ended the work, if something did.
            state: How it ended; None: `succeeded` without an exception, else `failed`
                (`aborted` for KeyboardInterrupt).
        """
        if os.getpid() != self._owner:  # a forked child: the end is not its to tell
            return self.card
        with self._finishing:  # a host's kill may come while the run ends by itself
            if self._finished is None:
                self._finished = self._finish(exception, state)
            return self._finished

    def _finish(
        self, exception: BaseException | None, state: RunState | None
    ) -> RunCard:
        cards: list[RunCard] = []
        with guard("the end of the recording"):
            end = end_of(exception, state)
            if self._left:
                end = msgspec.structs.replace(end, state=LEFT)
            if self._exit_code is not None:
                end = msgspec.structs.replace(end, exit_code=self._exit_code)
            cards.append(self._conclude(end))
        cards = cards or [self._unrecorded(None, "the end of the recording failed")]
        return cards[0]

    def finish_command(self, exit_code: int) -> RunCard:
        """End the recording of a command.

        Args:
            exit_code: Of its process; negative: minus the signal that ended it.
        """
        state: RunState = "failed" if exit_code else "succeeded"
        self._exit_code = exit_code
        return self.finish(state="aborted" if exit_code < 0 else state)

    def finish_attached(self) -> RunCard:
        """End the recording of a cluster that others use: how it went, it knows itself."""
        self._left = True
        return self.finish()

    @property
    def id(self) -> str:
        """The recording's own id, unlike that of any other."""
        return self._manifest.recording

    @property
    def card(self) -> RunCard:
        """The run's card, as far as it is known."""
        if self._finished is not None:
            return self._finished
        manifest = self._manifest
        return RunCard(
            job=manifest.job,
            run_id=manifest.run_id,
            attempt=manifest.attempt,
            state="running",
            headline="being recorded" if self._reason is None else "not recorded",
            completeness=_completeness(self._reason),
            links=self.links,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish(exception)

    async def __aenter__(self) -> Self:
        import asyncio

        from dask_blackbox.flight.joining import install

        await asyncio.to_thread(self._begin)
        if self._client is not None and self._keeper is not None:
            with guard("the plugins on the cluster", tell=self._keeper.failed):
                order = await install(self._client, self._manifest.recording)
                self._keeper.attach(order, self._client.id, cluster_facts(self._client))
                self.attached = True
        await asyncio.to_thread(self._hear_of_the_store)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.finish, exception)

    # Steps

    def _begin(self) -> None:
        try:
            self._keeper = Keeper(self._configured())
            self._listen_to_the_driver(self._keeper)
        except Exception as error:  # noqa: BLE001 - the border to the user's run
            self._cannot(error)

    def _configured(self) -> Config:
        settings = gathered_store_settings(self._store, settings=self._store_settings)
        self._start_timeout = setting_seconds("start-timeout")
        self._finish_timeout = setting_seconds("finish-timeout")
        config = config_of(self._manifest, settings, required=self._required)
        self.control = config.socket
        return config

    def _listen_to_the_driver(self, keeper: Keeper) -> None:
        from dask_blackbox.capture.driver import DriverTap, describe_driver

        if self._command is not None:
            keeper.event("driver-attached", {"argv": list(self._command)})
            return
        with guard("the driver's log lines"):
            self._driver = DriverTap(self._manifest.recording, keeper.row)
            self._driver.start()
            facts = describe_driver(
                parameters=self._parameters, function=self._function
            )
            keeper.event("driver-attached", facts)
        with guard("the driver's own code"):
            self._code = OwnCode(
                lambda told: keeper.event("driver-code", told), self._function
            )
            self._code.start()
        with guard("where the driver stands"):
            after = setting_seconds("stall.after")
            self._standing = Standing(self._thread, after, keeper.event)
            self._standing.start()

    def _hear_of_the_store(self) -> None:
        if self._keeper is None:
            return
        if self._required and self._client is not None and not self.attached:
            self._cannot(RecorderError("the client's cluster could not be recorded"))
        told = self._keeper.of_the_store(self._start_timeout)
        if told is not None:
            self.links = dict(told.links)
        if told is None and self._keeper.gone:
            self._cannot(RecorderError("the recorder process ended at its start"))
        elif told is None:
            logger.info("the store has not answered yet; the run goes on")
        elif told.error is not None:
            self._cannot(said_again(told.kind, told.error))

    def _cannot(self, error: BaseException) -> None:
        self._reason = str(error)
        if self._required:
            self._give_up()
            raise error
        again = "; it is tried again until the run ends"
        hope = again if isinstance(error, StoreError) else ""
        logger.error("this run is not recorded: %s%s", error, hope)

    def _give_up(self) -> None:
        with guard("the end of the recorder"):
            if self._standing is not None:
                self._standing.stop()
            if self._driver is not None:
                self._driver.stop()
            if self._keeper is not None:
                self._keeper.give_up()
                self._keeper = None

    def _conclude(self, end: End) -> RunCard:
        if self._standing is not None:
            self._standing.stop()
        if self._driver is not None:
            self._driver.stop()
        if self._code is not None:
            self._code.finish()
        if self._keeper is None:
            return self._unrecorded(end, self._reason or "no recorder")
        for relay in self._relays:
            relay.finish()
        told = self._keeper.conclude(end, self._finish_timeout)
        if told is None:
            return self._unrecorded(end, self._keeper.reason or "no recorder")
        card = RunCard.from_json(bytes(told.card))
        self.links = card.links
        return card

    def _unrecorded(self, end: End | None, reason: str) -> RunCard:
        from dask_blackbox.flight.unrecorded import unrecorded_card

        end = end or End(state="aborted")
        ending = Ending(
            state="succeeded" if end.state == LEFT else end.state,
            ended=time.time(),
            exit_code=end.exit_code,
            exception=end.exception,
        )
        return unrecorded_card(self._manifest, ending, reason)


def _completeness(reason: str | None) -> dict[str, Any]:
    if reason is None:
        return {"recorded": True, "complete": False}
    return {"recorded": False, "complete": False, "reason": reason}
