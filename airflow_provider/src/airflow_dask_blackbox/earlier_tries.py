"""The outcome of earlier tries: the log of the next one begins with it.

Airflow clears a task's XComs on each try.  The task's state store (Airflow 3.3) survives
that, and SIGKILL too; what a killed try could not say itself is on the card in the store,
which its recorder has written, or writes just now.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, links_lead_to_store, tab_of
from airflow_dask_blackbox.task_log import Log, verdict_of

if TYPE_CHECKING:
    # The real ones need msgspec only, but they are needed in tasks only, too.
    from dask_blackbox import RunCard
    from dask_blackbox.identity import Identity
    from dask_blackbox.store import StoreChoice

__all__ = ["EarlierTries", "card_before", "remember"]

_KEY: Final = "dask_blackbox"
_MOST: Final = 20
_WAIT: Final = 2.0
"""Seconds that a task waits for the card of the try before; its store may be slow."""


def remember(context: Mapping[str, Any], card: RunCard) -> None:
    """Keep the state and the address of this try's recording for later tries."""
    state_store = context.get("task_state_store")
    if state_store is None:
        return
    with guard("keeping the recording's address for the next try"):
        others = [
            known for known in _known(context) if known.get("attempt") != card.attempt
        ]
        this = {
            "attempt": card.attempt,
            "state": card.state,
            "headline": card.headline,
            "verdict": verdict_of(card),
            "recording": card.links.get("recording", ""),
            "report": card.links.get("report", ""),
        }
        state_store.set(_KEY, [*others, this][-_MOST:])


class EarlierTries:
    """Prints the outcome of the earlier tries of a task instance.

    Args:
        context: Airflow's.
        log: The task's logger.
    """

    def __init__(self, context: Mapping[str, Any], log: Log) -> None:
        self._log, self._number = log, int(context["ti"].try_number or 1)
        self._key = TaskKey.of(context["ti"])
        self._looking: threading.Thread | None = None
        self._known: dict[int, dict[str, object]] = {}
        if self._number > 1:
            with guard("what is remembered of earlier tries"):
                self._known = {
                    int(each["attempt"]): each
                    for each in _known(context)
                    if int(each.get("attempt", self._number)) < self._number
                }

    def look(self, who: Identity, store: StoreChoice) -> None:
        """Start to look for the card of the previous try, if that one could not report its end.

        Args:
            who: This try's identity.
            store: Where it is recorded.
        """
        before = self._known.get(self._number - 1)
        ended = before is not None and before.get("state") != "running"
        if self._number == 1 or ended:
            return
        self._looking = threading.Thread(
            target=self._look,
            args=(who, store),
            daemon=True,
            name="dask-blackbox-earlier",
        )
        self._looking.start()

    def show(self) -> None:
        """Print them; waits a moment for a card that is looked for."""
        with guard("showing earlier tries"):
            for number, known in sorted(self._known.items()):
                if known.get("state") != "running":
                    summary = str(known.get("verdict") or known.get("headline"))
                    self._show_try(number, summary, str(known.get("report") or ""))
            if self._looking is None:
                return
            self._looking.join(_WAIT)
            if self._looking.is_alive():
                number = self._number - 1
                # Without Airflow's state store, it may have ended and its store be slow.
                summary = (
                    "did not report its end; its recording is being finished"
                    if number in self._known
                    else "its verdict is not known yet"
                )
                self._show_try(number, summary, "")

    def _look(self, who: Identity, store: StoreChoice) -> None:
        with guard("the card of the try before"):
            card = card_before(who, store)
            if card is not None:
                report = card.links.get("report", "")
                self._show_try(self._number - 1, verdict_of(card), report)
            elif (known := self._known.get(self._number - 1)) is not None:
                address = str(known.get("report") or known.get("recording") or "")
                self._show_try(self._number - 1, "did not report its end", address)

    def _show_try(self, number: int, summary: str, address: str) -> None:
        self._log.info("Try %s: %s", number, summary)
        # Of a killed try, the recorder has written the card: its addresses are the store's.
        in_store = address if links_lead_to_store() else ""
        self._log.info("  %s", in_store or tab_of(self._key, number))


def card_before(who: Identity, chosen: StoreChoice) -> RunCard | None:
    """Return the card of the attempt before, once its recorder has ended it; None: never."""
    from dask_blackbox.layout import RunAddress
    from dask_blackbox.reader.stored_cards import ended_card

    address = RunAddress.of(who.job, who.run_id, who.attempt - 1)
    return ended_card(chosen.open(), address)


def _known(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    state_store = context.get("task_state_store")
    known = state_store.get(_KEY) if state_store is not None else None
    return known if isinstance(known, list) else []
