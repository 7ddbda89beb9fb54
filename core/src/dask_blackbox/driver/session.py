"""`Recording`: the driver's side of one recording, from its start to its card.

It starts a recorder process and registers capture on the cluster.  It waits only for the
check of the store and, at the end, for the card, both within set limits.  Our own failures
become one log line and a fact on the card.  A run that cannot be recorded fails only with
`required=True`, and then before any work starts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from dask_blackbox.capture.driver.driver_environment import (
    cluster_facts,
    facts_of_cluster,
    scheduler_id,
)
from dask_blackbox.capture.masked_values import (
    follow_masked_values,
    unfollow_masked_values,
)
from dask_blackbox.capture.redaction import Redaction
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview, RunState
from dask_blackbox.dialect import dialect_of
from dask_blackbox.driver.driver_position import DriverPositionWatcher
from dask_blackbox.driver.github_summary import report_to_github
from dask_blackbox.driver.host_task import HostTask, host_task
from dask_blackbox.driver.in_thread import in_thread
from dask_blackbox.driver.own_clients import (
    EveryClient,
    forget_clients_of,
    joined_to,
)
from dask_blackbox.driver.own_code import DriverCodeReporter
from dask_blackbox.driver.recorder_options import classes_left_out, config_of
from dask_blackbox.driver.recorder_process import RecorderSupervisor
from dask_blackbox.driver.run_end import (
    end_of,
    error_of_kind,
    exit_call,
    is_stopped,
    log_run_end,
    unrecorded_card,
    warn_of,
)
from dask_blackbox.driver.status_line import StatusLine, status_line
from dask_blackbox.errors import (
    BlackboxError,
    ConfigurationError,
    RecorderError,
    StoreError,
)
from dask_blackbox.guard import guard, raised_by_signal_handler
from dask_blackbox.identity import Identity, identity_from_environment
from dask_blackbox.manifest import (
    ARGUMENTS,
    Completeness,
    Ending,
    Manifest,
    Stopped,
    StopReason,
    host_facts,
    own_version,
    since_boot,
)
from dask_blackbox.protocol.messages import (
    LEFT,
    Config,
    End,
    HostLineage,
    Progress,
)
from dask_blackbox.settings import setting, setting_seconds
from dask_blackbox.store import StoreChoice

if TYPE_CHECKING:
    # Only describes arguments.
    from distributed import Client


logger = logging.getLogger("dask_blackbox")

_DRAINING = 5.0
_OF_A_PART = (
    "title", "cause", "remedy", "rule", "confidence", "retry_advice", "retry_confidence",
)  # fmt: skip
"""What the verdict on a part says to the run that it ends."""

"""URL and settings of a store; None: as in Dask's configuration."""


