"""What became of the units (jobs of a queue) of a run's workers, as their manager said it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.end_orders import is_of_unit
from dask_blackbox.events import (
    DriverAttached,
    ManagerAsked,
    ProcessAncestors,
    UnitLog,
    UnitsNamed,
    UnitState,
    WorkerExitReport,
)
from dask_blackbox.managers import (
    manager_named,
    manager_of_cluster,
    unit_named_in,
    unit_of_host,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

UnitEnding = Literal[
    "time-limit", "memory", "preempted", "evicted", "node-failed", "cancelled"
]
"""Why a manager ended a unit."""

_STATES: tuple[tuple[UnitEnding, str], ...] = (
    (
        "time-limit",
        r"\b(?:TIMEOUT|DEADLINE|TimeLimit|TERM_RUNLIMIT|DeadlineExceeded|WALLTIME)\b",
    ),
    (
        "time-limit",
        r"\bexceeded resource walltime|JOB_EXEC_KILL_WALLTIME|exceeded allowed (?:job|execute) duration",
    ),
    (
        "memory",
        (
            r"\b(?:OUT_OF_MEMORY|OutOfMemory|TERM_MEMLIMIT|OOMKilled|JOB_EXEC_KILL_V?MEM)\b|"
            r"\bexceeded resource v?mem\b|gone over (?:cgroup )?memory limit|out-of-memory event|"
            # Of YARN, as skein passes it on.
            r"B (?:physical|virtual) memory used|by YARN for exceeding memory limits"
        ),
    ),
    (
        "preempted",
        (
            r"\b(?:PREEMPTED|TERM_PREEMPT|Preempted|Preempting|PreemptionBy\w{1,20}|"
            r"BESTEFFORT_KILL)\b|\bContainer preempted by scheduler\b"
        ),
    ),
    (
        "node-failed",
        (
            r"\b(?:NODE_FAIL|BOOT_FAIL|NodeDown|NodeLost|NodeNotReady|NodeShutdown|Shutdown)\b|"
            r"\breleased on a \*lost\* node"
        ),
    ),
    (
        "node-failed",
        r"\b(?:DeletionByTaintManager|TaintManagerEviction|DeletionByPodGC)\b",
    ),
    (
        "evicted",
        r"\b(?:Evicted|EvictionByEvictionAPI|TerminationByKubelet|ScaleDown)\b",
    ),
)
_LINES: tuple[tuple[UnitEnding, str], ...] = (
    ("time-limit", r"CANCELLED AT \S+ DUE TO TIME LIMIT|job killed: walltime \d+ exceeded"),
    ("memory", r"exceeded (?:job |step )?memory limit|[Dd]etected \d+ oom.kill event"),
    ("preempted", r"CANCELLED AT \S+ DUE TO (?:PREEMPTION|JOB REQUEUE)"),
    ("node-failed", r"CANCELLED AT \S+ DUE TO NODE FAIL"),
)  # fmt: skip
_CANCELLED_AT = "CANCELLED AT"
"""Slurm writes it into the log of a job, which is completing for as long as its processes end."""
_CANCELLED = (
    r"\b(?:CANCELLED|TERM_OWNER|TERM_ADMIN|TERM_FORCE_OWNER|TERM_FORCE_ADMIN|Deleted|"
    r"REMOVED|FRAG_JOB_REQUEST)\b|\bFINISHED terminated$"
)
_ONE_OF_ITS_LIMITS = r"\benforced h_rt, h_cpu, or h_vmem limit"
"""Grid Engine ended a unit at a limit, and does not say which."""
_APART = 120.0
"""Seconds between the end of a worker and that of its unit, which may have to be killed."""
_SILENT = 60.0
"""Seconds between the last sign of life of driver and recorder and their end, at most."""
_ALIKE = 0.1
"""Share by which the limit of a cgroup may differ from what its manager says."""
_AT_ONCE = 15.0
"""Seconds between the deletion of a pod and the end of its worker: pods are deleted at the end."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the run, and what its manager said of it.

    Attributes:
        id: As the manager calls it.
        manager: Name of the manager.
        names: Of its workers, as the cluster object calls them.
        states: What the manager said of it, by time.
        log: The end of its own log, if it was read.
        of_driver: Whether the driver itself runs in it.
        over: Whether it has ended for good.
        ends: Whether its manager has ended it, and only its processes may still run.
        arrived: Whether a worker of it has joined.
        pending: What the manager said of it while it waited, if it never started; what ended it
            then is the end of the run.
    """

    id: str
    manager: str
    names: tuple[str, ...] = ()
    states: tuple[UnitState, ...] = ()
    log: UnitLog | None = None
    of_driver: bool = False
    over: bool = False
    ends: bool = False
    arrived: bool = False
    pending: UnitState | None = None

    @property
    def state(self) -> UnitState:
        """What the manager said of it last; an empty state, if it said nothing."""
        return self.states[-1] if self.states else UnitState()

    @property
    def lines(self) -> Sequence[str]:
        """The last lines of its own log, if it was read."""
        return self.log.lines if self.log is not None else ()

    @property
    def node(self) -> str:
        """Where it ran last; empty: not known."""
        return next((x.node for x in reversed(self.states) if x.node), "")

    @property
    def ending(self) -> UnitEnding | None:
        """Why its manager ended it; None: it did not, or it is not known."""
        said = f"{self.state.state} {self.state.reason}"
        for ending, pattern in _STATES if self.over or self.ends else ():
            if bounded(pattern).search(said):
                return ending
        if self.over and bounded(_ONE_OF_ITS_LIMITS).search(said):
            return self._limit_met
        for ending, pattern in _LINES:
            if self._line_of(pattern):
                return ending
        if self.ends and self._line_of(_CANCELLED_AT):
            return "cancelled"
        return "cancelled" if self.over and bounded(_CANCELLED).search(said) else None

    @property
    def _limit_met(self) -> UnitEnding | None:
        """Which limit it had reached, as far as its own figures say; None: they do not."""
        state, lasted = self.state, self.lasted or 0.0
        if state.memory_limit and (state.memory or 0) >= state.memory_limit:
            return "memory"
        return "time-limit" if state.time_limit and lasted >= state.time_limit else None

    def until(self, at: float) -> Unit:
        """Return it as it was at the end that is nearest to a moment: it may have several."""
        ends = [x.ended for x in self.states if x.ended and _is_over(self.manager, [x])]
        if not ends:
            return self
        nearest = min(ends, key=lambda ended: abs(ended - at))
        past = [x for x in self.states if not x.ended or x.ended <= nearest]
        while past and not _is_over(self.manager, past):
            past.pop()
        return replace(self, states=tuple(past), over=True) if past else self

    def as_it_waited(self) -> Unit:
        """Return it as it was before something ended it, if it never started."""
        if self.pending is None:
            return self
        states = self.states[: self.states.index(self.pending) + 1]
        return replace(self, states=states, over=False)

    @property
    def word(self) -> str:
        """What its manager calls such a unit: `job`, `pod`."""
        manager = manager_named(self.manager)
        return "job" if manager is None else manager.unit

    @property
    def line(self) -> str:
        """The line of its log that says why it ended; empty: there is none."""
        for ending, pattern in (*_LINES, ("cancelled", _CANCELLED_AT)):
            if ending == self.ending:
                return self._line_of(pattern)
        return ""

    def _line_of(self, pattern: str) -> str:
        said = bounded(pattern).search
        return next((line for line in reversed(self.lines) if said(line)), "")

    @property
    def lasted(self) -> float | None:
        """Seconds from its start to its end; None: not known."""
        state = self.state
        if not state.started or not state.ended or not self.over:
            return None
        return state.ended - state.started


class Units:
    """The units of a run.

    Args:
        run: The run.
    """

    def __init__(self, run: RunTables) -> None:
        managers, names = _requested(run)
        self._by_address: dict[str, str] = {}
        for process in run.of(ProcessAncestors):
            if found := unit_named_in(process.units):
                managers[found[1]] = found[0].name
                self._by_address[process.subject] = found[1]
        own = unit_of_host(run.manifest.host)
        if own is not None:
            managers[own[1]] = own[0].name
        states: dict[str, list[UnitState]] = defaultdict(list)
        for state in run.of(UnitState):
            states[state.subject].append(state)
            managers.setdefault(state.subject, state.manager)
            if state.worker and state.worker not in names[state.subject]:
                names[state.subject].append(state.worker)
        joined = {str(name) for name in run.workers["name"].drop_nulls()}
        logs = {each.subject: each for each in run.of(UnitLog) if not each.error}

        def has_joined(unit: str) -> bool:
            called = names[unit]
            by_name = any(is_of_unit(w, name) for w in joined for name in called)
            return by_name or unit in self._by_address.values()

        self.all = tuple(
            Unit(
                id=unit,
                manager=manager,
                names=tuple(names[unit]),
                states=tuple(states[unit]),
                log=logs.get(unit),
                of_driver=own is not None and own[1] == unit,
                over=_is_over(manager, states[unit]),
                ends=_is_ending(manager, states[unit]),
                arrived=has_joined(unit),
                pending=_pending(manager, states[unit]),
            )
            for unit, manager in managers.items()
        )
        self._asked = run.of(ManagerAsked)

    def of_worker(self, address: str, name: str | None) -> Unit | None:
        """Return the unit that a worker ran in; None: not known.

        Args:
            address: Of the worker.
            name: As its cluster calls it.
        """
        unit = self._by_address.get(address)
        for each in self.all:
            if each.id == unit:
                return each
        for each in self.named(name) if unit is None else ():
            return each
        host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
        at = [each for each in self.all if host and each.state.address == host]
        return at[0] if len(at) == 1 else None

    def is_placed(self, address: str) -> bool:
        """Return whether a worker's own environment names its unit."""
        return address in self._by_address

    def named(self, name: str | None) -> tuple[Unit, ...]:
        """Return the units whose workers have a name, the last one first."""
        if not name:
            return ()
        return tuple(
            each
            for each in reversed(self.all)
            if any(is_of_unit(name, own) for own in each.names)
        )

    @property
    def missing(self) -> tuple[Unit, ...]:
        """The units of which no worker has joined."""
        return tuple(u for u in self.all if not u.arrived and not u.of_driver)

    @property
    def of_driver(self) -> Unit | None:
        """The unit that the driver itself runs in; None: in none, as far as is known."""
        return next((each for each in self.all if each.of_driver), None)

    def errors_of(self, manager: str) -> tuple[str, ...] | None:
        """Return why a manager gave no answer; none: it gave one; None: it was not asked."""
        asked = [each for each in self._asked if each.manager == manager]
        if not asked:
            return None
        errors = [each.error for each in asked]
        return tuple(errors) if all(errors) else ()


