"""Asks cluster managers what became of a run's workers, at the moments that matter.

At a death, when a worker does not arrive, and at the end.  Commands and logs are read in a
thread of its own, which nothing waits for without a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dask_blackbox.end_orders import is_of_unit, units_in
from dask_blackbox.events import (
    DriverAttached,
    DriverClosing,
    Event,
    ProcessAncestors,
    Rows,
    UnitsNamed,
    UnitState,
    WorkerAdded,
    WorkerExitReport,
    WorkerRemoved,
    WorkersEndedByCluster,
    encoded,
    event_rows,
    of_kind,
)
from dask_blackbox.guard import guard
from dask_blackbox.managers import (
    Manager,
    manager_named,
    manager_of_cluster,
    unit_named_in,
    unit_of_host,
)
from dask_blackbox.managers.asking import UnitAsker, asker_of
from dask_blackbox.managers.base import LONGEST

AT_THE_END = 6.0
"""Seconds in which a run that failed learns what became of its units."""

_UNIMPORTANT = 1.0  # seconds at the end, if nothing has died
_ARRIVAL, _DEATH = 10.0, 1.0
_MOST_OF_MISSING, _MOST_OF_LOST = 6, 3  # times that one unit is asked for
_MOST_UNITS, _MOST_LOGS = 2_000, 50


@dataclass
class _Unit:
    """A unit of the run.

    Attributes:
        id: Of it.
        manager: That runs it.
        names: Of its workers, as the cluster object calls them.
        folder: Where its log is, if its manager does not say it.
        due: When it is to be asked for, by the monotonic clock.
        pause: Seconds until it is asked for again.
        asked: How often it was.
        arrived: Whether a worker of it has joined.
        lost: Whether its end is to be explained.
        ordered: Whether the run itself ended it.
        state: What its manager last said.
        logged: Whether its log was read.
    """

    id: str
    manager: Manager
    names: set[str] = field(default_factory=set)
    folder: Path = Path()
    due: float | None = None
    pause: float = _ARRIVAL
    asked: int = 0
    arrived: bool = False
    lost: bool = False
    ordered: bool = False
    state: UnitState | None = None
    logged: bool = False

    @property
    def group(self) -> bool:
        """Whether it stands for several, which are found by asking for it."""
        return self.manager.is_group(self.id)

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.state is not None and self.manager.is_over(self.state.state)

    @property
    def missing(self) -> bool:
        """Whether its worker has not arrived, though it is wanted."""
        return not self.arrived and not self.ordered

    def again(self, now: float) -> None:
        """Note that it was asked for, and when it is to be asked for next."""
        self.asked += 1
        self.pause *= 2
        most = _MOST_OF_LOST if self.lost else _MOST_OF_MISSING
        wanted = (self.missing or self.lost) and not self.over
        self.due = now + self.pause if wanted and self.asked < most else None
        if self.due is None and self.group:
            self.lost = False  # each of its workers may end


class UnitWatch:
    """The units of a run, and when to ask for them.

    Args:
        take: Takes the row of an event.
        host: What the manifest says of the run's host: the driver may run in a unit itself.
    """

    def __init__(
        self, take: Callable[[list[object]], None], host: Mapping[str, object]
    ) -> None:
        self._take = take
        self._units: dict[str, _Unit] = {}
        self._workers: dict[str, str] = {}  # names by address
        self._unit_of: dict[str, str] = {}  # units by address
        self._askers: dict[str, UnitAsker] = {}
        self._asking: asyncio.Future[None] | None = None
        self._folder = Path()
        self._logs = 0
        self._ended_run = False
        own = unit_of_host(host)
        if own is not None:
            manager, unit = own
            self._units[unit] = _Unit(unit, manager, arrived=True, due=0.0)

    def add_rows(self, rows: Rows) -> None:
        """Note what rows say of units and their workers."""
        for at, kind, subject, detail in event_rows(rows):
            if kind in _KINDS:
                with guard("the units of a cluster manager"):
                    self._add(of_kind(_KINDS[kind], at, subject, detail))

    def _add(self, event: Event) -> None:
        match event:
            case DriverAttached():
                self._attached(event)
            case DriverClosing():
                self._closing(event)
            case ProcessAncestors():
                self._placed(event)
            case UnitsNamed():
                self._named(event)
            case WorkerAdded():
                self._added(event)
            case WorkerRemoved() | WorkerExitReport():
                self._removed(event)
            case WorkersEndedByCluster():
                self._ended(event)

    def _attached(self, event: DriverAttached) -> None:
        if event.cwd:
            self._folder = Path(event.cwd)
        kind = event.cluster
        if kind is not None and kind.units:
            self._named(
                UnitsNamed(
                    cluster=kind.kind or "", units=kind.units, folder=kind.folder
                )
            )

    def _named(self, event: UnitsNamed) -> None:
        manager = manager_of_cluster(event.cluster)
        if manager is None or not manager.asked:
            return
        arrived = set(self._workers.values())
        for name, unit in event.units.items():
            known = self._unit(unit, manager)
            if known is None:
                return
            known.names.add(name)
            known.folder = Path(event.folder) if event.folder else self._folder
            known.arrived = known.arrived or any(is_of_unit(x, name) for x in arrived)
            if (known.group or not known.arrived) and known.due is None:
                known.due = time.monotonic() + known.pause

    def _unit(self, unit: str, manager: Manager) -> _Unit | None:
        if unit not in self._units and len(self._units) >= _MOST_UNITS:
            return None
        return self._units.setdefault(unit, _Unit(unit, manager, folder=self._folder))

    def _added(self, event: WorkerAdded) -> None:
        self._workers[event.subject] = event.name or ""
        for unit in self._of(event.subject):
            self._arrived(unit)

    @staticmethod
    def _arrived(unit: _Unit) -> None:
        unit.arrived = True
        if unit.group:  # others of it may not have
            return
        if unit.over:  # it was started again
            unit.lost, unit.state = False, None
        if not unit.lost:
            unit.due = None

    def _placed(self, event: ProcessAncestors) -> None:
        named = unit_named_in(event.units)
        if named is None or not named[0].asked:
            return
        manager, unit = named
        known = self._unit(unit, manager)
        if known is not None:
            self._arrived(known)
            self._unit_of[event.subject] = unit

    def _of(self, address: str) -> Iterator[_Unit]:
        """Yield the unit of a worker."""
        named = self._units.get(self._unit_of.get(address, ""))
        if named is not None:
            yield named
            return
        name = self._workers.get(address)
        for unit in self._units.values() if name else ():
            if any(is_of_unit(str(name), each) for each in unit.names):
                yield unit

    def _removed(self, event: WorkerRemoved | WorkerExitReport) -> None:
        if isinstance(event, WorkerRemoved) and event.expected:
            return
        for unit in self._of(event.subject):
            if not unit.ordered and not unit.lost:
                unit.lost, unit.asked, unit.pause = True, 0, _DEATH
                unit.logged = False  # what it said before that is another matter
                unit.due = time.monotonic() + unit.pause

    def _ended(self, event: WorkersEndedByCluster) -> None:
        for unit in self._named_in(event.workers):
            if unit.missing and not unit.over:  # it is gone from the queue then
                unit.due = 0.0
            unit.ordered = True

    def _named_in(self, names: Iterable[str]) -> Iterator[_Unit]:
        """Yield the units that a cluster object calls so, or whose worker's name says it."""
        wanted = set(names)
        for unit in self._units.values():
            if unit.names & wanted:
                yield unit
        for address, placed in self._unit_of.items():
            if any(each in wanted for each in units_in(self._workers.get(address, ""))):
                yield self._units[placed]

    def _closing(self, event: DriverClosing) -> None:
        if event.ends_workers_of is not None:
            for unit in self._units.values():
                if unit.missing and not unit.over:
                    unit.due = 0.0

    # Asking

    def look(self) -> None:
        """Ask for the units that are due, unless a manager is being asked."""
        if self._asking is not None and not self._asking.done():
            return
        now = time.monotonic()
        due = [
            unit
            for unit in self._units.values()
            if unit.due is not None and unit.due <= now and not unit.over
        ]
        if due:
            self._asking = self._ask(due, within=LONGEST)

    async def finish(self) -> None:
        """Ask a last time for the units whose end is not known, for a few seconds at most."""
        deadline = time.monotonic() + AT_THE_END
        if self._asking is not None:
            await asyncio.wait((self._asking,), timeout=AT_THE_END)
            if not self._asking.done():
                return
        waiting = [unit for unit in self._units.values() if not unit.over]
        if not waiting:
            return
        wanted = any(unit.lost or unit.missing for unit in waiting)
        within = deadline - time.monotonic() if wanted else _UNIMPORTANT
        self._ended_run = True
        self._asking = self._ask(waiting, within=within)
        await asyncio.wait((self._asking,), timeout=within)

    def _ask(self, units: list[_Unit], *, within: float) -> asyncio.Future[None]:
        """Ask in a thread that nobody has to wait for: what it reads may hang."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        now = time.monotonic()
        for unit in units:
            unit.again(now)

        def report(event: Event) -> None:
            loop.call_soon_threadsafe(self._report, event)

        def work() -> None:
            try:
                with guard("asking a cluster manager"):
                    self._work(units, within, report)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop has been closed
                    loop.call_soon_threadsafe(_finished, done)

        threading.Thread(target=work, name="cluster-manager", daemon=True).start()
        return done

    def _work(
        self, units: list[_Unit], within: float, report: Callable[[Event], None]
    ) -> None:
        for manager in {unit.manager.name: unit.manager for unit in units}.values():
            asker = self._askers.get(manager.name) or asker_of(manager)
            self._askers[manager.name] = asker
            own = {unit.id: unit for unit in units if unit.manager is manager}
            for event in asker.ask(own, within=within):
                if isinstance(event, UnitState) and event.subject in own:
                    own[event.subject].state = event
                report(event)
            for unit in own.values():
                if self._wants_log(unit):
                    unit.logged, self._logs = True, self._logs + 1
                    report(asker.log(unit.id, unit.folder, unit.state))

    def _wants_log(self, unit: _Unit) -> bool:
        """Return whether to read a unit's log: once, after an end that is to be explained."""
        if unit.logged or unit.group or self._logs >= _MOST_LOGS:
            return False
        state = unit.state.state if unit.state is not None else ""
        waits = bool(state) and state.startswith(unit.manager.pending)
        # A manager that does not answer is no reason to wait for it.
        known = self._ended_run or unit.over or waits or not state
        return known and (unit.lost or (unit.missing and not waits))

    def _report(self, event: Event) -> None:
        if isinstance(event, UnitState):
            known = self._units.get(event.subject)
            if known is None:
                self._found(event)
            else:  # it may have been found by asking for another one
                known.state = event
        self._take(list(encoded(event)))

    def _found(self, state: UnitState) -> None:
        """Note a unit that was found by asking for its group."""
        manager = manager_named(state.manager)
        unit = None if manager is None else self._unit(state.subject, manager)
        if unit is None:
            return
        unit.state = state
        unit.names = {state.worker} if state.worker else set()
        known = set(self._workers.values())
        # What runs no worker is not waited for: a scheduler, a driver.
        unit.arrived = not unit.names or any(
            is_of_unit(worker, name) for worker in known for name in unit.names
        )
        if unit.missing and not unit.over:
            unit.due = time.monotonic() + unit.pause


def _finished(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


_KINDS: dict[str, type[Event]] = {
    each.kind: each
    for each in (
        DriverAttached, DriverClosing, ProcessAncestors, UnitsNamed, WorkerAdded,
        WorkerExitReport, WorkerRemoved, WorkersEndedByCluster,
    )
}  # fmt: skip
