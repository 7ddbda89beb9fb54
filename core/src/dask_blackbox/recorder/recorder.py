"""The recorder: one asyncio process that runs a whole recording.

No other process waits for it without a limit, and it waits for none without a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dask_blackbox.capture.nanny.worker_exit import ring_folder
from dask_blackbox.card import RunCard
from dask_blackbox.events import Rows as RowsByKind
from dask_blackbox.events import event_rows
from dask_blackbox.formatting import counted, signal_name
from dask_blackbox.guard import guard
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import SPOOL, Progress, SourceAccount, lasted
from dask_blackbox.protocol.exit_reports import UnreportedExits
from dask_blackbox.protocol.messages import (
    LEFT,
    LONGEST_LINE,
    REACHED,
    RELAY,
    Answer,
    Attach,
    Config,
    Drain,
    End,
    Left,
    Limits,
    Mask,
    MasksSent,
    OwnedScheduler,
    Reply,
    Rows,
    decode_order,
    end_row,
)
from dask_blackbox.recorder import late_imports as loading
from dask_blackbox.recorder.adopting import adopt
from dask_blackbox.recorder.earlier_recordings import (
    close_clusters_of,
    earlier_attempts,
    silent_runs,
    waiting_beside,
)
from dask_blackbox.recorder.finalise_fork import OwnThreads, work_in_fork
from dask_blackbox.recorder.host_finaliser import PAUSES, HostTasks, finalise_for_host
from dask_blackbox.recorder.host_load import HostWatch
from dask_blackbox.recorder.left_out import LeftOut
from dask_blackbox.recorder.named_data import DataOfRun
from dask_blackbox.recorder.opening import Opening, open_recording
from dask_blackbox.recorder.orphaned_clusters import (
    GatewayClusters,
    close_cluster,
    close_owned,
    orphan_row,
    stop_at_gateway,
    until_closed,
)
from dask_blackbox.recorder.parent_process import (
    CommandErrors,
    CommandProcesses,
    KernelKills,
    OtherProcess,
    ParentProcess,
)
from dask_blackbox.recorder.pauses import PauseWatch
from dask_blackbox.recorder.process_limits import limited, lower_priority, put_aside
from dask_blackbox.recorder.progress import (
    DriverUpdates,
    KeptProgress,
    ProgressCounter,
    keep_progress,
    kept_progress,
)
from dask_blackbox.recorder.redact import MaskConfirmations, Redactor
from dask_blackbox.recorder.run_ending import Outcome, RunEndResolver
from dask_blackbox.recorder.spool import Spool, quota_for
from dask_blackbox.recorder.spool_folder import (
    Claim,
    begin_attempt,
    end_attempt,
    note_beginning,
)
from dask_blackbox.recorder.task_bundles import TaskBundles
from dask_blackbox.recorder.units import UnitWatch
from dask_blackbox.recorder.unread_rings import last_lines
from dask_blackbox.recorder.uploading import Uploader

if TYPE_CHECKING:
    from dask_blackbox.recorder.pulling import Puller
    from dask_blackbox.store import Store


logger = logging.getLogger("dask_blackbox.recorder")

_LONGEST_CHECK = 0.5
"""CPU seconds in which one text has to be checked for secrets."""
_TICK = 0.2
_TICKS_PER_PROGRESS = 5
_TICKS_PER_TRIM, _FIRST_TRIM = 300, 50
_BEFORE_WARMING = 0.3
_LEAVING = 5.0
_FINAL_EVENTS = (
    4.0  # seconds to wait for exit reports: exit codes land after exceptions
)
_PROFILE_OF_STOPPED = 1.0
"""Seconds for the last profile of a run that its host stopped: its workers often die with it."""
_QUIET = 2.0
_ABANDONED_TIMEOUT = 30.0
_UPLOADING, _UPLOADING_IF_DOWN = 30.0, 2.0
_REMEMBERED = 1_000  # batches of a relayed scheduler
_STOPPING = 2.0
_ASKING_GIT = 1.0  # seconds more at the end
_CLOSE_TIMEOUT, _ATTACHING = 1.0, 20.0
_BUNDLES, _BUNDLES_DURING_RUN = 20.0, 3.0
_CLUSTER_CLOSING_SECONDS = 60.0
"""Seconds that a driver may take to close its cluster, or to be killed while it does."""
_SAME_END = 1.0
"""Seconds between the end of a scheduler and that of the process that it was in."""
_SEEN_CLOSED = 4.0
"""Seconds until a scheduler that ended is seen to be closed: connecting is tried for three."""
_ABNORMAL = frozenset(
    ("worker-removed", "worker-exit-report", "worker-restarted-for-memory", "graph-failed",
     "scheduler-lost", "scheduler-unresponsive", "scheduler-closing", "driver-exception",
     "driver-lost", "wrapper-lost", "stall")
)  # fmt: skip


class Recorder:
    """One recording, from its first order to its card.

    Args:
        config: What to record, and where to.
        parent: The pipes to the process that started us.
        alone: Whether this process makes no other recording.
    """

    def __init__(
        self, config: Config, parent: ParentProcess, *, alone: bool = False
    ) -> None:
        self._alone = alone
        self._threads: OwnThreads | None = None
        self._redactor = Redactor(
            config.redact, values=config.secrets, limit=_LONGEST_CHECK
        )
        self._left_out = LeftOut(config.leave_out)
        manifest = self._redactor.manifest(self._left_out.manifest(config.manifest))
        self._config = msgspec.structs.replace(config, manifest=manifest)
        self._parent = parent
        folder = Path(config.spool)
        self._spool = Spool(
            folder,
            manifest.recording,
            f"{os.getpid():x}",
            quota=quota_for(folder, config.spool_limit),
        )
        self._opening: Opening | None = None
        self._uploader: Uploader | None = None
        self._bundles = TaskBundles(
            Path(config.spool) / "bundles",
            most=config.bundles,
            limit=config.bundle_limit,
            take=self._take,
            opening=lambda: self._uploader.opening if self._uploader else None,
        )
        self._pullers: dict[str, Puller] = {}
        self._pulling: dict[str, asyncio.Task[None]] = {}
        self._drivers: dict[str, SourceAccount] = {}
        # Connections that wait until their rows are on disk, and up to which row.
        self._spooled: dict[Callable[[Reply], None], dict[str, int]] = {}
        self._exits = UnreportedExits()
        self._silent: set[str] = set()  # that had sent nothing for a while at the end
        self._last_row = time.monotonic()
        self._end: End | None = None
        self._kernel = KernelKills()
        # Of the command of `dask blackbox run`: itself, its processes that have made a
        # client, and those that have said that they exit.
        self._command: OtherProcess | None = None
        self._errors: CommandErrors | None = None
        self._client_owners: dict[int, OtherProcess] = {}
        self._exiting: set[int] = set()
        self._ended = asyncio.Event()
        self._masks = MaskConfirmations()
        self._command_processes = CommandProcesses(self._handle_order, self._masks)
        self._run_end = RunEndResolver(self._redactor.exception)
        kept = kept_progress(folder)
        self._progress = ProgressCounter(before=kept.progress)
        self._counted_before = kept.batches
        self._counted = dict(kept.batches)
        self._relayed = RelayedSchedulers()
        self._host_tasks = HostTasks()
        self._watches: tuple[PauseWatch, HostWatch] | None = None
        self._at_gateways = GatewayClusters()
        self._data = DataOfRun()
        self._units = (
            UnitWatch(self._take_own_event, manifest.host)
            if config.ask_managers
            else None
        )
        self._owned: dict[str, OwnedScheduler] = {}
        self._orphaned = self._wrapper_lost = False
        self._updates = (
            DriverUpdates(self._progress) if config.progress_interval else None
        )
        self._attaching: set[asyncio.Task[None]] = set()
        self._draining: set[asyncio.Task[None]] = set()
        self._code_folders: set[str] = set()
        self._asking_git: set[asyncio.Task[None]] = set()
        self._bringing: asyncio.Task[None] | None = None
        self._closing_earlier: asyncio.Task[None] | None = None
        self._reported: Reply | None = None  # with the final card
        self._preparing: asyncio.Task[object] | None = None

    async def run(self) -> None:
        """Record until the run has ended, or until no process is left that could report its end."""
        manifest = self._config.manifest
        self._threads = OwnThreads() if self._alone else None
        guests = await asyncio.start_unix_server(
            self._command_processes.serve, self._config.socket, limit=LONGEST_LINE
        )
        folder = Path(self._config.spool)
        # First: a folder with a run.json and no lock is taken by another recorder.
        self._claim = Claim(folder)
        note_beginning(folder, manifest, self._config.store_settings)
        if self._left_out:
            self._take_own_event(self._left_out.event(time.time()))
        try:
            async with guests:
                listening = asyncio.create_task(self._read_orders())
                await self._open_store()
                warming = asyncio.create_task(self._warm())
                ticking = asyncio.create_task(self._tick())
                reporting = (
                    asyncio.create_task(self._report(self._updates))
                    if self._updates is not None
                    else None
                )
                await self._ended.wait()
                preparing = self._prepare()
                yielding = asyncio.create_task(self._yield_when_alone())
                outcome = await self._shut_down()
                ticking.cancel()
                if self._updates is not None and reporting is not None:
                    reporting.cancel()
                    last = self._updates.report()
                    self._parent.send(Reply(what="progress", progress=last))
                listening.cancel()
                logger.info("all that came has been pulled")
                # What failed there will say so again where it matters.
                with contextlib.suppress(Exception):
                    await asyncio.gather(warming, preparing)
            await self._finalise(outcome)
            await self._stop_bringing()
            yielding.cancel()
            logger.info("done")
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._config.socket)  # noqa: PTH108 - asyncio has no better
            self._claim.release()
        await self._close_clusters_after_driver()

    # Beginning

    async def _open_store(self) -> None:
        config = self._config
        opening = await asyncio.to_thread(open_recording, config)
        self._opening, error = opening, opening.error
        if opening.store is not None:
            self._uploader = Uploader(
                opening,
                partial(open_recording, config),
                self._spool,
                self._progress.progress,
            )
            self._uploader.start()
        if error is None:
            self._bringing = asyncio.create_task(self._upload_waiting_recordings())
            if opening.address.attempt > 1:
                before = earlier_attempts(opening.address)
                assert opening.store is not None  # noqa: S101 - there is no error
                closing = self._close_clusters_of(opening.store, before)
                self._closing_earlier = asyncio.create_task(closing)
        self._parent.send(
            Reply(
                what="store",
                error=None if error is None else str(error),
                kind=None if error is None else type(error).__name__,
                links=opening.links,
                attempt=opening.address.attempt,
            )
        )

    async def _warm(self) -> None:
        """Load the modules that pull before there is a cluster, unless the run ends at once.

        A run that has ended by then has used no Dask, which takes longer to import.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _BEFORE_WARMING)
            return
        await asyncio.to_thread(loading.puller)

    async def _upload_waiting_recordings(self) -> None:
        """Upload and finish what earlier recordings could not; quietly, aside."""

        def silent_ones(store: Store, own: RunAddress) -> list[RunAddress]:
            return list(silent_runs(store, own))

        config, opening = self._config, self._opening
        assert opening is not None  # noqa: S101 - there is no error
        with contextlib.suppress(Exception):
            own, settings = Path(config.spool), config.store_settings
            if await asyncio.to_thread(waiting_beside, own, settings):
                await adopt(config)
            if opening.store is None:
                return
            store, address = opening.store, opening.address
            silent = await asyncio.to_thread(silent_ones, store, address)
            if silent:
                await self._close_clusters_of(store, silent, seconds=0.0)
                await adopt(config, silent)

    async def _yield_when_alone(self) -> None:
        """Let other processes go first once the driver has ended: nobody waits any more."""
        await self._parent.wait_until_exit()
        lower_priority()

    async def _stop_bringing(self) -> None:
        """End the process that finishes earlier recordings: this one has ended."""
        if self._bringing is not None:
            self._bringing.cancel()
            await asyncio.wait((self._bringing,), timeout=_STOPPING)

    async def _close_clusters_of(
        self, store: Store, runs: list[RunAddress], **seconds: float
    ) -> None:
        closing = close_clusters_of(store, runs, self._connection_args, **seconds)
        try:
            async for row in closing:
                if self._end is None:
                    self._take_own_event(row)
        except Exception:  # those of this run matter more
            logger.warning("clusters of earlier runs remain open", exc_info=True)

    def _connection_args(self) -> Mapping[str, object]:
        """Return what an earlier attempt's cluster is reached with: as this one's is."""
        own = next(iter(self._pullers.values()), None)
        args: dict[str, object] = (
            loading.security()().get_connection_args("client")
            if own is None
            else own.connection_args
        )
        return args

    # Orders

    async def _read_orders(self) -> None:
        answer = self._parent.send
        if self._parent.masks_values:
            self._masks.connected(answer)
        async for line in self._parent.lines():
            await self._handle_order(line, answer)
        self._masks.left(answer)
        if self._end is None and not self._wrapper_lost:
            await self._continue_without_parent()

    async def _handle_order(self, line: bytes, answer: Answer) -> None:
        try:
            order = decode_order(line)
        except msgspec.MsgspecError as error:
            logger.warning("unknown request: %s", error)
            return
        # Not found waits: what comes next may be the exception that ends the process.
        if isinstance(order, Attach):
            own = order.by_task or order.pid == self._parent.pid
            if not own and order.pid not in self._client_owners:
                self._client_owners[order.pid] = OtherProcess(order.pid)
            self._begin(self._attach(order, answer), self._attaching)
        elif isinstance(order, Rows):
            self._spooled.setdefault(answer, {})[order.source] = order.seq
            source = self._relayed.source_of(order)
            if source is not None:
                account = self._drivers.get(source, SourceAccount())
                self._drivers[source] = _counted(account, order)
                self._take(source, order.seq, order.at, order.rows, order.dropped)
        elif isinstance(order, Drain):
            self._begin(self._drain_on_request(order, answer), self._draining)
        elif isinstance(order, End):
            await self._handle_end(order, answer)
        else:
            self._note_order(order, answer)

    def _note_order(
        self, order: OwnedScheduler | Mask | MasksSent | Left, answer: Answer
    ) -> None:
        if isinstance(order, OwnedScheduler):
            self._owned[order.scheduler] = order
        elif isinstance(order, Mask):
            self._mask(order.values, answer)
        elif isinstance(order, MasksSent):
            self._masks.confirmed(answer, order.number)
        else:
            self._exiting.add(order.pid)

    async def _handle_end(self, end: End, answer: Answer) -> None:
        if self._end is not None or self._wrapper_lost:
            return
        self._masks.left(answer)
        if await self._owner_continues(end):
            return
        if rows := self._kernel.rows(end):
            self._take_own(rows)
        self._end = end
        self._ended.set()

    def _mask(self, values: tuple[str, ...], driver: Answer) -> None:
        self._redactor.mask(values)
        if not (values and self._masks.is_late(driver)):
            return
        failed = {
            "doing": "masking values before they are written",
            "error": (
                "a driver sent values to mask after it had not answered for a "
                "while: rows that were written in between may contain them"
            ),
        }
        self._report_event("capture-failed", "recorder", failed)

    def _begin(
        self, work: Coroutine[object, object, None], beside: set[asyncio.Task[None]]
    ) -> None:
        doing = asyncio.create_task(work)
        beside.add(doing)
        doing.add_done_callback(beside.discard)

    async def _drain_on_request(self, order: Drain, answer: Answer) -> None:
        address = order.address
        if self._attaching:
            await asyncio.wait(self._attaching)
        await self._drain(address, final=False)
        if (puller := self._pullers.get(address)) is not None:
            self._report_reach(puller, answer)
            if puller.may_relay and not puller.reached:
                # Else its last rows would go with the client that closes.
                self._relayed.errors[address] = "it did not answer the recorder"
                self._let_relay(address, answer)
            puller.hurry()
        self._begin(self._prepare_if_last(address), self._draining)
        await self._bundles.settle(_BUNDLES_DURING_RUN)
        if order.awaited:
            with contextlib.suppress(OSError):
                answer(Reply(what="drained"))

    async def _attach(self, order: Attach, answer: Answer) -> None:
        make = await asyncio.to_thread(loading.puller)
        if order.relays and order.address in self._relayed.errors:
            self._let_relay(order.address, answer)
            return
        if (there := self._pullers.get(order.address)) is not None:
            there.owned = there.owned or order.owned
            self._report_reach(there, answer)
            return
        puller = make(
            order,
            self._take,
            interval=self._config.interval,
            profile_interval=self._config.profile_interval,
            folder=Path(self._config.spool),
            mask=self._redactor.mask,
            masks_known=self._masks.wait,
        )
        self._pullers[order.address] = puller
        if order.relays:
            error = await puller.connection_error()
            if error is not None:
                self._relayed.errors[order.address] = error
                self._let_relay(order.address, answer)
                return
            self._report_reach(puller, answer)
        self._pulling[order.address] = asyncio.create_task(puller.run())

    def _report_reach(self, puller: Puller, answer: Answer) -> None:
        """Report to a driver that it need not relay the rows of a scheduler."""
        if puller.reached:
            with contextlib.suppress(OSError):
                answer(Reply(what=REACHED, address=puller.address))

    def _let_relay(self, address: str, answer: Answer) -> None:
        """Let the driver relay the rows of a scheduler to which only it can connect."""
        puller, pulling = self._pullers.pop(address, None), self._pulling.get(address)
        if puller is not None and pulling is not None:
            puller.stop()
        with contextlib.suppress(OSError):
            answer(Reply(what=RELAY, address=address))

    # Rows

    def _count(self, source: str, seq: int | None, rows: RowsByKind) -> None:
        """Count rows for the progress, unless the recorder before has counted them."""
        if seq is not None and source.startswith("scheduler "):
            if seq <= self._counted_before.get(source, -1):
                return
            self._counted_before.pop(source, None)
            self._counted[source] = seq
        self._progress.add(rows)

    def _take(
        self,
        source: str,
        seq: int | None,
        at: float,
        rows: RowsByKind,
        dropped: dict[str, int],
    ) -> None:
        self._run_end.add_rows(rows)
        self._count(source, seq, rows)
        self._host_tasks.add_rows(rows)
        self._at_gateways.add_rows(rows)
        if self._units is not None:
            self._units.add_rows(rows)
        self._exits.add_rows(rows)
        abnormal = bool(rows.get("error"))
        for _, kind, subject, detail in event_rows(rows):
            abnormal = abnormal or kind in _ABNORMAL
            if kind == "worker-unresponsive":
                self._silent.add(subject)
            else:
                self._note_driver(kind, detail)
        if self._left_out:
            rows = {
                kind: self._left_out.rows(kind, each) for kind, each in rows.items()
            }
        clean = {kind: self._redactor.rows(kind, each) for kind, each in rows.items()}
        self._data.add_rows(clean)
        self._spool.append(source, seq, at, clean, dropped=dropped, abnormal=abnormal)
        if self._updates is not None:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                self._updates.add_rows(clean)
        if source in self._relayed.sources:
            self._bundles.note_unreachable(rows)
        else:
            puller = self._pullers.get(source.removeprefix("scheduler "))
            self._bundles.look_at(puller, rows)
        if any(kind != "metric" for kind in rows):
            self._last_row = time.monotonic()

    def _note_driver(self, kind: str, detail: str) -> None:
        """Note what an event says of the driver, or of the command that is it."""
        if kind == "driver-attached":
            self._look_up_code(detail)
        elif kind == "command-started":
            self._command = OtherProcess(json.loads(detail)["pid"])
            self._errors = CommandErrors(self._parent.pid, self._command.pid)
        elif kind == "host-stopped":
            self._prepare()  # its host waits for seconds

    def _take_own(self, rows: RowsByKind) -> None:
        """Take rows that this process reports itself."""
        self._take("recorder", None, time.time(), rows, {})

    def _take_own_event(self, row: list[object]) -> None:
        self._take_own({"event": [row]})

    def _report_event(
        self, kind: str, subject: str, detail: Mapping[str, object]
    ) -> None:
        row = [time.time(), kind, subject, json.dumps(detail)]
        self._take_own_event(row)

    def _look_up_code(self, detail: str) -> None:
        """Find the version of the driver's code, once for each folder."""
        folder = json.loads(detail).get("code_folder")
        if folder and folder not in self._code_folders:
            self._code_folders.add(folder)
            self._begin(self._report_code(folder), self._asking_git)

    async def _report_code(self, folder: str) -> None:
        found = await asyncio.to_thread(version_of_code, folder)
        self._report_event("driver-code", "driver", found)

    async def _settle_code(self) -> None:
        if self._asking_git:
            await asyncio.wait(self._asking_git, timeout=_ASKING_GIT)
        for asking in self._asking_git:
            asking.cancel()

    async def _settle_units(self) -> None:
        if self._units is not None:
            await self._units.finish()

    async def _tick(self) -> None:
        kept = Progress()
        pauses = PauseWatch(self._ring_folder_of_host())
        host = await asyncio.to_thread(HostWatch, self._driver_processes())
        self._watches = (pauses, host)
        for tick in itertools.count():
            await asyncio.sleep(_TICK)
            self._spool.close_if_due()
            self._acknowledge()
            if self._units is not None and self._end is None:
                self._units.look()
            for row in pauses.look(self._driver_processes()):
                self._take_own_event(list(row))
            if tick % _TICKS_PER_PROGRESS == 0:
                await self._look_at_host()
                now = self._progress.progress()
                if now != kept:
                    kept_now = KeptProgress(progress=now, batches=self._counted)
                    keep_progress(Path(self._config.spool), kept_now)
                    kept = now
            if tick % _TICKS_PER_TRIM == _FIRST_TRIM:
                await asyncio.to_thread(loading.return_freed_memory)

    def _driver_processes(self) -> dict[int, str]:
        return dict.fromkeys((self._parent.pid, *self._client_owners), "driver")

    def _acknowledge(self) -> None:
        """Report to those who sent rows up to which they are on the disk."""
        waiting, self._spooled = self._spooled, {}
        for answer, spooled in waiting.items():
            with contextlib.suppress(OSError):
                answer(Reply(what="spooled", spooled=spooled))

    async def _report(self, updates: DriverUpdates) -> None:
        while True:
            await asyncio.sleep(self._config.progress_interval)
            self._parent.send(Reply(what="progress", progress=updates.report()))

    # The end

    def _prepare(self) -> asyncio.Task[object]:
        """Load the modules for the card, as soon as the end is near, because the driver waits for it."""
        if self._preparing is None:
            loading_them = asyncio.to_thread(loading.finaliser)
            self._preparing = asyncio.create_task(loading_them)
        return self._preparing

    async def _prepare_if_last(self, closing: str) -> None:
        """Prepare for the end if no cluster is left but one that is about to close.

        With the modules for the pages: nobody waits for a card yet.
        """
        if self._preparing is not None:
            return
        for address, puller in self._pullers.items():
            if address != closing and not puller.closing and puller.gone is None:
                return
        await self._prepare()
        so_far = lasted(self._config.manifest) or 0.0
        long = so_far >= self._config.performance_report
        load = partial(
            loading.pages,
            performance=long,
            tasks=bool(self._pullers or self._relayed.errors),
        )
        await asyncio.to_thread(load)

    async def _continue_without_parent(self) -> None:
        """The parent is gone without a message: record what still happens, then end."""
        code = await self._parent.exit_code()
        facts = {"pid": self._config.parent, "how": self._parent.exit_text}
        facts |= self._kernel.fields() | {"exit_code": code}
        if (living := self._living_processes()) and self._end is None:
            facts["command"] = living[0].pid
            self._report_event("wrapper-lost", "driver", facts)
            self._wrapper_lost = True
            await self._continue_without_wrapper()
            return
        self._report_event("driver-lost", "driver", facts)
        await self._abandoned(code)

    def _living_processes(self) -> list[OtherProcess]:
        """Return the processes of a command that do its work, and whose end can be seen."""
        known = [*filter(None, (self._command,)), *self._client_owners.values()]
        return [each for each in known if each.can_be_watched and each.is_alive()]

    async def _owner_continues(self, end: End) -> bool:
        """Return whether a signal ended only the command, and not its process with the client.

        That is one that the command had started, such as the program of `timeout 1h …`.
        Then the driver gets a card of what is known, and the run is recorded to its end.
        """
        command, owners = self._command, self._client_owners
        if (end.exit_code or 0) >= 0 or command is None or command.pid in owners:
            return False
        if not (living := [each for each in owners.values() if each.is_alive()]):
            return False
        owner, code = living[0].pid, end.exit_code
        facts = {"pid": command.pid, "how": "the command ended", "exit_code": code}
        self._report_event("wrapper-lost", "driver", facts | {"command": owner})
        name = signal_name(code)
        run, links = self._config.manifest, {"spool": self._config.spool}
        card = RunCard(
            job=run.job,
            run_id=run.run_id,
            attempt=run.attempt,
            state="running",
            headline=(
                f"{name} ended the command, but process {owner}, which has the Dask "
                "client, continues and is recorded"
            ),
            completeness={"recorded": True, "kept": "store", "complete": False},
            links=self._opening.links if self._opening is not None else links,
        )
        raw = msgspec.Raw(msgspec.json.encode(card))
        self._parent.send(Reply(what="final", card=raw))
        self._wrapper_lost = True
        self._begin(self._continue_without_wrapper(), self._draining)
        return True

    async def _continue_without_wrapper(self) -> None:
        """Record the command, of which `dask blackbox run` reports nothing any more, to its end."""
        if self._errors is not None:
            self._errors.discard()
        command = self._living_processes()[0]  # the command itself, if it lives
        while living := self._living_processes():
            await living[0].wait_until_exit()
        await self._command_processes.wait_until_closed(_CLOSE_TIMEOUT)
        code = await command.exit_code()
        if (code is None and command.pid not in self._exiting) or (code or 0) < 0:
            facts = {"pid": command.pid, "how": "its process is gone"}
            facts |= self._kernel.fields() | {"exit_code": code}
            self._report_event("driver-lost", "driver", facts)
            await self._abandoned(code)
            return
        state = LEFT if code is None else "failed" if code else "succeeded"
        self._end = End(state=state, exit_code=code)
        self._ended.set()

    async def _abandoned(self, code: int | None) -> None:
        """Record what still happens on the clusters of a driver that is gone, then end."""
        deadline = time.monotonic() + _ABANDONED_TIMEOUT
        while time.monotonic() < deadline:
            quiet = time.monotonic() - self._last_row > _QUIET
            if quiet or all(p.gone is not None for p in self._pullers.values()):
                break
            await asyncio.sleep(_TICK)
        if self._end is None:
            self._orphaned = True
            self._end = End(state="aborted", exit_code=code)
        self._ended.set()

    async def _drain(self, address: str, *, final: bool) -> None:
        """Pull what a scheduler still has, and wait a moment for exit reports."""
        puller = self._pullers.get(address)
        if puller is None:
            return
        deadline = time.monotonic() + _FINAL_EVENTS
        if final:
            await self._profile_at_last(puller)
        first = True
        while puller.gone is None:
            try:
                await puller.drain(last=first)
                first = False
            except (OSError, TimeoutError, LookupError) as error:
                logger.info("last pull from %s: %s", puller.address, error)
                if puller.may_answer(error) and time.monotonic() < deadline:
                    await asyncio.sleep(_TICK)
                    continue
                # While it is pulled from, that finds out whether it is lost.
                if final:
                    puller.missed(error)
                break
            if not self._exits or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)

    async def _profile_at_last(self, puller: Puller) -> None:
        """Request the last profile, and pull meanwhile: no scheduler that closes waits so long."""
        stopped = self._end is not None and self._end.stopped is not None
        profiling = asyncio.create_task(puller.profile())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PROFILE_OF_STOPPED if stopped else None):
                await self._pull_until(profiling, puller)
                await profiling
        profiling.cancel()
        await asyncio.wait([profiling])

    async def _pull_until(self, done: asyncio.Task[None], puller: Puller) -> None:
        with contextlib.suppress(OSError, TimeoutError, LookupError):
            while not done.done():
                await puller.drain(last=False)
                await asyncio.wait([done], timeout=_TICK)

    async def _shut_down(self) -> Outcome:
        await self._command_processes.wait_until_closed(_CLOSE_TIMEOUT)
        if self._attaching:
            await asyncio.wait(self._attaching, timeout=_ATTACHING)
        for puller in self._pullers.values():
            puller.stop()
        if self._pulling:
            await asyncio.wait(self._pulling.values(), timeout=_STOPPING)
        for pulling in self._pulling.values():
            pulling.cancel()
        await asyncio.gather(*self._pulling.values(), return_exceptions=True)
        for address in self._pullers:
            await self._drain(address, final=True)
        await asyncio.gather(
            self._bundles.settle(_BUNDLES), self._settle_code(), self._settle_units()
        )
        self._report_pauses()
        await self._look_at_host(last=True)
        self._report_exits_from_rings()
        for puller in self._pullers.values():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVING):
                    await puller.leave()
        self._parent.send(Reply(what="left"))
        if self._orphaned:
            await self._close_orphans()
        assert self._end is not None  # noqa: S101
        end = self._end
        if end.exception is not None:
            # Only now: the last pulls may have brought values to mask.
            clean = self._redactor.exception(end.exception)
            end = msgspec.structs.replace(end, exception=clean)
        end = msgspec.structs.replace(end, lasted=lasted(self._config.manifest))
        end = self._run_end.resolve(end)
        if end.exception is not None:
            clean = self._left_out.exception(end.exception)
            end = msgspec.structs.replace(end, exception=clean)
        self._take_own_event(end_row(end))
        self._report_unchecked()
        sources = {p.source: p.account for p in self._pullers.values()}
        sources |= self._relayed.accounts() | self._drivers
        return Outcome(end=end, ended=time.time(), sources=sources)

    def _report_unchecked(self) -> None:
        """Report the texts that were left out: checking them for secrets took too long."""
        if count := self._redactor.left_out:
            texts = counted(count, "text was", "texts were")
            error = f"{texts} left out, because it took too long"
            fields = {"doing": "checking texts for secrets", "error": error}
            self._report_event("capture-failed", "recorder", fields)

    async def _look_at_host(self, *, last: bool = False) -> None:
        """Report that this host is overloaded, if it is."""
        if self._watches is None:
            return
        drivers = tuple(self._driver_processes())
        row = await asyncio.to_thread(self._watches[1].look, drivers, last=last)
        if row is not None:
            self._take_own_event(list(row))

    def _report_pauses(self) -> None:
        """Report the processes that are stopped at the end."""
        for row in self._watches[0].still_stopped() if self._watches else ():
            self._take_own_event(list(row))

    async def _close_orphans(self) -> None:
        """Close the clusters that the driver had started: no other process is left to do it."""
        for puller in self._pullers.values():
            if not puller.owned:
                continue
            error = await close_cluster(
                puller.addresses, puller.owned, puller.connection_args
            )
            if error is None:
                continue  # it ended with its driver
            self._take_own_event(orphan_row(puller.address, puller.owned, error))
        attached = {puller.owned for puller in self._pullers.values()}
        for each in self._owned.values():
            if each.scheduler not in attached:
                error = await close_owned(each)
                if error is not None:
                    row = orphan_row(each.address, each.scheduler, error)
                    self._take_own_event(row)
        for cluster in self._at_gateways.clusters.values():
            error = await stop_at_gateway(cluster.gateway, cluster.address)
            if error is not None:
                row = orphan_row(cluster.address, cluster.scheduler, error)
                self._take_own_event(row)

    async def _close_clusters_after_driver(self) -> None:
        """Close what the driver, which has said its end, leaves when it is killed then."""
        if self._closing_earlier is not None:
            await self._closing_earlier
        owned = [p for p in self._pullers.values() if p.owned]
        if self._orphaned or not owned:
            return
        gone = asyncio.create_task(self._parent.wait_until_exit())
        closed = asyncio.gather(
            *(until_closed(p.addresses, p.owned, p.connection_args) for p in owned),
            return_exceptions=True,
        )
        await asyncio.wait(
            (gone, closed),
            timeout=_CLUSTER_CLOSING_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        # A scheduler in the driver's own process ends with it; either is seen first.
        await asyncio.wait((gone,), timeout=_SAME_END)
        if gone.done():
            await asyncio.wait((closed,), timeout=_SEEN_CLOSED)
            left_open = not closed.done()
            if left_open or await self._owner_was_killed():
                await self._finalise_for_host()
            if left_open:
                await self._close_left_open(owned)
        gone.cancel()
        closed.cancel()

    async def _close_left_open(self, owned: list[Puller]) -> None:
        for puller in owned:
            error = await close_cluster(
                puller.addresses, puller.owned, puller.connection_args
            )
            if error is not None:
                logger.info("closed %s: %s", puller.address, error or "done")

    def _lost_scheduler(self) -> bool:
        return any(puller.gone for puller in self._pullers.values())

    def _ring_folder_of_host(self) -> str | None:
        """Return where this host's workers have their rings, to see who they are."""
        return ring_folder(self._config.manifest.recording)

    def _ring_folder(self) -> str | None:
        """Return where this host's workers have their rings, if they may be read."""
        return ring_folder(self._config.manifest.recording)

    def _report_exits_from_rings(self) -> None:
        """Report those of this host whose nanny did not (or who had none)."""
        folder = self._ring_folder()
        if folder is None:
            return
        all_dead = not (self._pullers or self._relayed.errors)
        unread = self._silent - self._exits.unreported
        lines = last_lines(
            folder,
            self._exits.unreported,
            silent=unread,
            all_dead=all_dead,
            cut_off=self._lost_scheduler(),
        )
        for rows in lines:
            self._take_own(rows)

    async def _finalise(self, outcome: Outcome) -> None:
        self._spool.close_if_due(now=True)
        opening = self._opening
        assert opening is not None  # noqa: S101 - opened before it can end
        uploader, spool = self._uploader, self._spool
        if uploader is not None:
            # A store that has been down all along is not worth the driver's time.
            timeout = _UPLOADING_IF_DOWN if uploader.down else _UPLOADING
            await asyncio.to_thread(uploader.finish, timeout)
            opening = uploader.opening
            outcome = replace(
                outcome,
                uploaded=dict(uploader.uploaded),
                behind=uploader.behind,
                store_error=uploader.error,
            )
        if spool.waiting():
            await asyncio.to_thread(spool.settle)
        account = spool.account
        outcome = replace(
            outcome,
            segments={name: partial(spool.read, name) for name in spool.here()},
            sources=outcome.sources | ({} if account is None else {SPOOL: account}),
        )
        reported: list[Reply] = []

        def send(reply: Reply) -> None:
            reported.append(reply)
            self._parent.send(reply)

        folder, limits = Path(self._config.spool), self._config.limits
        attempts = begin_attempt(folder)
        undiagnosed = put_aside(attempts, limits)
        finalise = partial(loading.finaliser(), self._config, opening, outcome)
        with self._limited(limits):
            done = False
            if self._threads is not None and await self._threads.ended():
                diagnosing = partial(finalise, undiagnosed=undiagnosed)
                ended = await work_in_fork(diagnosing, limits, send)
                undiagnosed = undiagnosed or ended.limit
                done = ended.done or any(each.what == "final" for each in reported)
            if not done:  # without a fork; or one was killed, or exceeded a limit
                await asyncio.to_thread(finalise, send, undiagnosed)
        end_attempt(folder)
        self._reported = reported[-1] if reported else None
        if self._orphaned or self._wrapper_lost:
            await self._finalise_for_host()
        await self._send_notices()
        await self._send_trace()
        await self._send_lineage()

    async def _send_notices(self) -> None:
        """Report the end of the run to the addresses of the settings."""
        reported = self._reported
        if reported is None or not reported.news:
            return
        from dask_blackbox.recorder.notices import send_notices

        card = RunCard.from_json(bytes(reported.card))
        with guard("notices about the end of the run"):
            await asyncio.to_thread(send_notices, self._config, card, reported.news)

    async def _send_trace(self) -> None:
        """Send the run to the collector of the settings."""
        reported, to = self._reported, self._config.otlp
        if reported is None or to is None or not reported.trace:
            return
        from dask_blackbox.recorder.otlp import send_trace

        card = RunCard.from_json(bytes(reported.card))
        with guard("the trace of the run"):
            await asyncio.to_thread(send_trace, to, card, reported.trace)

    async def _send_lineage(self) -> None:
        """Send the run to OpenLineage: as the settings say, and what the host's own run lacks."""
        reported, end = self._reported, self._end
        to, hosts = self._config.openlineage, self._config.host_lineage
        if reported is None or reported.what != "final":
            return
        if to is None and hosts is None:
            return
        from dask_blackbox.recorder.openlineage import complete_host_run, send_lineage

        card = RunCard.from_json(bytes(reported.card))
        with guard("OpenLineage's event of the run"):
            manifest = self._config.manifest
            if to is not None:
                await asyncio.to_thread(send_lineage, to, manifest, card, self._data)
            if hosts is not None and card.state == "aborted":
                by_host = end is not None and end.stopped is not None
                complete = partial(complete_host_run, hosts, manifest, card, self._data)
                await asyncio.to_thread(complete, stopped=by_host)

    @contextlib.contextmanager
    def _limited(self, limits: Limits) -> Iterator[None]:
        """Let the kernel end this process at its limits, and SIGTERM at any moment."""
        before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with limited(limits):
            yield
        signal.signal(signal.SIGTERM, before)

    async def _owner_was_killed(self) -> bool:
        """Return whether a signal ended the driver, which had said its end."""
        code = await self._parent.exit_code()
        return code is not None and code < 0

    async def _finalise_for_host(self) -> None:
        """Show the card in the host if the driver may not have done so."""
        if self._reported is None:
            return
        await asyncio.to_thread(
            finalise_for_host,
            self._config.manifest,
            RunCard.from_json(bytes(self._reported.card)),
            self._host_tasks.tasks,
            self._config.host_environment,
            self._reported.overview,
            pauses=PAUSES,
        )


def _counted(account: SourceAccount, rows: Rows) -> SourceAccount:
    return SourceAccount(
        batches=account.batches + 1,
        first=account.first or rows.seq,
        last=rows.seq,
        dropped=rows.dropped,
    )


class RelayedSchedulers:
    """Schedulers to which only drivers can connect, and what has arrived through them.

    Attributes:
        errors: By address, why this process cannot connect.
        sources: Of rows that drivers have relayed.
    """

    def __init__(self) -> None:
        self.errors: dict[str, str] = {}
        self.sources: set[str] = set()
        self._buffers: dict[str, list[str]] = {}
        self._seen: dict[str, set[int]] = {}

    def source_of(self, rows: Rows) -> str | None:
        """Return the source that a driver's rows are from; None: they were here before.

        Two drivers may pull from the same scheduler: either gets each batch until one has
        acknowledged it.  A scheduler's second buffer counts as another source.
        """
        if not rows.buffer:
            return rows.source
        buffers = self._buffers.setdefault(rows.source, [])
        if rows.buffer not in buffers:
            buffers.append(rows.buffer)
        number = buffers.index(rows.buffer) + 1
        source = rows.source if number == 1 else f"{rows.source}/{number}"
        self.sources.add(source)
        seen = self._seen.setdefault(source, set())
        if rows.seq in seen:
            return None
        seen.add(rows.seq)
        seen.discard(rows.seq - _REMEMBERED)
        return source

    def accounts(self) -> dict[str, SourceAccount]:
        """Return the accounts of those of which nothing has arrived."""
        return {
            f"scheduler {address}": SourceAccount(
                error=f"{error}; no driver relayed it"
            )
            for address, error in self.errors.items()
            if f"scheduler {address}" not in self._buffers
        }


_TIMEOUT = 5.0


def version_of_code(folder: str) -> dict[str, object]:
    """Return the git commit of a folder, and whether its files differ from that.

    The recorder asks: a child process of the driver would be returned by its `os.wait()`.
    """
    found = (_git(folder, "log", "-1", "--format=%H%n%cI") or "").split()
    status = _git(folder, "status", "--porcelain", "-uno")
    commit = {"commit": found[0], "committed": found[1]} if len(found) > 1 else None
    return {"git": commit, "dirty": None if status is None else bool(status.strip())}


def _git(folder: str, *words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", folder, *words]
    try:
        return subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_TIMEOUT, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
