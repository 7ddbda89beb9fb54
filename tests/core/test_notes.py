"""`dask blackbox note`: what people know of a failure is on the cards of the next ones."""

from __future__ import annotations

import getpass
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run, runs
from dask_blackbox.cli import blackbox
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.job_history import Note
from dask_blackbox.layout import RunAddress, note_name, read_note_name
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.reader.notes import baseline_of, notes_about, write_note
from dask_blackbox.report import html, markdown, text
from dask_blackbox.report.notice import notice_of
from dask_blackbox.serve.cards import card_of_run
from dask_blackbox.store import MemoryStore
from dask_blackbox.testing import a_task, a_task_error
from stored_runs import Shelf

DAY = 24 * 3600.0
KNOWN = "The export was late: rerun at 06:00."


def typed(*words: str) -> Result:
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def night(shelf: Shelf, number: int, *, error: str | None = None) -> RunAddress:
    """Write a run of the job that has left its sketch, as every run does."""
    facts = [a_task("load-1")]
    if error is not None:
        kind, message = error.split(": ")
        facts = [
            a_task_error(
                "load-1",
                exception=f"builtins.{kind}",
                message=message,
                traceback=f"job:{kind}",
            )
        ]
    at = shelf.record(
        "nightly",
        f"run-{number}",
        *facts,
        started=time.time() - (10 - number) * DAY,
        state="succeeded" if error is None else "failed",
    )
    shelf.store.delete(f"{at.folder}card.json")
    run = Run.at(shelf.store, at)
    write_sketch(shelf.store, run, run.card())
    return at


@pytest.fixture
def failing(shelf: Shelf) -> Shelf:
    """Return a store with a good run and two equal failures of a job."""
    night(shelf, 1)
    night(shelf, 2, error="FileNotFoundError: orders.csv")
    night(shelf, 3, error="FileNotFoundError: orders.csv")
    night(shelf, 4, error="ZeroDivisionError: division by zero")
    return shelf


def test_a_note_is_on_the_cards_of_equal_failures_only(failing: Shelf) -> None:
    result = typed(
        "note", "nightly/run-2", KNOWN, "--by", "ann", "--store", failing.url
    )

    assert result.exit_code == 0, result.output
    cards = {
        number: Run.at(failing.store, RunAddress("nightly", f"run-{number}", 1)).card()
        for number in (1, 2, 3, 4)
    }
    noted = {
        number: [] if card.past is None else [each.text for each in card.past.notes]
        for number, card in cards.items()
    }
    assert noted == {1: [], 2: [KNOWN], 3: [KNOWN], 4: []}
    card = cards[3]
    run = Run.at(failing.store, RunAddress("nightly", "run-3", 1))
    for shown in (
        text(card),
        markdown(card),
        html(run, card),
        notice_of(card, "failed", run="nightly/run-3", page=None).text,
    ):
        assert "ann on " in shown
        assert ", about run-2/1: The export was late: rerun at 06:00." in " ".join(
            shown.split()
        )


def test_show_why_and_the_listing_have_notes_that_were_written_later(
    failing: Shelf,
) -> None:
    for words in (["--tag", "known-issue"], [KNOWN]):
        assert typed(
            "note", "nightly/run-3", *words, "--store", failing.url
        ).output == (
            "noted: nightly/run-3/1\ncards of later failures of this kind show it\n"
        )

    for verb in ("show", "why", "note"):
        shown = " ".join(
            typed(verb, "nightly/run-3", "--store", failing.url).output.split()
        )
        assert KNOWN in shown
        assert "#known-issue" in shown
        assert getpass.getuser() in shown
    frame = runs(failing.url, job="nightly").to_polars(details=True)
    tags = dict(frame.select("run_id", "tags").iter_rows())
    assert tags == {"run-1": None, "run-2": None, "run-3": "known-issue", "run-4": None}
    other = typed("note", "nightly/run-4", "--store", failing.url).output
    assert other == "no notes\n"


