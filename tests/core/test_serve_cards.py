"""Cards are read once where they will not change, and again where they may."""

from __future__ import annotations

from dask_blackbox.serve.cards import Cards
from stored_runs import Shelf


def test_a_card_that_was_written_is_read_once(shelf: Shelf) -> None:
    at = shelf.record(headline="as it was")
    cards = Cards(shelf.store)
    first = cards.card(at)
    shelf.store.delete(f"{at.folder}card.json")

    assert cards.card(at) is first


def test_a_run_that_continues_is_checked_again_in_a_moment(shelf: Shelf) -> None:
    clock = [100.0]
    cards = Cards(shelf.store, now=lambda: clock[0])
    at = shelf.record(state="running")
    assert cards.card(at).state == "running"
    shelf.record(state="failed")

    at_once = cards.card(at).state
    clock[0] += 6
    later = cards.card(at).state

    assert (at_once, later) == ("running", "failed")


def test_a_damaged_card_is_rebuilt_from_the_recording(shelf: Shelf) -> None:
    at = shelf.record()
    shelf.store.put(f"{at.folder}card.json", b"{oops")

    assert Cards(shelf.store).card(at).state == "succeeded"
