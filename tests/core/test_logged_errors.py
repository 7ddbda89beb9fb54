"""Exceptions that the driver handled and logged: what is reported of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from dask_blackbox.capture.driver import handled_errors
from dask_blackbox.capture.driver.driver import DriverTap
from distributed import Client, LocalCluster

pytestmark = pytest.mark.processes

log = logging.getLogger("nightly")


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Yield the particulars of the errors that a tap has reported."""
    found = list[dict[str, Any]]()

    def take(kind: str, row: list[Any]) -> None:
        if kind == "event" and row[1] == "driver-error-logged":
            found.append(json.loads(row[3]))

    monkeypatch.setattr(handled_errors, "_first", [])
    tap = DriverTap("recording-of-logged-errors", take)
    tap.start()
    yield found
    tap.stop()


def divide(count: int) -> float:
    return 1 / count


def refuse(order: str) -> None:
    try:
        divide(0)
    except ZeroDivisionError:
        log.exception("in a task")
    raise LookupError(order)


def test_an_exception_of_the_drivers_own_is_reported_with_its_line(
    reported: list[dict[str, Any]],
) -> None:
    try:
        divide(0)
    except ZeroDivisionError as error:
        log.exception("no rate")
        log.error("no rate: %s", error)  # noqa: TRY400
        log.info("no rate: %s", error)  # no failure to the job

    assert [each["exception"] for each in reported] == ["ZeroDivisionError"] * 2
    assert {each["function"] for each in reported} == {"divide"}
    assert reported[0]["file"] == __file__
    assert reported[0]["message"] == "division by zero"
    assert "return 1 / count" in reported[0]["traceback"]
    remembered = handled_errors._first
    assert [each.id for each in remembered] == [each["id"] for each in reported]
    lines = [place.line for place in remembered[0].stack[:2]]
    assert lines[0] == divide.__code__.co_firstlineno + 1
    begins = test_an_exception_of_the_drivers_own_is_reported_with_its_line.__code__
    assert lines[1] == begins.co_firstlineno + 4


def test_of_many_that_one_line_logs_the_first_are_reported(
    reported: list[dict[str, Any]],
) -> None:
    for _ in range(50):
        try:
            divide(0)
        except ZeroDivisionError:
            log.exception("no rate")

    assert len(reported) == 5


def test_what_dask_raised_and_what_tasks_and_libraries_log_is_not_reported(
    reported: list[dict[str, Any]],
) -> None:
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        try:
            client.submit(refuse, "A7").result()
        except LookupError:
            log.exception("no order")
        try:
            try:
                client.submit(refuse, "A7").result()
            except LookupError as error:
                raise RuntimeError("no orders") from error
        except RuntimeError:
            log.exception("nothing")
    record = log.makeRecord(
        "library", logging.ERROR, f"{logging.__file__}", 1, "no", (), None
    )
    record.exc_info = (ValueError, ValueError("no"), None)
    log.handle(record)

    assert reported == []