def test_one_run_is_compared_with_the_baseline_else_with_the_last_good_run(
    failing: Shelf,
) -> None:
    night(failing, 5)
    night(failing, 6)

    def compared(run: str) -> str:
        return typed("compare", run, "--store", failing.url).output.partition("after")[
            0
        ]

    assert "nightly/run-5/1" in compared("nightly/run-6")
    typed("note", "nightly/run-1", "--baseline", "--store", failing.url)
    assert baseline_of(failing.store, "nightly") == RunAddress("nightly", "run-1", 1)
    assert "nightly/run-1/1" in compared("nightly/run-6")
    # The baseline itself has no other one.
    refused = CliRunner().invoke(
        blackbox, ["compare", "nightly/run-1", "--store", failing.url]
    )
    assert refused.exit_code == 2
    assert "has no run to be compared with" in refused.output


def test_notes_are_deleted_with_their_run(failing: Shelf) -> None:
    typed("note", "nightly/run-2", KNOWN, "--store", failing.url)
    typed("note", "nightly/run-3", "other", "--store", failing.url)

    typed("rm", "nightly/run-2", "--yes", "--store", failing.url)

    [left] = failing.store.names("notes/")
    assert "~run-3~" in left
    assert not [name for name in failing.store.names() if "run-2" in name]


def test_a_note_is_redacted_and_bounded(failing: Shelf) -> None:
    typed("note", "nightly/run-2", "password=hunter2secret", "--store", failing.url)
    address = RunAddress("nightly", "run-2", 1)

    [note] = notes_about(failing.store, address, None)
    assert "hunter2secret" not in note.text
    for wrong in (
        {"text": "x" * 2_001},
        {"tags": ["two words"]},
        {"tags": list("abcdef")},
    ):
        arguments = {"text": "", "by": "ann", **wrong}
        with pytest.raises(ConfigurationError):
            write_note(failing.store, address, **arguments)  # type: ignore[arg-type]


def test_what_is_no_note_hides_none(failing: Shelf) -> None:
    address = RunAddress("nightly", "run-2", 1)
    failing.store.put(
        note_name(address, time.time() + 10, fingerprint="f"), b"nonsense"
    )
    failing.store.put("notes/nightly/what~is~this", b"")
    long = Note(run="r", at=1.0, by="eve", text="x" * 60_000)
    for blob in (msgspec.json.encode(long), b" " * 2**20):
        name = note_name(address, time.time() + 5, fingerprint="f")
        failing.store.put(name, blob)
    write_note(failing.store, address, KNOWN, by="ann")

    card = card_of_run(Run.at(failing.store, address))

    assert card.past is not None
    assert [each.text for each in card.past.notes] == [KNOWN]


def test_the_name_of_a_note_holds_its_facts() -> None:
    address = RunAddress("nightly", "run~2".replace("~", "_"), 3)
    name = note_name(
        address, 1.5, fingerprint="0123456789abcdef", baseline=True, tags=("b", "known")
    )

    found = read_note_name(name)

    assert found is not None
    assert found._replace(name="") == (
        "", address, "01234567", True, ("b", "known")
    )  # fmt: skip


def test_control_characters_of_a_note_reach_no_terminal() -> None:
    store = MemoryStore()
    note = write_note(store, RunAddress("j", "r", 1), "a\x1b[31mred\u202e", by="ann\n")

    assert msgspec.json.decode(store.get(next(store.names("notes/"))))["by"] == "ann"
    from dask_blackbox.card import RunCard
    from dask_blackbox.job_history import Past

    card = RunCard(
        job="j",
        run_id="r",
        attempt=1,
        state="failed",
        headline="h",
        past=Past(notes=(note,)),
    )
    assert "\x1b[31m" not in text(card)
    assert "\u202e" not in text(card)


def test_a_folder_store_has_notes_too(shelf: Shelf, tmp_path: Path) -> None:
    night(shelf, 1)
    assert typed("note", "nightly", "fine", "--store", shelf.url).exit_code == 0
    assert "fine" in typed("show", "nightly", "--store", shelf.url).output