def units_of(run: RunTables) -> Units:
    """Return the units of a run."""
    return run.once(Units)


def limit_of(unit: Unit) -> float:
    """Return the time limit that a manager said last, in seconds; 0: it said none."""
    return next((x.time_limit for x in reversed(unit.states) if x.time_limit), 0.0)


def unit_at_its_limit(run: RunTables, at: float) -> Unit | None:
    """Return the unit that the driver ran in, if its time was over at about a moment.

    Args:
        at: When there was the last sign of life: the end may be a little later.
    """
    unit = units_of(run).of_driver
    began = next((x.started for x in unit.states if x.started), None) if unit else None
    if unit is None or began is None or not limit_of(unit):
        return None
    over = began + limit_of(unit)
    return unit if over - _SILENT <= at <= over + _APART else None


def memory_limit_of(unit: Unit) -> int:
    """Return the memory limit that a manager said last, in bytes; 0: it said none."""
    return next((x.memory_limit for x in reversed(unit.states) if x.memory_limit), 0)


def unit_that_was_full(run: RunTables, death: WorkerExit) -> Unit | None:
    """Return the unit at whose memory limit the kernel killed a worker; None: not known.

    Where a manager has the kernel limit its units (by cgroups), it kills a process of one, and
    the unit continues.  The limit of the worker's cgroup is then that of the unit.
    """
    unit = units_of(run).of_worker(death.address, death.name)
    if unit is None or not death.oom_kills:
        return None
    # A worker that dies at once has not reported its limits; its nanny is in the same cgroup.
    reported = [
        x.limits.get("cgroup", 0)
        for x in run.of(ProcessAncestors)
        if x.subject == death.address
    ]
    seen = [
        x.cgroup_limit for x in run.of(WorkerExitReport) if x.subject == death.address
    ]
    own = next((x for x in (*reversed(reported), *seen) if x), 0)
    limit = memory_limit_of(unit)
    return unit if abs(own - limit) < _ALIKE * limit else None


