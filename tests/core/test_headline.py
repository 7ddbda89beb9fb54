"""Names of the host's in the place of keys, and tasks given up in runs that succeeded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.headline import HostNames, with_killed_tasks
from dask_blackbox.analyse.title import INTERRUPTED, titled
from dask_blackbox.card import card_of
from dask_blackbox.finding import ChainStep, Evidence, Finding
from runs_from_rows import (
    a_death,
    a_failed_task,
    a_run,
    a_worker,
    an_event,
    failed_with,
    killed_worker,
    succeeded,
)

KEY = "inflate-0d18a63bb2b24e5a9ad0e1c2d3f4a5b6"


def named(name: str = "inflate-9") -> Any:
    return an_event("task-named", KEY, at=2.0, name=name, id="1")


def test_a_key_is_replaced_also_where_it_is_cut() -> None:
    names = HostNames(a_run(succeeded(), named()))

    assert names.in_text(f"'{KEY}' was lost") == "'inflate-9' was lost"
    assert names.in_text(f"{KEY[:20]}… was lost") == "inflate-9 was lost"
    assert names.in_text("other-0d18a63bb2b24e5a was lost") == (
        "other-0d18a63bb2b24e5a was lost"
    )


def test_a_name_that_would_leave_its_sentence_is_cut_and_on_one_line() -> None:
    worst = "x\n# heading \x1b[31m\u202e" + "y" * 200
    names = HostNames(a_run(succeeded(), named(worst)))

    text = names.in_text(f"'{KEY}' was lost")

    assert text.startswith("'x # heading ")
    assert text.endswith("y…' was lost")
    assert len(text) < 100
    assert not set("\n\x1b\u202e") & set(text)


def test_the_card_of_a_failed_run_reports_the_hosts_name() -> None:
    run = a_run(
        a_worker(),
        a_death(exit_code=-9, executing=[KEY]),
        failed_with(killed_worker(KEY)),
        named(),
    )

    card = card_of(run, findings_in(run))

    assert card.verdict is not None
    assert KEY not in card.verdict.cause
    assert "inflate-9" in card.verdict.cause


def named_runs(*keys: str) -> list[Any]:
    return [an_event("task-named", key, at=2.0, id=key) for key in keys]


def failed_for_host(*keys: str) -> list[Any]:
    return [an_event("task-failed", key, at=3.0) for key in keys]


@pytest.mark.parametrize(
    ("rows", "how"),
    [
        ([*named_runs("a", "b", "c"), *failed_for_host("b", "b")], "1 of 3 task runs"),
        ([*named_runs("a"), *failed_for_host("a")], "1 of 1 task run"),
        # Of a subflow's, whose task runs nobody named.
        ([*named_runs("a", "b"), *failed_for_host("c")], "1 task run"),
        (failed_for_host("b", "c"), "2 task runs"),
    ],
    ids=["one", "all", "another", "unnamed"],
)
def test_the_headline_of_a_completed_run_counts_the_task_runs_that_failed(
    rows: list[Any], how: str
) -> None:
    run = a_run(*rows, succeeded())

    card = card_of(run, findings_in(run))

    assert card.headline.startswith(f"Completed, but {how} failed, in ")
    assert card.numbers["task_failures"] == len(
        {row[2] for _, row in rows if row[1] == "task-failed"}
    )


def test_a_task_that_failed_for_its_host_and_for_dask_counts_once() -> None:
    run = a_run(
        a_failed_task("load-1"), *failed_for_host("load-1", "load-2"), succeeded()
    )

    assert card_of(run, findings_in(run)).numbers["task_failures"] == 2


def test_a_run_that_gave_up_nothing_has_no_such_warning() -> None:
    assert with_killed_tasks(a_run(succeeded()), ()) == ()


def test_one_death_that_a_run_survived_is_one_warning() -> None:
    run = a_run(
        a_worker(),
        a_death(exit_code=-9, executing=[KEY]),
        a_failed_task(
            KEY, "distributed.scheduler.KilledWorker", at=10, outcome="killed"
        ),
        succeeded(),
    )

    found = with_killed_tasks(run, findings_in(run))

    assert [each.rule for each in findings_in(run)] == ["workers-died"]
    assert [each.rule for each in found] == ["worker-signalled"]


STOPPED = Evidence(text="It stopped.", source="events", at=3.0)
LATE = Finding(
    rule="stalled", title="The driver waited for 9 s", cause="", severity="failure",
    confidence="medium", remedy="", evidence=(STOPPED,),
)  # fmt: skip


@pytest.mark.parametrize(
    ("before", "ended", "title"),
    [
        ([], "", "The driver waited for 9 s"),
        ([], "it exited", "The driver waited for 9 s; then it exited"),
        (
            ["A file is missing"],
            "",
            "A file is missing; then the driver waited for 9 s",
        ),
        (
            ["A file is missing", "The writer died"],
            "it exited",
            "A file is missing; then the writer died; then the driver waited for 9 s; then it exited",
        ),
        (
            [],
            INTERRUPTED,
            "Interrupted by Ctrl-C (SIGINT): the driver waited for 9 s",
        ),
        (
            ["A file is missing"],
            INTERRUPTED,
            "A file is missing; then the driver waited for 9 s; then interrupted by Ctrl-C (SIGINT)",
        ),
    ],
)
def test_a_title_has_all_steps_in_their_order(
    before: list[str], ended: str, title: str
) -> None:
    steps = tuple(
        ChainStep(at=float(number), text=text) for number, text in enumerate(before)
    )
    whole = titled(msgspec.structs.replace(LATE, ended=ended, before=steps))

    assert whole.title == title
    assert (whole.own_title or whole.title) == LATE.title
    assert whole.before == steps
    assert titled(LATE) is LATE
