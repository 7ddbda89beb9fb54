"""Joins the sources of each worker exit (reports, events, log lines): see `worker_exit`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import polars as pl

from dask_blackbox.analyse.facts.cluster_stops import without_stopped_clusters
from dask_blackbox.analyse.facts.mpi_ranks import RankExit, first_rank_exit
from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.facts.schedulers import schedulers_of
from dask_blackbox.analyse.facts.teardown import (
    task_signal_to,
    teardown_of,
)
from dask_blackbox.analyse.facts.worker_exit import (
    WINDOW,
    EndedBy,
    WorkerExit,
)
from dask_blackbox.analyse.signals import BY_SIGNAL
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    EVENT_LOOP_UNRESPONSIVE,
    NANNY_CLOSED,
    NANNY_CLOSING,
    NANNY_EXIT_STATUS,
    NANNY_KILLED_BY_SIGNAL,
    NANNY_KILLED_BY_UNKNOWN_SIGNAL,
    NANNY_RESTARTS_WORKER,
    NANNY_STARTED,
    SIGNAL_RECEIVED,
    WORKER_OVER_MEMORY_BUDGET,
    WORKER_STOPPING,
)
from dask_blackbox.end_orders import SOURCES, EndOrder, EndOrders
from dask_blackbox.events import (
    DriverAttached,
    Event,
    NannyLost,
    NannyResponded,
    ProcessState,
    SchedulerLost,
    TaskSignalled,
    WorkerAdded,
    WorkerExitReport,
    WorkerHeartbeatTimedOut,
    WorkerRemoved,
    WorkerRestartedForMemory,
)
from dask_blackbox.formatting import code_line, short, signal_name
from dask_blackbox.run_tables import RunTables, epoch
from dask_blackbox.tables.schemas import Row

_SLOW = 60.0
"""Seconds that a process may take to accept its nanny's SIGTERM."""

_SILENT = 3.0
_ON_REQUEST = (
    "retire-workers-",
    "worker-close-gracefully-",
    "client-restart-",
    "client-restart-workers-",
)
_CLOSED_IN_ORDER = (
    "nanny-close",
    "scheduler-remove-worker",
    "scheduler-close",
    "worker-close",
    "client-restart",
    "nanny-plugin-",
    "idle-timeout",
    "adaptive",
)
_FROZEN = "check-worker-ttl"
_LIFETIME = "worker-lifetime"
_IDENTITY = (
    "address", "joined", "left", "pid", "host", "nanny", "name", "nthreads",
)  # fmt: skip
_LINES, _SAMPLES = 20, 60

_EventT = TypeVar("_EventT", bound=Event)
_By = dict[str, list[_EventT]]


def worker_exits_of(run: RunTables) -> tuple[WorkerExit, ...]:
    """Return the worker processes of a run, by the time at which they joined."""
    return run.once(_worker_exits)


def deaths_of(run: RunTables) -> tuple[WorkerExit, ...]:
    """Return the worker processes that ended though it was not intended, by time."""
    return run.once(_deaths)


def _deaths(run: RunTables) -> tuple[WorkerExit, ...]:
    died = [each for each in worker_exits_of(run) if each.died]
    return tuple(sorted(died, key=lambda each: each.at))


def _worker_exits(run: RunTables) -> tuple[WorkerExit, ...]:
    witnesses = _ExitSources(run)
    processes = run.workers.with_columns(
        epoch("joined").alias("joined"),
        epoch("left").alias("left"),
    )
    found = [witnesses.exit_of(process) for process in processes.iter_rows(named=True)]
    found.sort(key=lambda each: each.joined)
    return tuple(without_stopped_clusters(run, found))


