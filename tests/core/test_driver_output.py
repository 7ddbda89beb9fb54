"""The last line of the user's own that the driver printed or logged."""

from __future__ import annotations

import importlib
import logging

import dask
import distributed  # registers its format of log lines
import pytest
from dask_blackbox.analyse.driver_output import (
    last_output,
    was_printed,
    without_log_prefix,
)
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


def printed_with_traceback(error: Exception, *, skip: int) -> list[Piece]:
    """Return the lines of an error that Dask logs, without the first frames."""
    traceback = error.__traceback__
    for _ in range(skip):
        assert traceback is not None
        traceback = traceback.tb_next
    text = formatted("distributed.worker", "Failed to communicate with scheduler")
    text += "\n" + logging.Formatter().formatException((type(error), error, traceback))
    return [
        a_log_line(
            line,
            at=6,
            role="driver",
            source="driver",
            seq=seq,
            logger="stderr",
            level=20,
        )
        for seq, line in enumerate(
            text.replace(" - WARNING - ", " - ERROR - ").split("\n"), start=2
        )
    ]


def test_a_traceback_that_dask_logs_is_not_output_of_the_driver() -> None:
    with pytest.raises(ImportError) as caught:
        importlib.import_module("no_such_module_of_this_test")
    lines = printed_with_traceback(caught.value, skip=1)
    run = a_run(a_line("3 of 12 lots failed", at=5), *lines)

    assert len(lines) > 3
    assert last_output(run) == "3 of 12 lots failed"


def test_the_drivers_own_traceback_after_an_error_of_dask_is_its_output() -> None:
    with pytest.raises(ImportError) as caught:
        importlib.import_module("no_such_module_of_this_test")
    lines = printed_with_traceback(caught.value, skip=0)

    last = last_output(a_run(a_line("3 of 12 lots failed", at=5), *lines))
    assert last is not None
    assert last.startswith("ModuleNotFoundError: ")


LINK = "The above exception was the direct cause of the following exception:"
IN_A_LIBRARY = (
    "Traceback (most recent call last):",
    '  File "/venv/lib/python3.12/site-packages/pandas/core/indexes/base.py", line 3816, in get_loc',
    "    return self._engine.get_loc(casted_key)",
    "KeyError: 'tmin'",
)
IN_THE_JOB = (
    "Traceback (most recent call last):",
    '  File "/jobs/frost.py", line 52, in <module>',
    "    print(warnings_for(rows))",
    "KeyError: 'tmin'",
)


@pytest.mark.parametrize(
    ("sections", "last"),
    [
        ((IN_A_LIBRARY, IN_THE_JOB), "KeyError: 'tmin'"),
        ((IN_THE_JOB, IN_A_LIBRARY), "no override today"),
    ],
)
def test_whose_a_chained_traceback_is_its_last_section_decides(
    sections: tuple[tuple[str, ...], ...], last: str
) -> None:
    restarted = formatted("distributed.nanny", "Restarting worker")
    printed = [restarted, *sections[0], "", LINK, "", *sections[1]]
    lines = [
        a_log_line(
            text, at=6, role="driver", source="driver", seq=n, logger="stderr", level=20
        )
        for n, text in enumerate(printed, start=2)
    ]

    assert last_output(a_run(a_line("no override today", at=5), *lines)) == last


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


@pytest.mark.parametrize(
    "form",
    [
        logging.BASIC_FORMAT,
        "%(levelname)s %(message)s",
        "%(asctime)s %(levelname)s %(message)s",
        "%(asctime)s %(name)s %(levelname)s %(message)s",
        "%(asctime)s - %(name)s - %(levelname)s - %(message)s",
        "[%(asctime)s] [%(levelname)s] %(message)s",
        "%(asctime)s | %(levelname)-8s | %(message)s",
        "%(asctime)s %(message)s",
    ],
)
def test_a_quoted_log_line_begins_with_its_message(form: str) -> None:
    record = logging.LogRecord("etl.load", logging.ERROR, "", 1, "no shops", (), None)

    assert without_log_prefix(logging.Formatter(form).format(record)) == "no shops"


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-29 02:00:00 is a nonexistent time",
        "2026-03-29 has no rates",
        "shop 12: ERROR 4711 of the till",
    ],
)
def test_a_time_that_a_job_prints_of_its_data_is_quoted(line: str) -> None:
    assert without_log_prefix(line) == line
