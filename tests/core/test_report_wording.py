"""What changed, in every rendering: short, ranked, and harmless whatever it says."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.finding import ChainStep, Change, CurrentState
from dask_blackbox.job_history import (
    EarlierAttempt,
    EarlierRun,
    Note,
    Past,
    Recurrence,
)
from dask_blackbox.layout import RunAddress
from dask_blackbox.report import html, html_card, markdown, text
from dask_blackbox.report.page_templates import environment_for
from dask_blackbox.report.wording import (
    coverage_text,
    missing_data,
    recurrence_text,
)
from dask_blackbox.run_tables import RunTables
from jinja2 import PackageLoader
from markdown_it import MarkdownIt
from runs_from_rows import a_failed_task, a_run, a_worker, an_exception, raised_in

HOSTILE = "<script>alert(1)</script>`|[x](javascript:1)\x1b[31m"


def a_failed_run() -> RunTables:
    return a_run(
        [a_worker()],
        [a_failed_task()],
        raised_in("divide-1", an_exception("ValueError", "x")),
    )


def a_card(**fields: Any) -> RunCard:
    run = a_failed_run()
    return msgspec.structs.replace(card_of(run, findings_in(run)), **fields)


def changes(number: int, rendered: str = "1.0") -> tuple[Change, ...]:
    return tuple(
        Change(kind="package", what=f"p{n}", before=rendered, after="2.0", rarity=1.0)
        for n in range(number)
    )


PAST = Past(
    runs=412,
    compared=101,
    good=398,
    unreadable=2,
    last_good=EarlierRun(run_id="run-7", started=1_795_230_000.0, duration=62.0),
    blame="data",
    summary="Data: only the input changed: 4.1 times the bytes.",
    confidence="medium",
    habits=("parameters day",),
    recurrence=Recurrence(
        fingerprint="f" * 12,
        basis="b",
        times=14,
        first=1_790_000_000.0,
        last=1_795_000_000.0,
        in_a_row=3,
    ),
    compare="dask blackbox compare j/run-7/1 j/run-8/1",
)


def pages(card: RunCard) -> tuple[str, str, str]:
    return text(card, width=200), markdown(card), html(a_failed_run(), card)


def test_every_rendering_contains_all_of_it() -> None:
    for page in pages(a_card(changes=changes(1), past=PAST)):
        rendered = page.replace("\\", "").replace("\n", " ")
        assert "4.1 times the bytes (likely)." in rendered
        assert "run-7" in rendered
        assert "101 of 412 earlier runs looked at; 398 of them succeeded" in rendered
        assert "2 could not be read" in rendered
        assert "parameters day" in rendered
        assert "14 times, first on 2026-09-21, last on 2026-11-18" in rendered
        assert "the 3rd time in a row" in rendered
        assert "dask blackbox compare j/run-7/1 j/run-8/1" in rendered


def test_the_top_of_the_page_reports_what_changed_where_a_run_failed() -> None:
    top, _, _ = html(a_failed_run(), a_card(changes=changes(1), past=PAST)).partition(
        'id="why"'
    )

    assert "Since the last good run: " in top
    assert "4.1 times the bytes (likely)." in top
    unchanged = html(a_failed_run(), a_card(past=PAST))
    assert "Since the last good run: " not in unchanged


def test_five_changes_are_shown_and_the_others_counted() -> None:
    shown, written, page = pages(a_card(changes=changes(9), past=PAST))

    assert "package p4" in shown
    assert "package p5" not in shown
    assert "+4 more" in shown
    assert "<summary>4 more</summary>" in written
    assert "<summary>4 more</summary>" in page


def test_nothing_that_changed_runs_or_renders_as_anything_else() -> None:
    past = msgspec.structs.replace(
        PAST, summary=HOSTILE, habits=(HOSTILE,), compare=HOSTILE
    )
    reported = (
        Change(kind=HOSTILE, what=HOSTILE, before=HOSTILE, after=HOSTILE, why=HOSTILE),
        *changes(6, HOSTILE),
    )
    shown, written, page = pages(a_card(changes=reported, past=past))

    assert "\x1b" not in shown + written + page
    assert "<script>alert" not in page
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(written)
    assert "<script>alert" not in rendered
    assert 'href="javascript' not in rendered


CODE = "Only `ds` changed"
_NO_SENTENCES = re.compile(r"<(title|script|style|pre|code)\b.*?</\1>", re.DOTALL)


def all_sentences(sentence: str) -> RunCard:
    """Return a card of which each sentence is this text."""
    card = a_card(headline=sentence)
    assert card.verdict is not None
    found = msgspec.structs.replace(
        card.verdict,
        title=sentence,
        own_title=sentence,
        cause=sentence,
        remedy=sentence,
    )
    note = Note(run="j/run-7/1", at=1_795_230_000.0, by="somebody", text=sentence)
    return msgspec.structs.replace(
        card,
        verdict=found,
        findings=(found,),
        chain=(
            ChainStep(text=sentence),
            ChainStep(text=sentence),
            ChainStep(text=sentence),
        ),
        past=msgspec.structs.replace(PAST, summary=sentence, notes=(note,)),
        completeness={"recorded": True, "missing": {"logs": [sentence]}},
    )


def test_what_one_can_type_is_code_in_every_sentence() -> None:
    card = all_sentences(CODE)
    now = CurrentState(text=CODE, cause=CODE, usual=CODE, ends=CODE, remedy=CODE)
    running = msgspec.structs.replace(card, state="running", verdict=None, now=now)
    viewer = environment_for(PackageLoader("dask_blackbox.serve"))
    viewer.filters["iso"] = str

    for each in (card, running):
        pages = [html(a_failed_run(), each), html_card(each)]
        pages.append(
            viewer.get_template("run.html").render(
                root="",
                address=RunAddress("j", "run-8", 1),
                card=each,
                numbers=(),
                missing=missing_data(each),
                links=(),
            )
        )
        for page in pages:
            assert "<code>ds</code>" in page
            assert "`" not in _NO_SENTENCES.sub("", page)
        written = markdown(each)
        assert "`ds`" in written
        assert "\\`" not in written


def test_a_run_that_failed_of_a_part_has_no_counts_of_work_that_it_did_not_do() -> None:
    counts = {"duration": 9.0, "tasks": 0.0, "workers": 0.0, "deaths": 0.0}
    card = a_card(numbers=counts)
    assert card.verdict is not None
    verdict = msgspec.structs.replace(card.verdict, rule="part-failed")
    of_a_part = msgspec.structs.replace(card, verdict=verdict)

    for render in (text, markdown):
        assert "workers" in render(card)
        assert "workers" not in render(of_a_part)


def test_a_card_without_history_reports_nothing_about_it() -> None:
    for page in pages(a_card(past=None)):
        assert "last good run" not in page


def test_the_first_run_reports_that_it_is_the_first() -> None:
    past = Past(summary="This is the first recorded run of this job.")
    for page in pages(a_card(past=past)):
        assert "This is the first recorded run of this job." in page


@pytest.mark.parametrize(
    ("past", "rendered"),
    [
        (Past(), ""),
        (Past(runs=1, compared=1, good=1), "the only earlier run looked at"),
        (Past(runs=8, compared=8, good=8), "all 8 earlier runs looked at"),
        (Past(runs=2, compared=2, good=2), "both earlier runs looked at"),
        (
            Past(runs=9000, compared=101, good=8000, more=True),
            "101 of more than 9,000 earlier runs looked at; 8,000 of them succeeded",
        ),
        (Past(runs=3, compared=3), "all 3 earlier runs looked at; none succeeded"),
        (
            Past(runs=1, compared=1),
            "the only earlier run looked at; it did not succeed",
        ),
    ],
)
def test_how_much_was_looked_at_is_reported(past: Past, rendered: str) -> None:
    assert coverage_text(past) == rendered


def test_the_first_failure_of_its_kind_is_called_so() -> None:
    seen = Recurrence(fingerprint="f", basis="b", times=1, first=0.0)

    assert "first failure" in recurrence_text(
        a_card(past=Past(runs=3, recurrence=seen))
    )
    assert recurrence_text(a_card(past=Past(recurrence=seen))) == ""


def test_earlier_attempts_of_the_run_are_reported_with_how_they_failed() -> None:
    seen = Recurrence(fingerprint="f", basis="b", times=1, first=0.0)
    tries = (
        EarlierAttempt(attempt=1, state="failed", verdict="task-exception"),
        EarlierAttempt(
            attempt=2, state="failed", verdict="kernel-oom", same_failure=True
        ),
        EarlierAttempt(
            attempt=3, state="failed", verdict="kernel-oom", same_failure=True
        ),
        EarlierAttempt(attempt=4, state="lost"),
    )
    past = Past(runs=3, recurrence=seen, attempts=tries)

    assert recurrence_text(a_card(past=past)) == (
        "attempts 2 and 3 of this run failed in the same way; "
        "attempt 1 failed differently (task-exception); attempt 4 was lost; "
        "no other run of this job failed this way"
    )


def test_a_card_with_a_past_is_read_back_as_it_was() -> None:
    card = a_card(changes=changes(2), past=PAST)

    assert RunCard.from_json(card.to_json()) == card