class _ExitFields:
    """The fields of one exit from several sources; the first source that has a field is used."""

    def __init__(self) -> None:
        self.fields: dict[str, object] = {}

    def add(self, name: str, *values: object) -> None:
        """Set a field to the value of the first source that has it."""
        for value in values:
            if name not in self.fields and value not in (None, "", (), []):
                self.fields[name] = value

    def note(self, name: str, value: str) -> None:
        """Set a field to a text, which may be empty, if no source had it before."""
        self.fields.setdefault(name, value)

    def add_reported(self, name: str, reports: list[object]) -> None:
        """Set a field from the exit reports; the last one is used."""
        self.add(name, *reversed(reports))


_RESUMED = 1.0
"""Seconds within the time that a nanny watched: what is sampled later shows that Python ran."""


def _frozen_when_killed(report: WorkerExitReport) -> ProcessState | None:
    """Return the state of a process as its nanny killed it, if it was still frozen then.

    One that had only been frozen until it was removed waits for its tasks, and is sampled again.
    """
    killed, at = report.when_killed, report.observed_at
    if killed is None or at is None or killed.is_stopped:
        return killed
    since = at - (killed.watched or 0.0) + _RESUMED
    return None if any(sample.at > since for sample in report.memory) else killed


_REPORTED: Mapping[str, Callable[[WorkerExitReport], object]] = {
    "exit_code": lambda report: report.exit_code,
    "running": lambda report: report.executing,
    "memory": lambda report: tuple((each.at, each.rss) for each in report.memory),
    "stack": lambda report: report.stack,
    "oom_kills": lambda report: report.oom_kills,
    "host_oom_kills": lambda report: report.host_oom_kills,
    "alive": lambda report: str(report.alive or ""),
    "when_killed": _frozen_when_killed,
}
"""Fields of an exit that its report has, and what they are there."""


