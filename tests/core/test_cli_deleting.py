"""`dask blackbox rm` and `prune`: nothing of a deleted run is left in the store."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import RunAddress, safe
from dask_blackbox.reader.deletion import Deletion
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.testing import a_log
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


@pytest.mark.parametrize(
    "words",
    [
        ("prune", "--older-than", "90", "--yes"),
        ("prune", "--older-than", " 1.5 ", "--yes"),
        ("ls", "--since", "90"),
        ("reap", "--since", "90"),
        ("logs", "--since", "90"),
        ("logs", "--until", "-90"),
    ],
)
def test_a_number_without_a_unit_is_refused_by_every_command(
    full: Shelf, words: tuple[str, ...]
) -> None:
    full.record("nightly", "logged", a_log("hello"), started=time.time())
    before = list(full.store.names())

    result = typed(*words, "--store", full.url)

    assert result.exit_code == 2
    assert "has no unit; give one like" in result.stderr
    assert list(full.store.names()) == before


def test_what_is_deleted_is_listed_with_its_age(full: Shelf) -> None:
    result = typed("prune", "--older-than", "30d", "--yes", "--store", full.url)

    assert "nightly/old/1" in result.stdout
    assert "100 d" in result.stdout
    assert " old  " in result.stdout


def test_each_deletion_leaves_a_line_that_no_later_one_removes(full: Shelf) -> None:
    typed("rm", "nightly/old", "--yes", "--store", full.url)
    typed("prune", "--older-than", "30d", "--yes", "--store", full.url)
    typed("prune", "--older-than", "1s", "--dry-run", "--store", full.url)
    typed("rm", "--job", "nightly", "--yes", "--store", full.url)

    names = list(full.store.names("audit/"))
    lines = [
        msgspec.json.decode(line, type=Deletion)
        for name in names
        for line in full.store.get(name).splitlines()
    ]
    assert len(names) == 3
    assert sorted(each.run for each in lines) == [
        "nightly/new/1",
        "nightly/old/1",
        f"{safe('week/ly')}/old/1",
    ]
    assert {each.command.split()[-1] for each in lines} == {"rm", "prune"}
    assert all(each.user and each.host and each.blobs > 0 for each in lines)
    assert all(abs(each.at - time.time()) < DAY for each in lines)
