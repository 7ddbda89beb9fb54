"""Cards and reports of stored runs, as the recorder wrote them or made now where it could not.

The viewer and `ls` read a card once where it will not change any more.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import BoundedSemaphore, Lock

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlobNotFoundError, MalformedRecordingError, StoreError
from dask_blackbox.job_history import Past
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader import Run
from dask_blackbox.reader.damaged_documents import read_card
from dask_blackbox.reader.documents import GONE, WRONG
from dask_blackbox.reader.notes import notes_about
from dask_blackbox.reader.recording_tables import checksum_fits
from dask_blackbox.reader.unreadable import reading
from dask_blackbox.store import Store

_MOST_KEPT = 2000
_KEPT_FOR = {"running": 5.0, "lost": 300.0}
"""Seconds for which what may still change is kept."""

_MADE_AT_ONCE = 2
"""Diagnosing a run from its segments takes a core and memory."""


class Cards:
    """The cards of a store's runs.

    Args:
        now: Returns monotonic seconds.
    """

    def __init__(
        self, store: Store, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._now = now
        self._kept: OrderedDict[RunAddress, tuple[RunCard, float]] = OrderedDict()
        self._lock = Lock()
        self._making = BoundedSemaphore(_MADE_AT_ONCE)

    def card(self, address: RunAddress) -> RunCard:
        """Return the card of a run, made from its segments if none was written.

        Raises:
            RunNotFoundError: if there is no such run.
        """
        with self._lock:
            kept, until = self._kept.get(address, (None, 0.0))
        if kept is not None and self._now() < until:
            return kept
        with reading(address):
            card = read_card(self._store, address.folder, {})
            if card is None:
                with self._making:
                    card = self.run(address).card()
                until = self._now() + _KEPT_FOR.get(card.state, _KEPT_FOR["lost"])
            else:
                until = float("inf")
        self._keep(address, card, until)
        return card

    def _keep(self, address: RunAddress, card: RunCard, until: float) -> None:
        with self._lock:
            self._kept[address] = (card, until)
            self._kept.move_to_end(address)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def run(self, address: RunAddress) -> Run:
        """Open a recording.

        Raises:
            RunNotFoundError: if there is no such run.
        """
        return Run.at(self._store, address)


REPORTS = ("report.html", "performance_report.html")


def card_of_run(run: Run) -> RunCard:
    """Return the card that the host was shown, its links renewed and its notes as of now.

    Of a run without an end, it is made from what was recorded.
    """
    return with_notes(_card_of_run(run), run.store, run.address)


def with_notes(card: RunCard, store: Store, address: RunAddress) -> RunCard:
    """Return a card with the notes that the store has by now, as far as it can be read."""
    past = card.past or Past()
    seen = None if past.recurrence is None else past.recurrence.fingerprint
    try:
        notes = notes_about(store, address, seen)
    except StoreError:
        return card
    if notes == past.notes:
        return card
    return msgspec.structs.replace(
        card, past=msgspec.structs.replace(past, notes=notes)
    )


def _card_of_run(run: Run) -> RunCard:
    # Without a whole `complete.json` it is unknown whether a card is the one of this end.
    if run.ending is not None and run.ending_is_stored:
        noted = run.ending.blobs.get("card.json")
        card = read_card(run.store, run.folder, run.damaged, noted)
        if card is not None:
            return msgspec.structs.replace(card, links=card.links | run.links())
    return run.card()  # the recording says it all again


def report_of_run(run: Run, name: str) -> bytes:
    """Return one of the `REPORTS`.

    Before the end of a run, the page in the store only says that it continues; of a lost
    run, nothing else will ever be there.
    """
    from dask_blackbox.report import is_on_demand

    if run.ending is not None and run.ending_is_stored:
        try:
            page = run.store.get(f"{run.folder}{name}")
        except BlobNotFoundError:
            run.damaged[name] = GONE  # the recording says it all again
        except MalformedRecordingError as error:
            run.damaged[name] = str(error)
        else:
            if not checksum_fits(page, run.ending.blobs.get(name)):
                run.damaged[name] = WRONG
            elif not is_on_demand(page):
                return page
    from dask_blackbox.report import html, performance_html

    render = html if name == "report.html" else performance_html
    return render(run, run.card()).encode("utf-8", "replace")
