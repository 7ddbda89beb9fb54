"""Names of the host's in the place of keys, and tasks given up in runs that succeeded."""

from __future__ import annotations

from typing import Any

from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.headline import HostNames, with_killed_tasks
from dask_blackbox.card import card_of
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