class Recording:
    """One recording, seen from the driver.  Made by `recording`.

    Attributes:
        card: The run's card: its state is `running` at first, and final after `finish`.
        links: URLs by name (`report`, `performance_report`, `recording`), known once the
            store is; they open in a browser where the store can do that.
        overview: What a host's page shows beside the card, after `finish`, where wanted.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        manifest: Manifest,
        store: StoreChoice,
        parameters: Mapping[str, object] | None,
        function: Callable[..., object] | None,
        required: bool,
        command: Sequence[str] | None,
        secrets: Mapping[str, object] | None = None,
        host_environment: Mapping[str, str] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        overview: bool = False,
        host_task: HostTask | None = None,
        every_client: bool = False,
    ) -> None:
        self._client, self._manifest, self._required = client, manifest, required
        self._store = store
        self._parameters, self._function = parameters, function
        self._command = command
        self._secrets, self._host_environment = secrets, host_environment
        self._on_progress = on_progress
        self.overview: Overview | None = None
        self._wants_overview = overview
        self._host_task = host_task
        self._every_client = EveryClient(self) if every_client else None
        self._supervisor: RecorderSupervisor | None = None
        self._status: StatusLine | None = None
        self._driver: Any = None
        self._calls: Any = None
        self._stopped: Stopped | None = None
        self._code: DriverCodeReporter | None = None
        self._position: DriverPositionWatcher | None = None
        self.driver_thread = threading.get_ident()
        """The thread in which the user's code runs; set it before `start`."""
        self.place: Callable[[], StoreChoice] | None = None
        """What tells the store, where a host has to look them up; set it
        before `start`, which handles its errors as it does a store's."""
        self.host_lineage: HostLineage | None = None
        """The run of the host's own that OpenLineage has; set it before `start`."""
        self.logs_why = True
        """Log why the run is not recorded; not where the host says so in a log of its own."""
        self._reason: str | None = None
        self._refused = ""
        self._exit_code: int | None = None
        self._left = self._store_checked = False
        self._finished: RunCard | None = None
        self._finishing = threading.RLock()
        self._over = threading.Event()
        self._owner = os.getpid()
        self.links: dict[str, str] = {}
        self.attached = False
        """Whether the cluster of any client is recorded."""
        self.control: str | None = None
        """Path of the socket on which the recorder listens for other processes."""

    # The life of a recording

    def start(self, *, wait: bool = True, forks: bool = False) -> None:
        """Start the recorder, attach the client, and wait until the store has answered.

        Takes `blackbox.start-timeout` at most.

        Args:
            wait: Wait for the store now; else `wait_for_store` does, unless the recording
                is required.
            forks: The recorder may be a fork of this process, as nothing of the user's is
                in it.

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
        self._begin(forks=forks)
        self._record_every_client()
        if self._every_client is not None:
            with guard("the Dask clients of this process"):
                self._every_client.attach_connected()
        if self._client is not None:
            self.attach(self._client)
        if wait or self._required:
            self.wait_for_store()

    def attach(
        self, client: Client, *, everything: bool = False, owned: bool = False
    ) -> None:
        """Record the cluster of another client as well.

        Args:
            client: A connected, synchronous `distributed.Client`.
            everything: Record the tasks of all clients of that cluster, not only those
                of this one and of the tasks that it submits.
            owned: The cluster belongs to this process: if the process is killed, the
                recorder closes what is left of it.
        """
        supervisor = self._supervisor
        if supervisor is None:
            return
        if joined_to(client) is self and not (owned or everything):
            return  # attached already, when it connected
        if self._calls is not None:
            with guard("the driver's calls to Dask"):
                self._calls.start()
        attach = partial(self._attach_now, client, everything=everything, owned=owned)
        failed = partial(self._attaching_failed, supervisor, client, attach)
        with guard("the plugins on the cluster", on_error=failed):
            attach()

    def _attach_now(self, client: Client, *, everything: bool, owned: bool) -> None:
        from dask_blackbox.driver.plugin_registration import install_now

        supervisor = self._supervisor
        if supervisor is None:
            return
        recording = self._manifest.recording
        order = install_now(client, recording, everything=everything)
        facts = cluster_facts(client)
        if owned:
            named = scheduler_id(client)
            order = msgspec.structs.replace(order, owned=named)
            facts |= {"scheduler": order.seen_as or order.address, "owned": named}
        supervisor.attach(order, client, facts)
        self.attached = True

    def _attaching_failed(
        self,
        supervisor: RecorderSupervisor,
        client: Client,
        attach: Callable[[], object],
        doing: str,
        error: Exception,
    ) -> None:
        """Report it, and try again later if the cluster was only too slow."""
        supervisor.failed(doing, error)
        if isinstance(error, TimeoutError):
            from dask_blackbox.driver.plugin_registration import attach_later

            attach_later(client, attach, self._over.wait)

    def own(self, cluster: Any) -> None:
        """Let the recorder close a cluster if this process is killed before it does.

        `attach` with `owned` does this for a client's cluster; this method is for the time before a
        client has connected.

        Args:
            cluster: The cluster that was just started and that this process will close.
        """
        from dask_blackbox.driver.plugin_registration import owned_scheduler

        if self._supervisor is None:
            return
        with guard("the cluster that was started"):
            order = owned_scheduler(cluster)
            if order is not None:
                where = {"scheduler": order.address, "owned": order.scheduler}
                self._supervisor.attach(order, None, facts_of_cluster(cluster) | where)

    async def attach_on_loop(self, client: Client, *, everything: bool = False) -> None:
        """As `attach`, for a client on whose own event loop this runs.

        Args:
            client: A connected `distributed.Client`.
            everything: Record the tasks of all clients of that cluster.
        """
        supervisor = self._supervisor
        if supervisor is None or not self.recorded_now:
            return

        import asyncio

        loop = asyncio.get_running_loop()

        def attach_again() -> None:
            asyncio.run_coroutine_threadsafe(attach(), loop).result()

        attach = partial(self._attach_on_loop_now, client, everything=everything)
        failed = partial(self._attaching_failed, supervisor, client, attach_again)
        with guard("the plugins on the cluster", on_error=failed):
            await attach()

    async def _attach_on_loop_now(self, client: Client, *, everything: bool) -> None:
        from dask_blackbox.driver.plugin_registration import install

        supervisor = self._supervisor
        if supervisor is None or not self.recorded_now:
            return
        recording = self._manifest.recording
        order = await install(client, recording, everything=everything)
        facts = cluster_facts(client)
        supervisor.attach(order, client, facts)
        self.attached = True

    def drain(self, address: str) -> None:
        """Let the recorder pull the remaining rows of a scheduler before it closes."""
        if self._supervisor is not None and self.recorded_now:
            self._supervisor.drain(address, _DRAINING)

    async def client_closing(self, client: Client, *, fast: bool = False) -> None:
        """Let the remaining rows be pulled before a client closes, on its event loop.

        Args:
            fast: Only if they may have to be pulled through this client.
        """
        supervisor = self._supervisor
        if supervisor is None or not self.recorded_now or client.scheduler is None:
            return
        relays = supervisor.relays
        addresses = relays.addresses_of(client) or [str(client.scheduler.address)]
        if not (fast and relays.is_reachable(client)):
            for address in addresses:
                await in_thread(partial(self.drain, address))
        await relays.client_closing(client)

    def attach_address(self, address: str, security: object) -> None:
        """Record all clients of the cluster at an address, without being a client itself.

        Args:
            address: Of the scheduler.
            security: A `distributed.Security`.
        """
        import asyncio

        from dask_blackbox.driver.plugin_registration import install_at

        if self._supervisor is None:
            return
        with guard("the plugins on the cluster", on_error=self._supervisor.failed):
            recording = self._manifest.recording
            order = asyncio.run(install_at(address, security, recording))
            self._supervisor.attach(order, "")
            self.attached = True

    def task_failed(
        self,
        key: str,
        prefix: str,
        exception: BaseException,
        *,
        at: float | None = None,
        limit: float | None = None,
        setting: str = "",
        retries: int = 0,
    ) -> None:
        """Report a failure that Dask treats as a result: frameworks return states instead of raising.

        Args:
            key: Of the task.
            prefix: What tasks of its kind are called.
            exception: What the task's function raised.
            at: When, epoch seconds; None: now.
            limit: Seconds that the task was allowed to take, where the host ended it at
                that limit.
            setting: The host's name of that limit (`timeout_seconds`).
            retries: How often the host had tried it again, within one execution by Dask.
        """
        if self._supervisor is None:
            return
        with guard("a task's exception"):
            from dask_blackbox.capture.driver.driver import (
                describe_exception,
            )

            fields = describe_exception(exception)
            what = [fields["exception"], fields["message"], fields["traceback"]]
            now = time.time()
            moment = now if at is None else min(at, now)
            row = [moment, key, prefix, None, "erred", *what, None]
            self._supervisor.row("error", [*row, ", ".join(fields["bases"])])
            if retries:
                self._task_event("task-retries", key, {"retries": retries})
            if limit is not None:
                over = {"limit": limit, "setting": setting}
                self._task_event("task-timed-out", key, over)

    @property
    def data(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The paths and URLs that this process's graphs have read and written so far.

        As Dask's own calls were given them; none where `arguments` are left out.
        """
        if self._calls is None or ARGUMENTS in classes_left_out():
            return (), ()
        found = self._calls.data
        return tuple(found.reads), tuple(found.writes)

    def finish(
        self,
        exception: BaseException | None = None,
        state: RunState | None = None,
        *,
        timeout: float | None = None,
    ) -> RunCard:
        """End the recording and return the card; further calls return the same card.

        Takes `blackbox.finish-timeout` at most.

        Args:
            exception: What ended the work, if something did.
            state: How it ended; None: `succeeded` without an exception, else `failed`
                (`aborted` for KeyboardInterrupt).
            timeout: Seconds to wait for the card, if a host grants fewer than
                `blackbox.finish-timeout`; what is left to do is left to the recorder.  If
                it does not know the card by then, the state of the card is `running`.
        """
        if os.getpid() != self._owner:  # a forked child does not report the end
            return self.card
        with self._finishing:  # a host's kill may come while the run ends by itself
            if self._finished is None:
                self._finished = self._finish(exception, state, timeout)
            return self._finished

    def _finish(
        self,
        exception: BaseException | None,
        state: RunState | None,
        timeout: float | None,
    ) -> RunCard:
        cards: list[RunCard] = []
        if self._host_task is not None:
            with guard("what the host knows of the end"):
                exception = self._host_task.ends(self, exception)
        if exception is not None and self._calls is not None:
            with guard("what the driver did to files"):
                from dask_blackbox.capture.driver.client_calls import note_causes

                note_causes(exception)
        if isinstance(exception, SystemExit) and self._supervisor is not None:
            with guard("the driver's call of sys.exit"):
                if exception.code or state == "failed":
                    stopped = is_stopped(exception, self._stopped)
                    call = exit_call(exception, stopped=stopped)
                    self._supervisor.event("driver-exit", call)
        with guard("the end of the recording"):
            end = end_of(exception, state, self._stopped)
            if self._left:
                end = msgspec.structs.replace(end, state=LEFT)
            if self._exit_code is not None:
                end = msgspec.structs.replace(end, exit_code=self._exit_code)
            cards.append(self._conclude(end, timeout))
        forget_clients_of(self)
        cards = cards or [self._unrecorded(None, "the end of the recording failed")]
        if self._host_task is not None:
            with guard("notifying the host of the run's end"):
                self._host_task.ended(cards[0])
        with guard("the summary for GitHub"):
            report_to_github(cards[0])
        return cards[0]

    def ending(self) -> None:
        """Let the recorder prepare for an end that is near, while the caller does other things."""
        if self._supervisor is not None and self.recorded_now:
            with guard("preparing for the end of the recording"):
                self._supervisor.ending()

    def wait_until_left(self) -> None:
        """Wait until the clusters may close, while `finish` runs in another thread.

        Takes `blackbox.finish-timeout` at most.
        """
        if self._supervisor is not None:
            self._supervisor.wait_until_left(self._finish_timeout)

    def stopped_by(
        self,
        by: str,
        reason: StopReason,
        *,
        detail: str = "",
        limit: float | None = None,
        setting: str = "",
        at: float | None = None,
    ) -> None:
        """Report that a host or a person has ended the run, and why; it does not finish the recording.

        Args:
            by: Who ended it: `airflow`, `prefect`, …
            reason: Why.
            detail: The host's own words.
            limit: Seconds that the run was allowed to take, where that is why.
            setting: The host's name of that limit (`execution_timeout`).
            at: When it did so, epoch seconds; None: now.
        """
        self._stopped = Stopped(
            by=by,
            reason=reason,
            detail=detail,
            limit=limit,
            setting=setting,
            at=time.time() if at is None else at,
        )
        if self._supervisor is not None:
            with guard("who stopped the run"):
                stop = msgspec.to_builtins(self._stopped)
                self._supervisor.event("host-stopped", stop, stop.pop("at"))

    def part_failed(self, what: str, name: str, card: RunCard, url: str = "") -> None:
        """Report that a separately recorded part of this run ends this run.

        Args:
            what: What the host calls such a part: `subflow`.
            name: Its name.
            card: Its card.
            url: Of its page.
        """
        verdict = card.verdict
        if self._supervisor is None or verdict is None:
            return
        with guard("the part that failed"):
            facts = {each: getattr(verdict, each) for each in _OF_A_PART}
            detail = {"what": what, "name": name, **facts, "url": url}
            self._supervisor.event("part-failed", detail)

    def task_named(
        self, key: str, name: str, *, identity: str = "", url: str = ""
    ) -> None:
        """Report the host's name of a task, which the card then uses.  Never blocks.

        Args:
            key: Of the task.
            name: What the host calls it.
            identity: Which of the host's tasks it is.
            url: Of its page.
        """
        named: dict[str, object] = {"name": name, "id": identity, "url": url}
        self._task_event("task-named", key, named)

    def _task_event(self, kind: str, key: str, detail: dict[str, object]) -> None:
        if self._supervisor is not None:
            row = [time.time(), kind, key, json.dumps(detail)]
            self._supervisor.row("event", row)

    def command_event(self, kind: str, detail: dict[str, object]) -> None:
        """Report the command that does the work: when it started, and which signals it received."""
        if self._supervisor is not None:
            with guard("what happened to the command"):
                self._supervisor.event(kind, detail)

    def command_lines(self, lines: Iterable[tuple[float, str]]) -> None:
        """Record lines that the command wrote: the first, the last, and those of failed threads.

        Args:
            lines: Each with the time at which it was written, epoch seconds.
        """
        if self._supervisor is None:
            return
        pid = os.getpid()
        written = [(at, text) for at, text in lines if text.strip()]
        for seq, (at, text) in enumerate(written):
            row = [at, "driver", "driver", pid, seq, "stderr", 20, text, None]
            self._supervisor.row("log", row)

    def finish_command(self, exit_code: int) -> RunCard:
        """End the recording of a command.

        Args:
            exit_code: Of its process; negative: minus the signal that ended it.
        """
        state: RunState = "failed" if exit_code else "succeeded"
        self._exit_code = exit_code
        return self.finish(state="aborted" if exit_code < 0 else state)

    def finish_attached(self) -> RunCard:
        """End the recording of a cluster that others use; its outcome is derived from its own events."""
        self._left = True
        return self.finish()

    @property
    def id(self) -> str:
        """The recording's own, unique id."""
        return self._manifest.recording

    @property
    def recorded_now(self) -> bool:
        """Whether this process records the run, and it has not ended.

        A forked child has the recorder's pipes, and locks as they were at the fork.
        """
        own = os.getpid() == self._owner
        return own and self._supervisor is not None and self._finished is None

    @property
    def identity(self) -> Identity:
        """Job, run and attempt; another attempt, if the intended one was taken."""
        run = self._manifest
        return Identity(
            job=run.job, run_id=run.run_id, attempt=run.attempt, host=run.host
        )

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

    def __repr__(self) -> str:
        card = self.card
        name = f"{card.job}/{card.run_id}/{card.attempt}"
        where = self.links.get("recording", "")
        return (
            f"<Recording {name} {card.state}: {card.headline}  {where}".rstrip() + ">"
        )

    def _repr_html_(self) -> str:
        return self.card.to_html()

    def _repr_markdown_(self) -> str:
        return self.card.to_markdown()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException as error:
            # A signal handler's, where it is not ours; the block does not begin.
            if self._supervisor is not None:
                log_run_end(self.finish(error))
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        log_run_end(self.finish(exception))

    async def __aenter__(self) -> Self:
        import asyncio

        await asyncio.to_thread(self._begin)
        self._record_every_client()
        if self._every_client is not None:
            with guard("the Dask clients of this process"):
                await self._every_client.attach_connected_on_loop()
        if self._client is not None:
            await self.attach_on_loop(self._client)
        await asyncio.to_thread(self.wait_for_store)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import asyncio

        log_run_end(await asyncio.to_thread(self.finish, exception))

    # Steps

    def _begin(self, *, forks: bool = False) -> None:
        if self._on_progress is None:
            with guard("the status line"):
                self._status = status_line()
            if self._status is not None:
                self._on_progress = self._status.show
        try:
            self._supervisor = RecorderSupervisor(
                self._configured(),
                self._on_progress or (lambda _progress: None),
                # A command is a process of its own, which nothing need hold up.
                waits=self._command is None,
                forks=forks,
            )
            # Values that are added from now on; earlier ones are in the configuration.
            follow_masked_values(self._supervisor.mask)
            self._listen_to_the_driver(self._supervisor)
        except Exception as error:  # noqa: BLE001 - the border to the user's run
            if (of_host := raised_by_signal_handler(error)) is not None:
                raise of_host from None
            self._cannot(error)

    def _configured(self) -> Config:
        store = self._store if self.place is None else self.place()
        if self._host_task is not None:
            store = self._host_task.place(store)
        settings = store.all_settings()
        if self._host_task is not None:
            with guard("notifying the host of the run's start"):
                self._host_task.begins(self, settings)
        self._start_timeout = setting_seconds("start-timeout")
        self._finish_timeout = setting_seconds("finish-timeout")
        warn_of(settings)
        config = config_of(
            self._manifest,
            settings,
            parameters=self._parameters,
            required=self._required,
            secrets=self._secrets,
            host_environment=self._host_environment,
            host_lineage=self.host_lineage,
            progress=self._on_progress is not None,
            overview=self._wants_overview,
        )
        self.control = config.socket
        return config

    def _listen_to_the_driver(self, supervisor: RecorderSupervisor) -> None:
        from dask_blackbox.capture.driver.driver import (
            DriverTap,
            describe_driver,
        )

        if self._command is not None:
            supervisor.event("driver-attached", {"argv": list(self._command)})
            return
        with guard("the driver's log lines"):
            self._driver = DriverTap(
                self._manifest.recording,
                supervisor.row,
                printed=bool(setting("capture.stdout")) and not self._is_in_host(),
                threads=True,
            )
            self._driver.start()
            facts = describe_driver(
                parameters=self._parameters, function=self._function
            )
            supervisor.event("driver-attached", facts)
        with guard("the driver's calls to Dask"):
            from dask_blackbox.capture.driver.client_calls import (
                DriverCalls,
            )

            self._calls = DriverCalls(supervisor.row)
            self._calls.start()
        with guard("the driver's own code"):
            self._code = DriverCodeReporter(
                lambda facts: supervisor.event("driver-code", facts),
                self._function,
                supervisor.failed,
            )
            self._code.start()
        with guard("where the driver is"):
            after = setting_seconds("stall.after")
            self._position = DriverPositionWatcher(
                self.driver_thread, after, supervisor.event
            )
            self._position.start()

    def _is_in_host(self) -> bool:
        """Return whether a host runs in this process: what is printed is in its own log."""
        return self._manifest.host_kind in sys.modules

    def _record_every_client(self) -> None:
        if self._every_client is not None and self._supervisor is not None:
            with guard("the Dask clients of this process"):
                self._every_client.begin()

    def wait_for_store(self) -> None:
        """Wait until it is known whether the store works, once; as long as `start` may take."""
        if self._supervisor is None or self._store_checked:
            return
        self._store_checked = True
        if self._required and self._client is not None and not self.attached:
            self._cannot(RecorderError("the client's cluster could not be recorded"))
        reply = self._supervisor.store_reply(self._start_timeout)
        if reply is not None:
            self.links = dict(reply.links)
            if reply.attempt:  # a run that is recorded once more gets the next one
                attempt = reply.attempt
                self._manifest = msgspec.structs.replace(
                    self._manifest, attempt=attempt
                )
        if reply is None and self._supervisor.gone:
            self._cannot(RecorderError("the recorder process exited at startup"))
        elif reply is None:
            logger.info("the store has not answered yet; the run continues")
        elif reply.error is not None:
            self._cannot(error_of_kind(reply.kind, reply.error))

    def _cannot(self, error: BaseException) -> None:
        self._refused, self._reason = str(error), str(error)
        with guard("the host's name of the setting"):
            dialect = dialect_of(self._manifest.host_kind)
            self._reason = dialect.with_own_settings(self._refused)
        if self._required:
            self._give_up()
            if isinstance(error, BlackboxError) and self._reason != self._refused:
                error.args = (self._reason,)
                self._refused = str(error)
            raise error
        if not self.logs_why:
            return
        again = "; it is retried until the run ends"
        hint = again if isinstance(error, StoreError) else ""
        logger.error("this run is not recorded: %s%s", self._reason, hint)

    def _stop_capture(self) -> None:
        self._over.set()
        if self._every_client is not None:
            with guard("the Dask clients of this process"):
                self._every_client.end()
        if self._status is not None:
            self._status.close()
        for each in (self._position, self._calls, self._driver):
            if each is not None:
                each.stop()

    def _give_up(self) -> None:
        with guard("the end of the recorder"):
            self._stop_capture()
            if self._supervisor is not None:
                unfollow_masked_values(self._supervisor.mask)
                self._supervisor.discard()
                self._supervisor = None

    def _conclude(self, end: End, timeout: float | None) -> RunCard:
        self._stop_capture()
        if self._code is not None:
            self._code.finish()
        if self._supervisor is None:
            return self._unrecorded(end, self._reason or "no recorder")
        self._supervisor.relays.finish()
        patience = self._finish_timeout if timeout is None else timeout
        reply = self._supervisor.conclude(end, patience, leave=timeout is not None)
        unfollow_masked_values(self._supervisor.mask)
        if reply is None:
            if timeout is not None and not self._supervisor.gone:
                return self.card
            return self._unrecorded(end, self._supervisor.reason or "no recorder")
        self._stop_listening()
        card = RunCard.from_json(bytes(reply.card))
        self.links, self.overview = card.links, reply.overview
        return card

    def _stop_listening(self) -> None:
        if self.attached:
            from dask_blackbox.driver.plugin_registration import stop_listening

            with guard("the clients of a recording that has ended"):
                stop_listening(self._manifest.recording)

    def _unrecorded(self, end: End | None, reason: str) -> RunCard:
        end = end or End(state="aborted")
        ending = Ending(
            state="succeeded" if end.state == LEFT else end.state,
            ended=time.time(),
            exit_code=end.exit_code,
            exception=end.exception,
            stopped=end.stopped,
        )
        spooled = self._supervisor is not None and self._supervisor.is_in_spool
        return unrecorded_card(
            self._manifest, ending, reason, spooled=spooled, refused=self._refused
        )