def unit_at_exit(run: RunTables, death: WorkerExit) -> Unit | None:
    """Return the unit whose end was that of a worker; None: it continued, or is not known."""
    units = units_of(run)
    unit = units.of_worker(death.address, death.name)
    # A unit that replaces another one has the same name of a worker.
    others = () if units.is_placed(death.address) else units.named(death.name)
    for each in (unit, *others):
        ended = None if each is None else _ended_at(each.until(death.at), death.at)
        if ended is not None:
            return ended
    return None


def _ended_at(unit: Unit, at: float) -> Unit | None:
    """Return a unit if its manager ended it at about a moment."""
    if unit.ending is None:
        return None
    ended = unit.state.ended if unit.over else None
    apart = abs(ended - at) if ended is not None else 0.0
    of_deletion = unit.word == "pod" and unit.ending == "cancelled"
    return unit if apart <= (_AT_ONCE if of_deletion else _APART) else None


def _requested(run: RunTables) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the units that cluster objects requested: the manager and the names of each."""
    managers: dict[str, str] = {}
    names: dict[str, list[str]] = defaultdict(list)
    for named in _named(run):
        manager = manager_of_cluster(named.cluster)
        for name, unit in named.units.items():
            if manager is not None:
                managers[unit] = manager.name
                names[unit].append(name)
    return managers, names


def _named(run: RunTables) -> Sequence[UnitsNamed]:
    """Return what cluster objects requested: before a client was recorded, and since."""
    before = [
        UnitsNamed(
            at=each.at, cluster=each.cluster.kind or "", units=each.cluster.units
        )
        for each in run.of(DriverAttached)
        if each.cluster is not None and each.cluster.units
    ]
    return (*before, *run.of(UnitsNamed))


def _pending(manager: str, states: Sequence[UnitState]) -> UnitState | None:
    """Return the last state of a unit that waited, if it never started."""
    found = manager_named(manager)
    lasting = [each for each in states if found and not found.is_over(each.state)]
    if not found or not lasting or not lasting[-1].state.startswith(found.pending):
        return None
    return lasting[-1]


def _is_over(manager: str, states: Sequence[UnitState]) -> bool:
    found = manager_named(manager)
    return found is not None and bool(states) and found.is_over(states[-1].state)


def _is_ending(manager: str, states: Sequence[UnitState]) -> bool:
    found = manager_named(manager)
    return found is not None and bool(states) and found.is_ending(states[-1].state)
