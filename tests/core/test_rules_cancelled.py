"""Who cancelled the work, and who gave up waiting?"""

from __future__ import annotations

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import RunCard
from dask_blackbox.card import card_of as make_card
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_graph,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    the_verdict,
)
from runs_from_rows import failed_with as ended_with

CANCELLED = "distributed.client.FutureCancelledError"
OURS, THEIRS = "Client-1111", "Client-2222"


def reported_by_the_scheduler(client: str, key: str) -> list[object]:
    lines = (
        f"Client {client} requests to cancel 3 keys",
        f"Scheduler cancels key {key}.  Force=True",
    )
    return [
        a_log_line(line, at=9.0 + n, role="scheduler", level=20, seq=n)
        for n, line in enumerate(lines)
    ]


def cancelled_by(client: str, key: str = "draw-1", reason: str = "unknown") -> Finding:
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("driver-attached", "driver", client=OURS),
        *reported_by_the_scheduler(client, key),  # type: ignore[arg-type]
        ended_with(an_exception(CANCELLED, f"draw-1 cancelled for reason: {reason}.")),
    )
    return the_verdict(run)


@pytest.mark.parametrize(
    ("client", "by", "advice"),
    [
        (OURS, "the run's own driver", "unknown"),
        (THEIRS, "another client of the cluster", "transient"),
        ("Client-worker-3333", "one of its tasks", "transient"),
    ],
)
def test_who_asked_for_it_is_reported(client: str, by: str, advice: str) -> None:
    found = cancelled_by(client)

    assert found.title == f"The work was cancelled by {by}"
    assert found.retry_advice == advice
    assert found.evidence[-1].text.startswith(f"Client {client} requests")


def test_nobody_is_accused_for_other_keys() -> None:
    found = cancelled_by(THEIRS, key="another-7")

    assert found.title == "The work was cancelled"
    assert THEIRS not in found.cause


@pytest.mark.parametrize(
    ("others", "title", "advice"),
    [
        ([], "The cluster was restarted during the run, by the run itself", "code"),
        ([THEIRS], "The cluster was restarted during the run", "transient"),
    ],
)
def test_a_restart_is_the_runs_own_where_nobody_else_is_connected(
    others: list[str], title: str, advice: str
) -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("scheduler-info", "tcp://127.0.0.1:8786", pid=70),
        an_event("driver-attached", "driver", pid=70, client=OURS),
        *(an_event("client-added", each) for each in others),
        an_event("cluster-restarted", "", at=5),
        ended_with(
            an_exception(CANCELLED, "draw-1 cancelled for reason: scheduler-restart.")
        ),
    )
    found = the_verdict(run)
    assert (found.title, found.retry_advice) == (title, advice)
    assert found.retry_confidence == "medium"


def timed_out(*done: float) -> Finding:
    tasks = [a_task(f"draw-{n}", start=at) for n, at in enumerate(done)]
    waited = an_exception("TimeoutError", "timed out after 4 s.")
    run = a_run(a_worker(), a_graph(), *tasks, ended_with(waited, at=8.0))
    return the_verdict(run)


def test_a_time_limit_that_was_too_short_reports_how_much_longer_the_work_needs() -> (
    None
):
    found = timed_out(3.0, 4.0, 5.0, 6.0)

    assert found.rule == "driver-exception"
    assert "4 of 10 tasks had ended, the last of them 1.0 s earlier" in found.cause
    assert "need about 7.5 s more" in found.cause
    assert "Raise it by 12 s or more" in found.remedy


def test_work_that_had_come_to_a_stop_has_no_pace() -> None:
    assert "Work was in progress" not in timed_out().cause


def test_what_the_job_cancels_of_its_own_is_no_work_of_dasks() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n'
        "    await upload\nasyncio.exceptions.CancelledError\n"
    )
    own = an_exception("asyncio.exceptions.CancelledError", "", traceback=text)
    run = a_run(a_worker(), a_graph(), ended_with(own))
    found = the_verdict(run)
    assert found.rule == "driver-exception"


