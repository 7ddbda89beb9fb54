"""A verdict on a symptom is not sure while failures before it are not explained."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import findings_in, verdict_of
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_failed_task,
    a_log_line,
    a_run,
    a_worker,
    an_event,
    an_exception,
    raised_in,
)

WORKER = a_worker("tcp://w1")
EARLIER = a_failed_task("publish-7", "ValueError", "bad price 'n/a'", at=5.0)
RECEIVED = an_event(
    "driver-call-failed", "driver", at=6.0, call="Future.result", exception="ValueError",
    message="bad price 'n/a'", key="publish-7", identity="1", pid=1,
)  # fmt: skip


def verdict(
    *pieces: Piece, exception: str = "TimeoutError", at: float = 10.0
) -> Finding:
    """Return the verdict on a run whose driver got an exception of the task 'relabel'."""
    run = a_run(
        WORKER,
        *pieces,
        raised_in("relabel-9", an_exception(exception, "no list"), at=at),
    )
    found = verdict_of(findings_in(run), run)
    assert found is not None
    assert found.subject.prefix == "relabel"
    return found


def test_a_symptom_with_nothing_before_it_is_proved() -> None:
    assert verdict().confidence == "high"


def test_a_task_that_failed_before_a_symptom_makes_it_less_sure_and_is_shown() -> None:
    found = verdict(EARLIER)

    assert found.confidence == "medium"
    assert found.evidence[-1].text == (
        "1 task 'publish' had failed with ValueError: bad price 'n/a'; no call of the "
        "driver received that"
    )


def test_an_error_that_the_driver_had_received_is_shown_as_that() -> None:
    found = verdict(EARLIER, RECEIVED)

    assert found.confidence == "medium"
    assert found.evidence[-1].text.endswith("the driver had received that and gone on")


@pytest.mark.parametrize("exception", ["ZeroDivisionError", "UnicodeDecodeError"])
def test_what_is_no_symptom_stays_proved(exception: str) -> None:
    assert verdict(EARLIER, exception=exception).confidence == "high"


def test_what_failed_later_is_no_reason() -> None:
    assert verdict(EARLIER, at=3.0).confidence == "high"


def test_a_failure_of_the_same_kind_is_explained() -> None:
    same = a_failed_task("relabel-3", "TimeoutError", "no list", at=5.0)

    assert verdict(same).confidence == "high"


def test_what_the_job_itself_logged_is_shown() -> None:
    logged = a_log_line("price list is incomplete", level=30, logger="shop.prices")
    of_dask = a_log_line("Event loop was blocked", level=30, logger="distributed.core")

    assert verdict(of_dask).confidence == "high"
    found = verdict(logged)
    assert found.confidence == "medium"
    assert found.evidence[-1].text == "shop.prices had logged: price list is incomplete"


def test_of_a_flood_of_errors_the_first_are_shown() -> None:
    flood = [
        a_log_line(
            f"try {n} failed", at=1 + n / 10_000, seq=n, logger="stdout", level=20
        )
        for n in range(20_000)
    ]
    shown = [each.text for each in verdict(*flood).evidence[-3:]]

    assert shown == [f"A worker had printed: try {n} failed" for n in range(3)]


@pytest.mark.parametrize(
    "line",
    [
        "Task run failed with exception: TimeoutError('no list') - Retries are exhausted",
        "giving up: TimeoutError: no list",
    ],
)
def test_a_line_that_reports_the_verdicts_own_error_is_no_doubt(line: str) -> None:
    printed = a_log_line(line, logger="stderr", role="worker", at=5.0)

    assert verdict(printed).confidence == "high"


def test_a_line_with_another_error_of_that_class_is_a_doubt() -> None:
    printed = a_log_line(
        "failed with TimeoutError('no prices')", logger="stderr", role="worker", at=5.0
    )

    assert verdict(printed).confidence == "medium"


def test_an_error_before_a_wait_that_was_given_up_begins_the_headline() -> None:
    found = verdict(EARLIER, exception="TimeoutError")

    assert found.title.startswith("ValueError in 'publish': bad price 'n/a'; then ")
    assert found.follows is not None
    assert found.follows.text == "ValueError in 'publish': bad price 'n/a'"


def test_a_line_that_says_that_nothing_failed_is_no_error() -> None:
    line = a_log_line("12 read, 0 errors", logger="stdout", level=20)

    assert verdict(line).confidence == "high"


def test_an_error_that_the_job_printed_begins_the_headline() -> None:
    line = a_log_line(
        "WARNING:shop:no rates: KeyError('EUR')", logger="stdout", level=20
    )
    found = verdict(line, exception="KeyError")

    assert found.title.startswith(
        "A worker printed “no rates: KeyError('EUR')”; then KeyError in 'relabel'"
    )
    assert "Before that, a worker had printed: WARNING:shop" in found.cause
