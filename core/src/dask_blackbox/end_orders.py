"""Which workers the run itself ended: an end that was ordered is no death.

Cluster objects end workers by whatever means their manager has: a signal, a cancelled job, a
deleted pod.  To the scheduler that looks like a death, unless the worker was retired before.
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
    WorkersEndedByCluster,
)

SOURCES = (
    DriverClosing, WorkersEndedByCluster, SchedulerInfo, WorkerAdded, DriverAttached,
    ClientRemoved,
)  # fmt: skip
"""The events to add: the orders, what names the schedulers, and the end of a client's run."""

_GRACE = 150.0
"""Seconds that a manager may give a worker between the order and its end."""


@dataclass(frozen=True)
class EndOrder:
    """An order that ended a worker.

    Attributes:
        at: When it was given, epoch seconds.
        by: Who gave it, in words.
    """

    at: float
    by: str


class EndOrders:
    """The orders of a run that end workers, as far as they have been added."""

    def __init__(self) -> None:
        self._named: dict[str, list[WorkersEndedByCluster]] = defaultdict(list)
        self._whole: dict[str, list[EndOrder]] = defaultdict(list)
        self._schedulers: set[str] = set()
        self._clients: set[str] = set()
        self._left: dict[str, float] = {}

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
            case WorkerAdded(scheduler=str(scheduler)):
                self._schedulers.add(scheduler)
            case DriverAttached(pid=None, client=str(client)):  # its scheduler says it
                self._clients.add(client)
            case ClientRemoved():
                self._left.setdefault(event.subject, event.at)

    def order_for(
        self,
        scheduler: str,
        name: str | None,
        at: float,
        *,
        joined: float,
        clocks: float,
    ) -> EndOrder | None:
        """Return the order that ended a worker; None: none did.

        Args:
            scheduler: Address of its scheduler; empty: not known.
            name: Of the worker.
            at: When it was seen to end, epoch seconds.
            joined: When it arrived, epoch seconds: an earlier worker of the same name is another.
            clocks: Seconds by which the clocks of driver and scheduler may differ.
        """
        given = [
            order
            for address in self._addresses_of(scheduler)
            for order in (
                *self._whole.get(address, ()),
                *self._naming(address, name, at),
            )
            if joined - clocks <= order.at <= at + clocks
        ]
        # By one clock: who is killed just before has died.
        given += [each for each in self._after_run() if joined <= each.at <= at]
        return min(given, key=lambda order: order.at, default=None)

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
                # A cluster object is the driver's; a gateway is nobody's.
                whose = "the driver's " if event.pid else ""
                yield EndOrder(event.at, f"{whose}{event.cluster}")


def is_of_unit(name: str, unit: str) -> bool:
    """Return whether a worker is that of a cluster object's unit, or one of several.

    Args:
        name: Of the worker.
        unit: What the cluster object calls the unit.
    """
    return name == unit or name.startswith(f"{unit}-")