def test_work_that_is_cancelled_is_the_reason_of_what_is_raised_from_none() -> None:
    message = "level-3 cancelled for reason: stale inputs."
    cancelled = an_event(
        "driver-call-failed", "driver", at=9.0, call="Future.result", pid=1,
        exception="distributed.client.FutureCancelledError", message=message,
        key="level-3", identity="7",
    )  # fmt: skip
    shown = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 12, in main\n'
        '    raise RuntimeError("the run failed") from None\n'
        "RuntimeError: the run failed\n"
    )
    error = msgspec.structs.replace(
        an_exception("RuntimeError", "the run failed", traceback=shown),
        chain_ids=("9",),
        handled=(f"distributed.client.FutureCancelledError: {message}",),
    )
    run = a_run(a_worker(), a_graph(), cancelled, ended_with(error))
    found = the_verdict(run)
    assert found.rule == "cancelled"
    assert "stale inputs" in found.cause


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("scheduler-connection-lost", "scheduler-lost"),
        ("lost dependencies", "data-lost"),
        ("already forgotten", "data-lost"),
        ("operator's request", "cancelled"),
    ],
)
def test_what_dask_cancels_itself_is_nobodys_request(reason: str, rule: str) -> None:
    found = cancelled_by(THEIRS, key="draw-9", reason=reason)

    assert found.rule == rule
    assert ("Find who cancelled it" in found.remedy) == (rule == "cancelled")


def counted(*more: Piece, text: str = "only 1 of 10 was cancelled") -> Finding:
    """Return the verdict on a driver that counted its results, and ended with its own text."""
    shown = (
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n'
        f'    raise RuntimeError("{text}")\nRuntimeError: {text}\n'
    )
    ended = ended_with(an_exception("RuntimeError", text, traceback=shown))
    run = a_run(a_worker(), a_graph(tasks=10), a_task(), *more, ended)
    return the_verdict(run)


LOST = an_event("scheduler-lost", "tcp://s:1", at=9.9)


def test_a_driver_that_counts_results_ended_of_the_loss_of_its_scheduler() -> None:
    assert counted(LOST).rule == "scheduler-lost"


def test_a_scheduler_that_the_driver_has_closed_ended_no_driver() -> None:
    closing = an_event("driver-closing", "driver", at=9.5, what="LocalCluster.close")

    assert counted(closing, LOST).rule == "driver-exception"


def test_a_driver_without_work_left_did_not_end_of_that_loss() -> None:
    done = [a_task(f"sum-{n}") for n in range(9)]

    assert counted(*done, LOST).rule == "driver-exception"


DISCONNECTED = an_event(
    "client-disconnected", "driver", at=9, scheduler="tcp://s:1", futures=60, pending=54
)


def card_of(*pieces: Piece) -> RunCard:
    """Return the card of a run whose driver exited with 0."""
    run = a_run(
        an_event("scheduler-info", "tcp://s:1", at=0.5),
        a_worker(),
        a_graph(tasks=60),
        a_task(),
        *pieces,
    )
    return make_card(run, findings_in(run))


def test_a_driver_that_exits_with_0_does_not_hide_that_its_scheduler_was_lost() -> None:
    card = card_of(DISCONNECTED)

    assert card.state == "succeeded"
    assert card.headline.startswith(
        "Exited with 0, but the scheduler was lost with 54 of 60 futures pending"
    )
    (found,) = (each for each in card.findings if each.rule == "scheduler-lost")
    assert found.severity == "warning"
    assert "`future.result()`" in found.remedy


CLOSING = an_event("driver-closing", "driver", at=8.9, what="LocalCluster.close")


@pytest.mark.parametrize(
    "pieces",
    [
        [an_event("client-disconnected", "driver", at=9, futures=60, pending=0)],
        [CLOSING, DISCONNECTED],
        [DISCONNECTED, a_graph(at=20)],
        [DISCONNECTED, an_event("scheduler-info", "tcp://s:2", at=20)],
    ],
    ids=["done", "closed by the driver", "sent again", "another scheduler"],
)
def test_a_scheduler_that_was_not_needed_any_more_is_no_warning(
    pieces: list[Piece],
) -> None:
    card = card_of(*pieces)

    assert card.headline.startswith("Succeeded")
    assert not [each for each in card.findings if each.rule == "scheduler-lost"]