class _ExitSources:
    """The rows of all tables about departures, by worker."""

    def __init__(self, run: RunTables) -> None:
        self._run = run
        self._removals = _by_subject(run.of(WorkerRemoved))
        self._exit_reports = _by_subject(run.of(WorkerExitReport))
        self._restarts = _by_subject(run.of(WorkerRestartedForMemory))
        self._given_up = _by_subject(run.of(WorkerHeartbeatTimedOut))
        self._nannies_lost = _by_subject(run.of(NannyLost))
        self._nannies_there = _by_subject(run.of(NannyResponded))
        self._nannies = nanny_log_of(run)
        self._samples = _by_source(
            run.metrics.filter(pl.col("memory").is_not_null()), "memory"
        )
        self._lines = _by_source(
            run.logs.filter(pl.col("role") == "worker"), "pid", "message"
        )
        self._schedulers = schedulers_of(run)
        self._added = {each.subject: each.scheduler for each in run.of(WorkerAdded)}
        self._scheduler_lost = max(
            (each.at for each in run.of(SchedulerLost)), default=None
        )
        self._outcome = outcome_of(run)
        self._rank = first_rank_exit(run)
        self._teardown = teardown_of(run, self._outcome)
        self._orders = EndOrders()
        for source in SOURCES:
            for event in run.of(source):
                self._orders.add(event)
        own = run.metrics.filter(pl.col("source") == "scheduler")
        samples = (own["at"].dt.epoch("us") / 1e6).sort().to_list()
        self._scheduler_gaps = [*pairwise(samples), *_unresponsive(run)]

    def exit_of(self, process: Row) -> WorkerExit:
        """Return what is known of a process, and how it ended if it has."""
        named_scheduler = self._added.get(process["address"])
        scheduler = self._schedulers.of_worker(named_scheduler, process["joined"])
        gone = self._schedulers.end_of(scheduler)
        identity: dict[str, Any] = {name: process[name] for name in _IDENTITY}
        identity["memory_limit"] = process["memory_limit"] or None
        identity["scheduler"] = named_scheduler
        reports = self._reports_of(process["address"], process["pid"])
        rank = self._rank_of(process)
        at = _moment(process["left"], reports, rank)
        if at is None:
            return WorkerExit(**identity, gone=gone)
        account = self._fields_of(process, reports, at)
        for each in rank:
            account.add("exit_code", each.exit_code)
            account.add("rank", each.rank)
        made = WorkerExit(
            **(identity | account.fields | {"left": at}),
            has_report=bool(reports),
            gone=at if gone is None else min(at, gone),
            stimulus=process["stimulus_id"] or "",
        )
        order = self._order_for(made, scheduler, process["joined"])
        teardown = self._is_of_teardown(made, scheduler)
        asked = any(each.asked_to_close for each in reports)
        died = not teardown and _is_unexpected(
            made,
            expected=bool(process["expected"]) or order is not None,
            asked=asked,
        )
        return replace(
            made,
            died=died,
            ended_by=_ended_by(made, died=died),
            ordered_by="" if order is None or died else order.by,
        )

    def _rank_of(self, process: Row) -> tuple[RankExit, ...]:
        """Return the end of the MPI rank that a process was, if that ended the others."""
        first = self._rank
        mine = first is not None and process["name"] == str(first.rank)
        return (first,) if mine and first is not None else ()

    def _order_for(
        self, made: WorkerExit, scheduler: str, joined: float
    ) -> EndOrder | None:
        """Return the order of the run itself that ended a worker; None: none did."""
        # A worker may be killed just before the driver, for that reason, closes the cluster.
        stopped = made.signal is None or (made.closing or "").startswith(BY_SIGNAL)
        clocks = self._outcome.clocks if stopped else 0.0
        return self._orders.order_for(
            scheduler,
            made.name,
            made.at,
            address=made.address,
            joined=joined,
            clocks=clocks,
        )

    def _reports_of(
        self, address: str, pid: int | None
    ) -> tuple[WorkerExitReport, ...]:
        """Return the exit reports of a process, by time; several may testify to one exit."""
        known = self._exit_reports.get(address, ())
        return tuple(each for each in known if each.pid is None or each.pid == pid)

    def _fields_of(
        self,
        process: Row,
        reports: tuple[WorkerExitReport, ...],
        at: float,
    ) -> _ExitFields:
        address, pid = process["address"], process["pid"]
        removal = _near(self._removals, address, at) or WorkerRemoved()
        logged = self._nannies.exit_of(pid)
        if (asked := self._closed_after_exit(process)) is not None:
            reports = tuple(
                x for x in reports if not _is_of_closing(x.exit_code, x.at, asked)
            )
            if logged is not None and _is_of_closing(logged[1], logged[0], asked):
                logged = None
        account = _ExitFields()
        account.add("left", process["left"], at)
        for name, field in _REPORTED.items():
            account.add_reported(name, [*map(field, reports)])
        ended = at
        if logged is not None:
            # A nanny learns of the exit before the scheduler does, or after.
            ended, code = logged
            account.add("exit_code", code)
        self._add_closing(account, process, reports, ended)
        account.add("processing", removal.processing)
        account.add("lost_scattered", removal.lost_scattered)
        account.add("memory", self._samples_of(address, process, at))
        account.add("last_lines", self._lines_before(address, pid, at))
        self._add_memory_limit(account, address, pid, at)
        self._add_heartbeats(account, address, at)
        account.add("with_nanny", self._nanny_lost_too(address, at))
        self._add_signals(account, address, pid, at)
        return account

    def _add_signals(
        self, account: _ExitFields, address: str, pid: int | None, at: float
    ) -> None:
        """Note where the run itself sent signals to a worker, and which of its tasks did."""
        act = self._teardown.action_on(address, at)
        if act is not None:
            account.note("sent_from", code_line(act))
        elif (sent := self._task_signal_to(address, pid, at)) is not None:
            account.note("sent_from", code_line(sent))
            account.add("sent_by", sent.subject)
        stop = self._teardown.stop_of(address, pid, at)
        if stop is not None:
            account.note("stopped_from", code_line(stop))
            if isinstance(stop, TaskSignalled):
                account.add("stopped_by", stop.subject)

    def _task_signal_to(
        self, address: str, pid: int | None, at: float
    ) -> TaskSignalled | None:
        """Return the signal that a task sent to a worker: to it, its nanny or their group."""
        pids = self._teardown.pids.get(address, frozenset()) | ({pid} if pid else set())
        return task_signal_to(self._run, pids, at, self._outcome.clocks)

    def _add_closing(
        self,
        account: _ExitFields,
        process: Row,
        reports: tuple[WorkerExitReport, ...],
        ended: float,
    ) -> None:
        """Note the reason for closing.

        A nanny that still runs has not passed its own signal to its worker; and a cluster that
        closes moments after a death has not caused it: the exit report knows whether the
        nanny had been asked.
        """
        nanny = process["nanny"]
        received = self._nannies.signal_to(nanny, ended, WINDOW)
        of_host = received is not None and not self._outcome.is_after(received[0])
        text = self._nannies.closing_of(nanny, ended, WINDOW) or ""
        asked = [x.asked_to_close for x in reports if x.asked_to_close is not None]
        if asked and not asked[-1] and text.startswith(_CLOSED_IN_ORDER):
            text = ""
        if received is not None and of_host:
            account.add("closing", received[1])
        account.add_reported("closing", [each.close_reason for each in reports])
        account.add(
            "closing", process["closing"], text, self._reason_of(process, ended)
        )

    def _closed_after_exit(self, process: Row) -> float | None:
        """Return when the nanny of a worker that had left before was asked to end, if it was.

        A worker that has left its scheduler, and says why, may exit a while later.  If the
        script ends its cluster meanwhile, how the process ended is not why the worker left.
        """
        left, since = process["left"], self._teardown.since
        asked = self._nannies.first_signal_to(process["nanny"])
        if left is None or since is None or asked is None or not left < since <= asked:
            return None
        text = self._reason_of(process, left)
        return asked if text and not text.startswith(BY_SIGNAL) else None

    def _reason_of(self, process: Row, ended: float) -> str:
        """Return why a worker stopped, as it logged itself."""
        lines = self._lines_before(process["address"], process["pid"], ended)
        match = [found for each in lines if (found := WORKER_STOPPING.match(each))]
        return match[-1]["reason"] if match else ""

    def _add_memory_limit(
        self, account: _ExitFields, address: str, pid: int | None, at: float
    ) -> None:
        """Note at how many bytes the nanny gave it up: by its event, else its log line."""
        for event in self._restarts.get(address, ()):
            same = event.pid == pid or event.pid is None or pid is None
            # (Some are slow to accept SIGTERM.)
            if same and -WINDOW <= at - event.at <= _SLOW:
                account.add("restarted_for_memory", event.rss or 0)
                return
        text = self._nannies.over_budget(address, pid)
        if text is not None and text <= at + WINDOW:
            account.add("restarted_for_memory", 0)

    def _is_of_teardown(self, made: WorkerExit, scheduler: str) -> bool:
        """Return whether this only happened because everything was coming to its end."""
        closing = self._schedulers.closing_of(scheduler)
        if self._teardown.includes(made.address, made.at):
            return True
        broken = "connection-broken" in (made.closing or "")
        # A worker that the scheduler itself still removed did not leave because the scheduler was gone.
        if self._scheduler_lost is not None and broken:
            removal = _near(self._removals, made.address, made.at)
            return removal is None or removal.at > self._scheduler_lost
        # A cluster object ends its workers, then asks the scheduler to end; where the driver is
        # not recorded, nothing else says so.
        stopped = (made.closing or "").startswith(BY_SIGNAL) and not made.running_on
        unheard = stopped and not self._run.of(DriverAttached)
        if unheard and self._schedulers.was_asked_to_close(scheduler, made.at, WINDOW):
            return True
        return closing is not None and made.at > closing

    def _nanny_lost_too(self, address: str, at: float) -> bool | None:
        if _near(self._nannies_lost, address, at) is not None:
            return True
        if _near(self._nannies_there, address, at) is not None:
            return False
        return None

    def _add_heartbeats(self, account: _ExitFields, address: str, at: float) -> None:
        """Note that the scheduler gave it up, and whether it had been silent itself."""
        patience = next(
            (
                event.ttl or 0.0
                for event in self._given_up.get(address, ())
                if -WINDOW <= at - event.at <= _SLOW
            ),
            None,
        )
        if patience is None:
            return
        account.add("frozen_for", patience)
        gaps = [
            later - earlier
            for earlier, later in self._scheduler_gaps
            if earlier < at and later > at - WINDOW
        ]
        longest = max(gaps, default=0.0)
        if longest > max(_SILENT, 0.8 * patience):
            account.add("scheduler_silent_for", longest)

    def _samples_of(
        self, address: str, process: Row, at: float
    ) -> tuple[tuple[float, int], ...]:
        own = self._samples.get(address)
        if own is None:
            return ()
        own = own.filter(pl.col("at").is_between(process["joined"] or 0.0, at + 1))
        return tuple(own.sort("at").tail(_SAMPLES).rows())

    def _lines_before(
        self, address: str, pid: int | None, at: float
    ) -> tuple[str, ...]:
        own = self._lines.get(address)
        if own is None:
            return ()
        chosen = pl.col("at") <= at + WINDOW
        if pid is not None:
            chosen &= (pl.col("pid") == pid) | pl.col("pid").is_null()
        own = own.filter(chosen)
        return tuple(own.sort("at").tail(_LINES)["message"].to_list())