def _completeness(reason: str | None) -> Completeness:
    if reason is None:
        return {"recorded": True, "kept": "store", "complete": False}
    return {"recorded": False, "kept": "none", "complete": False, "reason": reason}


def recording(
    client: Client | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    job: str | None = None,
    run_id: str | None = None,
    attempt: int | None = None,
    host: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    callable: Callable[..., object] | None = None,  # noqa: A002 - the word in Dask's docs
    required: bool | None = None,
    store_settings: Mapping[str, object] | None = None,
    command: Sequence[str] | None = None,
    secrets: Mapping[str, object] | None = None,
    host_environment: Mapping[str, str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    overview: bool = False,
    every_client: bool | None = None,
) -> Recording:
    """Record a run: `with recording(client) as rec: …`, and `rec.card` afterwards.

    The context manager is synchronous and asynchronous; `start` and `finish` do the same.

    Args:
        client: A connected `Client`.  None: every client of this process (`every_client`).
        store: `s3://bucket/prefix` or a folder.  None: the setting `blackbox.store.url`, or
            the user's default folder.
        job: Job name; runs of one job are compared.  None: from the host, or the script's name.
        run_id: Run id within the job.  None: from the host's environment, or a new one.
        attempt: Attempt of that run, from 1; if it exists already, the next one is used.
        host: Facts about the system that started the run.  None: from the environment.
        parameters: Parameters of the run; redacted before they are recorded.
        callable: The function that does the work; its name and a hash are recorded.
        required: Raise if the run cannot be recorded.  None: the setting `blackbox.required`.
        store_settings: Override the settings under `blackbox.store`; same names.
        command: The command whose processes do the work; this process is not recorded.
        secrets: Configuration of the host; values under secret names are masked everywhere.
        host_environment: Environment variables with which the recorder can reach the host
            after the driver has died; never written.
        on_progress: Called every two seconds, in a thread; must not block.
        overview: Make the `overview` that the host's page shows.
        every_client: Record all clients of this process, present and future.  False: only
            those given here or to `attach`.  None: unless `client`, `host` or `command` is given.
    """
    found = identity_from_environment()
    if every_client is None:
        every_client = client is None and host is None and command is None
    return Recording(
        client,
        manifest=_manifest(found, job=job, run_id=run_id, attempt=attempt, host=host),
        store=StoreChoice(None if store is None else os.fspath(store), store_settings),
        parameters=parameters,
        function=callable,
        required=bool(setting("required")) if required is None else required,
        command=command,
        secrets=secrets,
        host_environment=host_environment,
        on_progress=on_progress,
        overview=overview,
        host_task=None if host is not None else host_task(str(found.host.get("kind"))),
        every_client=every_client,
    )


def _manifest(
    found: Identity,
    *,
    job: str | None,
    run_id: str | None,
    attempt: int | None,
    host: Mapping[str, object] | None,
) -> Manifest:
    """Return the manifest of a run that starts now."""
    named = run_id is not None or job is not None
    return Manifest(
        recording=f"{int(time.time()):x}-{uuid.uuid4().hex[:10]}",
        job=_without_secrets(job or found.job),
        run_id=_without_secrets(run_id or found.run_id),
        attempt=attempt or (1 if named else found.attempt),
        started=time.time(),
        since_boot=since_boot(),
        host=found.host if host is None else host_facts(host),
        machine=platform.node(),
        blackbox=own_version(),
    )


def _without_secrets(name: str) -> str:
    """Return the name of a job or run as it may be written; two names stay two."""
    clean = Redaction().text(name)
    if clean == name:
        return name
    return f"{clean}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
