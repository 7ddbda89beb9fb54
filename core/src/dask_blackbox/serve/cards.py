"""Cards for the viewer: read once where they will not change any more."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from dask_blackbox.attach import RunCard
from dask_blackbox.errors import BlobNotFoundError
from dask_blackbox.layout import RunAddress
from dask_blackbox.opened import Run, find_run
from dask_blackbox.store import Store

__all__ = ["Cards"]

_MOST_KEPT = 2000
_FOR_A_MOMENT = 5.0
"""Seconds for which what may still change is kept."""


class Cards:
    """The cards of a store's runs.

    Args:
        store: Where the runs lie.
        now: Tells monotonic seconds.
    """

    def __init__(
        self, store: Store, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._now = now
        self._kept: OrderedDict[RunAddress, tuple[RunCard, float]] = OrderedDict()
        self._lock = Lock()

    def card(self, address: RunAddress) -> RunCard:
        """Return the card of a run, made from its segments if nobody has written it.

        Raises:
            RunNotFoundError: if there is no such run.
        """
        with self._lock:
            card, until = self._kept.get(address, (None, 0.0))
        if card is not None and self._now() < until:
            return card
        try:
            card = RunCard.from_json(self._store.get(f"{address.folder}card.json"))
            until = float("inf")
        except BlobNotFoundError:
            card = self.run(address).card()
            until = self._now() + _FOR_A_MOMENT
        with self._lock:
            self._kept[address] = (card, until)
            self._kept.move_to_end(address)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return card

    def run(self, address: RunAddress) -> Run:
        """Open a recording.

        Raises:
            RunNotFoundError: if there is no such run.
        """
        job, run, attempt = address
        return find_run(self._store, f"{job}/{run}/{attempt}")
