"""Events about the units that a cluster manager runs workers in: jobs of a queue."""

from __future__ import annotations

from typing import ClassVar

from dask_blackbox.events.base import Event


class UnitsNamed(Event, frozen=True, kw_only=True):
    """A cluster object of the driver has requested units from its manager.

    Attributes:
        pid: Process id of the driver.
        cluster: Class of the cluster object.
        scheduler: Address of its scheduler.
        units: Ids of units by the name that the cluster object has for each; a unit of several
            workers has one.
        folder: Where the manager writes the units' own logs, if the cluster object says it.
        more: How many units were left out.
    """

    kind: ClassVar[str] = "units-named"

    pid: int | None = None
    cluster: str = ""
    scheduler: str | None = None
    units: dict[str, str] = {}
    folder: str | None = None
    more: int = 0


class UnitState(Event, frozen=True, kw_only=True):
    """What a cluster manager said of a unit when it was asked; the unit's id is the subject.

    Attributes:
        manager: Name of the manager.
        state: In the manager's own word: `PENDING`, `RUNNING`, `TIMEOUT`.
        reason: Why it is in that state, in the manager's own words.
        node: Where it runs or ran.
        user: Whose it is.
        by: Who ended it, if the manager says it.
        requested: When it was requested, epoch seconds.
        started: When it started.
        ended: When it ended; of one that has not ended, when it ends at its time limit.
        time_limit: Seconds that it may take; null: no limit, or not known.
        memory_limit: Bytes that it may use.
        memory: The most bytes that it used, as the manager measured it.
        exit_code: Of its command.
        signal: Number of the signal that ended that.
        log: File with its standard error.
        worker: What its worker is called, if the manager knows it.
        address: IP address of its own.
        image: Image of its container.
        requests: Resources that it asked for (`memory`, `cpu`), in the manager's own words.
        restarts: How often its command was started again.
    """

    kind: ClassVar[str] = "unit-state"

    manager: str = ""
    state: str = ""
    reason: str = ""
    node: str = ""
    user: str = ""
    by: str = ""
    requested: float | None = None
    started: float | None = None
    ended: float | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    memory: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    log: str = ""
    worker: str = ""
    address: str = ""
    image: str = ""
    requests: dict[str, str] = {}
    restarts: int = 0


class UnitLog(Event, frozen=True, kw_only=True):
    """The end of a unit's own log; the unit's id is the subject.

    Attributes:
        manager: Name of the manager.
        path: Of the file.
        lines: Its last lines.
        left_out: How many bytes there are before these.
        error: Why it was not read.
    """

    kind: ClassVar[str] = "unit-log"

    manager: str = ""
    path: str = ""
    lines: tuple[str, ...] = ()
    left_out: int = 0
    error: str = ""


class ManagerAsked(Event, frozen=True, kw_only=True):
    """A cluster manager was asked for the state of units.

    Attributes:
        manager: Name of the manager.
        command: The program that was called.
        units: How many units it was asked for.
        seconds: That the answer took.
        error: Why there was none; empty: there was.
    """

    kind: ClassVar[str] = "manager-asked"

    manager: str = ""
    command: str = ""
    units: int = 0
    seconds: float = 0.0
    error: str = ""