def _by_source(frame: pl.DataFrame, *columns: str) -> dict[object, pl.DataFrame]:
    """Return some columns and `at` (epoch seconds) of the rows of each source."""
    rows = frame.select("source", epoch("at"), *columns)
    parts = rows.partition_by("source", include_key=False, as_dict=True)
    return {source: part for (source,), part in parts.items()}


def _is_of_closing(exit_code: int | None, at: float, asked: float) -> bool:
    """Return whether an exit is what a nanny makes of its worker that was asked to end."""
    return at >= asked and (
        not exit_code or signal_name(exit_code) in ("SIGTERM", "SIGKILL")
    )


def _moment(
    left: float | None,
    reports: tuple[WorkerExitReport, ...],
    rank: tuple[RankExit, ...],
) -> float | None:
    """Return when a process ended, by the first source that says so; None: none does."""
    seen = [left, *(each.at for each in reports), *(each.at for each in rank)]
    return next((each for each in seen if each is not None), None)


def _is_unexpected(made: WorkerExit, *, expected: bool, asked: bool) -> bool:
    """Return whether this worker was not meant to exit."""
    # A worker that crashes while it is asked to close has crashed all the same.
    given_up = made.restarted_for_memory is not None or made.frozen_for is not None
    if (made.crashed and made.executing) or given_up:
        return True
    closing = made.closing or ""
    if closing.startswith(_FROZEN):
        return True
    if expected or made.stimulus.startswith(_ON_REQUEST):
        return False
    if closing.startswith(_CLOSED_IN_ORDER):
        return False
    if asked and not closing:
        return False
    # A removal of which nothing else is known is an ordinary end, unless the worker had work
    # or an exit code of a death, or its nanny has disappeared as well.
    signs = (made.exit_code, closing, made.running_on, made.lost_scattered)
    return any(signs) or bool(made.with_nanny)


