"""What stands in the open in a task's log: no line is wider than Airflow's page."""

from __future__ import annotations

from typing import Any

import msgspec
from airflow_dask_blackbox.task_log import exception_note, show_card
from dask_blackbox import RunCard
from dask_blackbox.finding import Change, Finding, Subject
from dask_blackbox.job_history import EarlierAttempt, EarlierRun, Past, Recurrence

CARD = RunCard(
    job="nightly.price",
    run_id="scheduled__2026-11-21T02:00:00+00:00",
    attempt=2,
    state="failed",
    headline="A worker died at its 400 MiB memory limit while running 'load'",
    verdict=Finding(
        rule="worker-memory-limit",
        title="A worker died at its 400 MiB memory limit while running 'load'",
        cause="'load' was executing when it happened. " * 6,
        severity="failure",
        confidence="high",
        remedy="Give each worker at least 832 MiB. " * 6,
        retry_advice="memory",
        subject=Subject(prefix="load"),
    ),
    changes=tuple(
        Change(kind="parameters", what=f"rows{n}", before="1000", after="600000")
        for n in range(5)
    ),
    past=Past(
        runs=3,
        good=3,
        last_good=EarlierRun(run_id="run-1", started=0.0),
        blame="data",
        summary="Data: only the parameters changed.",
        confidence="medium",
        recurrence=Recurrence(fingerprint="f", basis="b", times=1, first=0.0),
        attempts=(EarlierAttempt(attempt=1, state="failed", same_failure=True),),
    ),
)


class Lines:
    """A logger that keeps its lines, by level."""

    def __init__(self) -> None:
        self.info_, self.error_ = list[str](), list[str]()

    def info(self, event: str, /, *args: Any) -> None:
        self.info_.append(event % args)

    def error(self, event: str, /, *args: Any) -> None:
        self.error_.append(event % args)

    warning = error


def test_verdict_and_what_changed_stand_in_the_open_and_are_not_cut_off() -> None:
    log = Lines()

    show_card(CARD, log)

    said = " ".join(line.strip() for line in log.error_)
    assert max(map(len, log.error_)) <= 88
    assert "What to do: Give each worker at least 832 MiB." in said
    assert "What changed: Data: only the parameters changed" in said
    assert "parameters rows2: 1000 → 600000" in said
    assert "rows3" not in said  # the rest is in the fold
    assert "Seen: attempt 1 of this run failed in the same way" in said


def test_what_differs_between_most_runs_stands_in_the_fold_only() -> None:
    log, (first, *others) = Lines(), CARD.changes
    usual = msgspec.structs.replace(first, what="day", rarity=0.0)

    show_card(msgspec.structs.replace(CARD, changes=(usual, *others)), log)

    assert not any("parameters day" in line for line in log.error_)
    assert any("parameters rows1" in line for line in log.error_)
    assert any("parameters day" in line for line in log.info_)


def test_the_whole_card_is_in_a_fold() -> None:
    log = Lines()

    show_card(CARD, log)

    fold = log.info_[log.info_.index("::group::Full card") :]
    assert fold[-1] == "::endgroup::"
    assert any("rows3" in line for line in fold)


def test_what_the_exception_carries_is_the_verdict_and_where_the_report_is() -> None:
    note = exception_note(msgspec.structs.replace(CARD, links={"report": "https://r"}))

    assert note == f"Dask: {CARD.headline}\nReport: https://r"


def test_a_line_to_paste_is_not_broken() -> None:
    log = Lines()
    line = '`cluster_kwargs={"memory_limit": "832 MiB", "n_workers": 2}`'
    remedy = f"Give each worker more. To paste into nightly.py, task 'load': {line}."
    assert CARD.verdict is not None
    verdict = msgspec.structs.replace(CARD.verdict, remedy=remedy)

    show_card(msgspec.structs.replace(CARD, verdict=verdict), log)

    assert any(line in each for each in log.error_)
