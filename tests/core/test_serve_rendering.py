"""Pages of runs without an end, made in a process of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.errors import RecordingError
from dask_blackbox.reader import Run
from dask_blackbox.serve.rendering import rendered_page
from dask_blackbox.store import store_settings
from stored_runs import Shelf


def test_a_lost_run_is_finished_in_the_store_on_request(shelf: Shelf) -> None:
    at = shelf.record("nightly", "gone", state="lost")
    settings = store_settings(shelf.url)

    page = rendered_page(settings, at, "report.html", finish=True)

    assert b"<!doctype html>" in page[:100].lower()
    run = Run.at(shelf.store, at)
    assert run.ending is not None
    assert run.state == "lost"
    assert shelf.store.get(f"{at.folder}report.html") == page
    assert RunCard.from_json(shelf.store.get(f"{at.folder}card.json")).state == "lost"


def test_a_run_that_continues_is_shown_and_never_finished(shelf: Shelf) -> None:
    at = shelf.record("nightly", "now", state="running")

    card = rendered_page(store_settings(shelf.url), at, "card.json", finish=True)

    assert RunCard.from_json(card).state == "running"
    assert Run.at(shelf.store, at).ending is None


def test_who_may_only_read_gets_the_page_all_the_same(shelf: Shelf) -> None:
    at = shelf.record("nightly", "gone", state="lost")
    # A file in the way stops everybody, those included who run tests as root.
    (Path(shelf.url) / at.folder / "tables").touch()

    card = rendered_page(store_settings(shelf.url), at, "card.json", finish=True)

    assert RunCard.from_json(card).state == "lost"
    assert f"{at.folder}complete.json" not in list(shelf.store.names(at.folder))


def test_what_cannot_be_made_is_reported_with_its_reason(shelf: Shelf) -> None:
    at = shelf.record()
    nowhere = at._replace(run="never")

    with pytest.raises(RecordingError, match="never"):
        rendered_page(store_settings(shelf.url), nowhere, "report.html")
    with pytest.raises(RecordingError, match="within 0 s"):
        rendered_page(store_settings(shelf.url), at, "report.html", timeout=0.001)