def _ended_by(made: WorkerExit, *, died: bool) -> EndedBy:
    """Return who ended a process."""
    closing = made.closing or ""
    frozen = made.frozen_for is not None or closing.startswith(_FROZEN)
    seen = made.exit_code is not None or bool(closing)
    accounts: tuple[tuple[bool, EndedBy], ...] = (
        (made.restarted_for_memory is not None, "nanny-memory-limit"),
        (frozen, "heartbeat-timeout"),
        (not died, "orderly"),
        (closing.startswith(BY_SIGNAL), "host"),
        (closing.startswith(_LIFETIME), "lifetime"),
        (made.crashed, "crash"),
        (made.signal is not None and made.sent_from is not None, "script"),
        (made.signal == "SIGKILL" and made.oom_kills > 0, "kernel-oom"),
        (made.signal is not None, "signal"),
        (seen, "itself"),
        (bool(made.with_nanny), "with-its-nanny"),
    )
    return next((who for holds, who in accounts if holds), "nobody-knows")


def _by_subject(events: Iterable[_EventT]) -> _By[_EventT]:
    grouped: _By[_EventT] = defaultdict(list)
    for event in events:
        grouped[event.subject].append(event)
    return grouped


def _unresponsive(run: RunTables) -> Iterator[tuple[float, float]]:
    """Yield from when to when a scheduler's own log says that it was unresponsive.

    Samples begin later than it does, and a suspended scheduler may have none before.
    """
    lines = lines_of(run, EVENT_LOOP_UNRESPONSIVE)
    for line in lines.iter_rows(named=True):
        match = EVENT_LOOP_UNRESPONSIVE.match(line["message"])
        if match is not None and match["who"] == "Scheduler":
            at = line["at"].timestamp()
            unit = 1000 if match["unit"] == "ms" else 1
            yield at - float(match["time"]) / unit, at


