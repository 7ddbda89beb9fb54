"""The last line of the user's own that the driver printed or logged."""

from __future__ import annotations

import logging

import dask
import distributed  # registers its format of log lines
import pytest
from dask_blackbox.analyse.driver_output import last_output, was_printed
from runs_from_rows import Piece, a_log_line, a_run


def a_line(message: str, *, at: float) -> Piece:
    return a_log_line(message, at=at, role="driver", source="driver", level=20)


def formatted(logger: str, message: str) -> str:
    assert distributed.__version__
    record = logging.LogRecord(logger, logging.WARNING, "", 1, message, None, None)
    return logging.Formatter(dask.config.get("distributed.admin.log-format")).format(
        record
    )


@pytest.mark.parametrize(
    "logger", ["distributed.scheduler", "distributed.preloading", "tornado.application"]
)
def test_lines_that_dask_prints_later_are_not_the_last_output(logger: str) -> None:
    run = a_run(
        a_line("partial results only", at=5),
        a_line(formatted(logger, "Removing worker 'tcp://w1'"), at=6),
        a_line("  ", at=7),
    )

    assert last_output(run) == "partial results only"


def test_the_lines_of_a_failed_task_are_dasks() -> None:
    text = formatted(
        "distributed.worker", "Compute Failed\nKey:       load-1\nState:  x"
    )
    lines = [a_line(each, at=5) for each in text.split("\n")]

    assert last_output(a_run(a_line("2 shops", at=4), *lines)) == "2 shops"


def test_a_line_of_the_users_own_logger_is_output() -> None:
    text = formatted("shop.prices", "no price for sku 11")

    assert last_output(a_run(a_line(text, at=5))) == text


def test_what_workers_print_is_not_output_of_the_driver() -> None:
    assert last_output(a_run(a_log_line("loading", at=5))) is None


def test_an_exception_that_the_driver_printed_is_found_by_its_last_line() -> None:
    run = a_run(a_line("json.decoder.JSONDecodeError: Expecting value", at=5))

    assert was_printed(run, "JSONDecodeError", "Expecting value")
    assert not was_printed(run, "JSONDecodeError", "Extra data")
    assert not was_printed(run, "KeyError", "Expecting value")
