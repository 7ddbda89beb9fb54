"""Which workers the run itself ended: an end that was ordered is no death.

Cluster objects end workers by whatever means their manager has: a signal, a cancelled job, a
deleted pod.  To the scheduler that looks like a death, unless the worker was retired before.
Those of the driver are heard there; of all others, the scheduler hears what they ask it to retire.
Where the scheduler itself records (always-on), a run is what one client does: what ends when that
has left, whoever orders it, is no death of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dask_blackbox.events import (
    ClientRemoved,
    DriverAttached,
    DriverClosing,
    Event,
    SchedulerInfo,
    WorkerAdded,
    WorkerRemoved,
    WorkersEndedByCluster,
)

SOURCES = (
    DriverClosing, WorkersEndedByCluster, SchedulerInfo, WorkerAdded, WorkerRemoved,
    DriverAttached, ClientRemoved,
)  # fmt: skip
"""The events to add: the orders, what names schedulers and workers, who left when, and the end
of a client's run."""

_GRACE = 150.0
"""Seconds that a manager may give a worker between the order and its end."""
_A_CLUSTER = "a cluster object"
"""Who ordered what only the scheduler heard."""
OF_THE_CLUSTER = "the stop of the whole cluster"
"""What ended the workers of a cluster that its manager ended as a whole."""


@dataclass(frozen=True)
class EndOrder:
    """An order that ended a worker.

    Attributes:
        at: When it was given, epoch seconds.
        by: Who gave it, in words.
        heard: Whether the scheduler heard it: then its clock is that of the ends.
    """

    at: float
    by: str
    heard: bool = False


class EndOrders:
    """The orders of a run that end workers, as far as they have been added."""

    def __init__(self) -> None:
        self._named: dict[str, list[WorkersEndedByCluster]] = defaultdict(list)
        self._whole: dict[str, list[EndOrder]] = defaultdict(list)
        self._schedulers: set[str] = set()
        self._clients: set[str] = set()
        self._left: dict[str, float] = {}
        self._units: set[str] = set()  # what the names of workers may be known by
        self._nameless: dict[str, str] = {}  # schedulers of workers without names
        self._leaves: dict[str, list[tuple[float, str]]] = defaultdict(list)

    def add(self, event: Event) -> None:
        """Add an event of one of the `SOURCES`."""
        match event:
            case WorkersEndedByCluster():
                self._named[event.scheduler or ""].append(event)
            case DriverClosing(ends_workers_of=str(scheduler)):
                order = EndOrder(event.at, f"the driver's {event.what}()")
                self._whole[scheduler].append(order)
            case SchedulerInfo():
                self._schedulers.add(event.subject)
            case WorkerAdded():
                self._added(event)
            case WorkerRemoved():
                if (of := self._nameless.get(event.subject)) is not None:
                    self._leaves[of].append((event.at, event.subject))
            case DriverAttached(pid=None, client=str(client)):  # its scheduler says it
                self._clients.add(client)
            case ClientRemoved():
                self._left.setdefault(event.subject, event.at)

    def _added(self, event: WorkerAdded) -> None:
        if event.scheduler is not None:
            self._schedulers.add(event.scheduler)
        if event.name in (None, "", event.subject):  # Dask calls it by its address
            self._nameless[event.subject] = event.scheduler or ""
        else:
            self._units.update(units_in(event.name or ""))

    def order_for(
        self,
        scheduler: str,
        name: str | None,
        at: float,
        *,
        address: str,
        joined: float,
        clocks: float,
    ) -> EndOrder | None:
        """Return the order that ended a worker; None: none did.

        Args:
            scheduler: Address of its scheduler; empty: not known.
            name: Of the worker.
            at: When it was seen to end, epoch seconds.
            address: Of the worker.
            joined: When it arrived, epoch seconds: an earlier worker of the same name is another.
            clocks: Seconds by which the clocks of driver and scheduler may differ.
        """
        given = [
            order
            for known in self._addresses_of(scheduler)
            for order in (
                *self._whole.get(known, ()),
                *self._naming(known, name, at),
                *self._counting(known, address),
            )
            if _is_between(joined, order, at, 0.0 if order.heard else clocks)
        ]
        # By one clock: who is killed just before has died.
        given += [each for each in self._after_run() if joined <= each.at <= at]
        # The scheduler hears what the driver orders, but not whose order it is.
        return min(
            given, key=lambda each: (each.by == _A_CLUSTER, each.at), default=None
        )

    def _addresses_of(self, scheduler: str) -> set[str]:
        """Return by what a cluster object may call a scheduler.

        It may know another address of it than the workers do; where there is one scheduler
        only, that can be no other.
        """
        if self._schedulers - {scheduler}:
            return {scheduler}
        return {*self._whole, *self._named}

    def _after_run(self) -> Iterator[EndOrder]:
        """Yield that the client whose run this is has left, if its scheduler records it."""
        for client in self._clients & self._left.keys():
            yield EndOrder(self._left[client], "somebody, after the run")

    def _naming(self, address: str, name: str | None, at: float) -> Iterator[EndOrder]:
        for event in self._named.get(address, ()):
            soon = at <= event.at + _GRACE
            if soon and name and any(is_of_unit(name, unit) for unit in event.workers):
                # A cluster object may be the driver's; a gateway is nobody's.
                whose = "the driver's " if event.pid else ""
                by = f"{whose}{event.cluster}" if event.cluster else _A_CLUSTER
                yield EndOrder(event.at, by, heard=not event.pid)

    def _counting(self, scheduler: str, address: str) -> Iterator[EndOrder]:
        """Yield the orders to end as many workers as left first after them, this one among them.

        A cluster object need not give its workers the names by which it knows them, as those of
        SSH: then the number is all that the scheduler hears, and the workers have no names.
        """
        for event in (
            self._named.get(scheduler, ()) if address in self._nameless else ()
        ):
            if event.pid is not None or not self._units.isdisjoint(event.workers):
                continue
            leaves = self._leaves[self._nameless[address]]
            until = event.at + _GRACE
            left = [who for at, who in leaves if event.at <= at <= until]
            if address in left[: len(event.workers) + event.more]:
                yield EndOrder(event.at, event.cluster or _A_CLUSTER, heard=True)


def _is_between(joined: float, order: EndOrder, at: float, clocks: float) -> bool:
    """Return whether a worker had joined when an order was given, and had not ended yet."""
    return joined - clocks <= order.at <= at + clocks


def is_of_unit(name: str, unit: str) -> bool:
    """Return whether a worker is that of a cluster object's unit, or one of several.

    Args:
        name: Of the worker.
        unit: What the cluster object calls the unit.
    """
    return name == unit or name.startswith(f"{unit}-")


def units_in(name: str) -> Iterator[str]:
    """Yield what a cluster object may call the unit of a worker: `is_of_unit` of each is true."""
    yield name
    at = name.find("-")
    while at > 0:
        yield name[:at]
        at = name.find("-", at + 1)