def _near(events: _By[_EventT], address: str, at: float) -> _EventT | None:
    """Return the event about a worker that lies nearest to its end."""
    near = [each for each in events.get(address, ()) if abs(each.at - at) <= WINDOW]
    return min(near, key=lambda each: abs(each.at - at), default=None)


_ABOUT_ENDS = (
    WORKER_OVER_MEMORY_BUDGET,
    NANNY_KILLED_BY_SIGNAL,
    NANNY_KILLED_BY_UNKNOWN_SIGNAL,
    NANNY_EXIT_STATUS,
    NANNY_CLOSING,
    NANNY_CLOSED,
    NANNY_STARTED,
    NANNY_RESTARTS_WORKER,
    SIGNAL_RECEIVED,
)
_RESTARTS = "Restarting worker"
_UNKNOWN_SIGNAL = 255
_TOGETHER = 0.25
"""Seconds within which a signal reaches all processes of a group."""


class NannyLog:
    """The lines in which nannies report exits."""

    def __init__(self, run: RunTables) -> None:
        self._budgets: dict[tuple[str, int], float] = {}
        self._exits: dict[int, tuple[float, int]] = {}
        self._closings: list[tuple[float, str, str]] = []
        self._signals: list[tuple[float, str, str]] = []
        self._restarts: list[tuple[float, str]] = []
        self._lines: list[tuple[float, str]] = []
        lines = lines_of(run, *_ABOUT_ENDS, by=["nanny"]).select(
            epoch("at"), "source", "message"
        )
        for at, source, message in lines.iter_rows():
            self._lines.append((at, f"{source} {message}"))
            self._read(at, source, message)

    def _read(self, at: float, source: str, message: str) -> None:
        if found := WORKER_OVER_MEMORY_BUDGET.search(message):
            self._budgets.setdefault((found[1], int(found[2])), at)
        elif found := NANNY_KILLED_BY_SIGNAL.search(message):
            self._exits[int(found["pid"])] = at, -int(found["signal"])
        elif found := NANNY_KILLED_BY_UNKNOWN_SIGNAL.search(message):
            self._exits[int(found["pid"])] = at, _UNKNOWN_SIGNAL
        elif found := NANNY_EXIT_STATUS.search(message):
            self._exits[int(found[1])] = at, int(found[2])
        elif found := NANNY_CLOSING.search(message):
            self._closings.append((at, found[1], short(found[2], 80)))
        elif found := SIGNAL_RECEIVED.search(message):
            self._signals.append((at, source, f"signal-{found[1]}"))
        elif message.startswith(_RESTARTS):
            self._restarts.append((at, source))

    def over_budget(self, worker: str, pid: int | None) -> float | None:
        """Return when a nanny wrote that this process exceeded its memory budget."""
        if pid is None:
            known = [
                at for (address, _), at in self._budgets.items() if address == worker
            ]
            return max(known, default=None)
        return self._budgets.get((worker, pid))

    def exit_of(self, pid: int | None) -> tuple[float, int] | None:
        """Return when a nanny wrote that a process had ended, and its exit code.

        The code is negative for a signal.  Dask writes no line for the exit code 0.
        """
        return None if pid is None else self._exits.get(pid)

    def signal_to(
        self, nanny: str | None, ended: float, window: float
    ) -> tuple[float, str] | None:
        """Return the signal that ended a nanny when its worker ended, and when it came.

        A nanny that receives one later, or that restarted its worker first, has lived on:
        it did not end with its worker.

        Args:
            window: Seconds before that in which it may have come.
        """
        first = min(
            (
                s
                for s in self._signals_to(nanny)
                if -window <= s[0] - ended <= _TOGETHER
            ),
            default=None,
        )
        restarted = first is not None and any(
            address == nanny and ended <= at <= first[0]
            for at, address in self._restarts
        )
        return None if restarted else first

    def first_signal_to(self, nanny: str | None) -> float | None:
        """Return when a nanny received its first signal, if it did."""
        return min((at for at, _ in self._signals_to(nanny)), default=None)

    def _signals_to(self, nanny: str | None) -> Iterator[tuple[float, str]]:
        for at, address, reason in (*self._signals, *self._closings):
            if address == nanny and reason.startswith(BY_SIGNAL):
                yield at, reason

    def closing_of(self, nanny: str | None, at: float, window: float) -> str | None:
        """Return the reason that a nanny gave for closing around a moment, but a signal."""
        return next(
            (
                reason
                for when, address, reason in self._closings
                if address == nanny
                and abs(when - at) <= window
                and not reason.startswith(BY_SIGNAL)
            ),
            None,
        )

    def active_after(self, nanny: str, moment: float) -> bool:
        """Return whether a nanny wrote anything, or was written of, after a moment."""
        return any(at > moment and nanny in line for at, line in self._lines)


