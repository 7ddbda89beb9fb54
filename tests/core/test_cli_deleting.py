"""`dask blackbox rm` and `prune`: nothing of a deleted run is left in the store."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.earlier_runs import write_sketch
from stored_runs import Shelf

DAY = 24 * 3600.0


def typed(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(blackbox, words, input=answer, catch_exceptions=False)


def with_history(shelf: Shelf, job: str, run_id: str, *, days_ago: float) -> RunAddress:
    """Write a run that has left its sketch, as every run does."""
    at = shelf.record(job, run_id, started=time.time() - days_ago * DAY)
    write_sketch(shelf.store, (run := Run.at(shelf.store, at)), run.card())
    return at


@pytest.fixture
def full(shelf: Shelf) -> Shelf:
    """Return a store with runs of two jobs."""
    with_history(shelf, "nightly", "old", days_ago=100)
    with_history(shelf, "nightly", "new", days_ago=1)
    with_history(shelf, "week/ly", "old", days_ago=90)
    return shelf


def left_of(shelf: Shelf, word: str) -> list[str]:
    return [name for name in shelf.store.names() if word in name]


def test_rm_leaves_nothing_of_a_run_and_all_of_the_others(full: Shelf) -> None:
    others = [name for name in full.store.names() if "old" not in name]
    weekly = left_of(full, "week_ly")

    result = typed("rm", "nightly/old", "--yes", "--store", full.url)

    assert result.exit_code == 0
    assert [name for name in left_of(full, "old") if name not in weekly] == []
    assert set(others) <= set(full.store.names())
    assert left_of(full, "week_ly") == weekly


def test_rm_of_a_job_leaves_nothing_of_it(full: Shelf) -> None:
    result = typed("rm", "--job", "week/ly", "--yes", "--store", full.url)

    assert result.exit_code == 0
    assert left_of(full, "week_ly") == []
    assert len(left_of(full, "nightly")) > 0


def test_rm_takes_the_sketch_of_a_run_whose_recording_is_gone(full: Shelf) -> None:
    for name in list(full.store.names("runs/job=nightly/run=old/")):
        full.store.delete(name)
    for name in list(full.store.names("index/")):
        if "~old~" in name and "nightly" in name:
            full.store.delete(name)
    assert len([each for each in left_of(full, "~old~") if "nightly" in each]) == 1

    assert typed("rm", "nightly/old", "--yes", "--store", full.url).exit_code == 0
    assert [each for each in left_of(full, "~old~") if "nightly" in each] == []


def test_a_dry_run_reports_what_would_go_and_deletes_nothing(full: Shelf) -> None:
    before = list(full.store.names())

    result = typed("rm", "nightly/old", "--dry-run", "--store", full.url)

    assert "nightly/old/1" in result.stdout
    assert "Would delete 1 run" in result.stderr
    assert list(full.store.names()) == before


def test_without_yes_it_asks_and_no_means_no(full: Shelf) -> None:
    before = list(full.store.names())

    result = typed("rm", "nightly/old", "--store", full.url, answer="n\n")

    assert result.exit_code == 1
    assert "Delete 1 run" in result.output
    assert list(full.store.names()) == before


def test_the_name_of_a_job_alone_deletes_nothing(full: Shelf) -> None:
    result = typed("rm", "nightly", "--yes", "--store", full.url)

    assert result.exit_code == 2
    assert "--job nightly" in result.stderr


def test_prune_deletes_what_is_old_with_its_sketches(full: Shelf) -> None:
    result = typed("prune", "--older-than", "30d", "--yes", "--store", full.url)

    assert result.exit_code == 0
    assert "Deleted 2 runs" in result.stderr
    assert left_of(full, "old") == []
    assert left_of(full, "new") != []


def test_prune_keeps_the_newest_and_the_history_where_asked(full: Shelf) -> None:
    typed("prune", "--older-than", "30d", "--keep", "1", "--yes", "--store", full.url)
    assert [n for n in left_of(full, "old") if "nightly" in n] == []
    assert left_of(full, "week_ly") != []

    typed(
        "prune", "--older-than", "30d", "--keep-history", "--yes", "--store", full.url
    )
    assert [n.split("/")[0] for n in left_of(full, "week_ly")] == ["sketches"]


def test_prune_leaves_a_run_that_is_being_recorded(shelf: Shelf) -> None:
    shelf.record("nightly", "alive", state="running", started=time.time() - 90 * DAY)
    before = list(shelf.store.names())

    result = typed("prune", "--older-than", "1d", "--yes", "--store", shelf.url)

    assert "is being recorded" in result.stderr
    assert list(shelf.store.names()) == before


def test_an_interrupted_deletion_can_be_repeated(full: Shelf) -> None:
    for name in list(full.store.names("runs/job=nightly/run=old/")):
        if not name.endswith("/run.json"):
            full.store.delete(name)

    typed("rm", "nightly/old", "--yes", "--store", full.url)

    assert [n for n in left_of(full, "old") if "nightly" in n] == []


def test_an_age_that_is_none_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    result = typed("prune", "--older-than", "soon", "--store", shelf.url)

    assert result.exit_code == 2
    assert "'7 days'" in result.stderr