def nanny_log_of(run: RunTables) -> NannyLog:
    """Return what the nannies of a run wrote of ends."""
    return run.once(NannyLog)


def most_at_once(
    workers: Iterable[WorkerExit], weight: Callable[[WorkerExit], float]
) -> tuple[WorkerExit, ...]:
    """Return the workers that existed when the sum of something over them was largest.

    Args:
        workers: Worker processes of any time.
    """
    known = tuple(workers)
    # Those that leave at the very moment at which others join are counted out first.
    moves = [(each.joined, 1, weight(each)) for each in known]
    moves += [(each.gone, 0, -weight(each)) for each in known if each.gone is not None]
    level = largest = 0.0
    moment = min((each.joined for each in known), default=0.0)
    for at, _, change in sorted(moves):
        level += change
        if level > largest:
            largest, moment = level, at
    return tuple(
        each
        for each in known
        if each.joined <= moment and (each.gone is None or each.gone > moment)
    )


def threads_of(worker: WorkerExit) -> int:
    """Return how many tasks a worker can run at once."""
    return worker.nthreads or 1


def limits_at_once(run: RunTables) -> tuple[WorkerExit, ...]:
    """Return the workers that existed when their memory limits were largest together."""
    return most_at_once(worker_exits_of(run), lambda each: each.memory_limit or 0)


def spilled_at_once(run: RunTables) -> int:
    """Return the most bytes that workers had spilled to disk at the same time."""
    sampled = run.metrics.group_by("at", maintain_order=True).agg(
        pl.col("spilled").sum()
    )
    return int(sampled["spilled"].max() or 0)  # type: ignore[arg-type]
