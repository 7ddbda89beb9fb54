"""What the driver prints: recorded line by line, and never so much that it slows it down."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from dask_blackbox.capture.driver.driver import DriverTap
from dask_blackbox.capture.logs import LogTap


@contextmanager
def recorded() -> Iterator[list[list[Any]]]:
    """Yield the rows of what is printed meanwhile."""
    taken = list[list[Any]]()
    tap = DriverTap("a recording", lambda _, row: taken.append(row), printed=True)
    tap.start()
    yield taken
    tap.stop()


def lines(rows: list[list[Any]]) -> list[str]:
    """Return the lines that were printed, in order."""
    return [row[7] for row in rows if len(row) > 7 and row[5] == "stdout"]


def test_a_printed_line_is_recorded_and_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with recorded() as rows:
        print("2 orders", "failed")

    assert lines(rows) == ["2 orders failed"]
    assert rows[0][1] == "driver"
    assert capsys.readouterr().out == "2 orders failed\n"


def test_what_goes_to_standard_error_is_not() -> None:
    with recorded() as rows:
        print("a warning", file=sys.stderr)

    assert lines(rows) == []


def test_the_stream_is_restored() -> None:
    before = sys.stdout
    with recorded():
        assert sys.stdout is not before

    assert sys.stdout is before


def test_a_stream_is_used_as_before(tmp_path: Path) -> None:
    with (
        (tmp_path / "out").open("w") as file,
        redirect_stdout(file),
        recorded() as rows,
    ):
        assert isinstance(sys.stdout, io.TextIOBase)
        pickled = cloudpickle.dumps(sys.stdout)  # type: ignore[no-untyped-call]
        assert cloudpickle.loads(pickled) is sys.stdout
        with sys.stdout as out:
            out.write("a line\n")

        with pytest.raises(ValueError, match="closed file"):
            print("another line")

    assert lines(rows) == ["a line"]
    assert (tmp_path / "out").read_text() == "a line\n"


def test_nothing_is_recorded_where_printed_lines_are_switched_off() -> None:
    before = sys.stdout
    tap = DriverTap("a recording", lambda _, row: None)
    tap.start()
    after = sys.stdout
    tap.stop()

    assert after is before


def test_the_first_and_newest_lines_of_a_flood_are_recorded_and_the_rest_counted() -> (
    None
):
    with recorded() as rows:
        for number in range(50_000):
            print(number)
    found = lines(rows)

    assert found[0] == "0"
    assert found[-1] == "49999"
    counts = [int(each.split()[1]) for each in found if each.startswith("…")]
    assert counts
    assert sum(counts) + len(found) - len(counts) == 50_000


def test_two_recordings_of_a_process_both_record_a_line() -> None:
    with recorded() as rows:
        with recorded() as others:
            print("once")
        print("later")

    assert lines(others) == ["once"]
    assert lines(rows) == ["once", "later"]


def test_a_line_is_recorded_once_where_workers_are_threads_of_the_driver() -> None:
    workers = list[list[Any]]()
    tap = LogTap("a recording", "worker", lambda _: "tcp://w1", workers.append)
    with recorded() as rows:
        tap.attach_streams()
        print("shared")
        tap.detach()

    assert [row[7] for row in workers] == ["shared"]
    assert lines(rows) == []


def _end_a_thread(name: str) -> None:
    def parse() -> float:
        return float("1,07")

    thread = threading.Thread(target=parse, name=name)
    thread.start()
    thread.join()


def test_an_exception_that_ends_a_thread_is_recorded_and_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed_on = list[str]()
    monkeypatch.setattr(
        threading, "excepthook", lambda args: passed_on.append(args.thread.name)
    )
    before = threading.excepthook
    rows = list[list[Any]]()
    tap = DriverTap("a recording", lambda _, row: rows.append(row), threads=True)
    tap.start()
    _end_a_thread("publisher")
    tap.stop()
    _end_a_thread("later")

    stderr = [row[7] for row in rows if len(row) > 7 and row[5] == "stderr"]
    assert stderr[:2] == [
        "Exception in thread publisher:",
        "Traceback (most recent call last):",
    ]
    assert stderr[-1] == "ValueError: could not convert string to float: '1,07'"
    assert passed_on == ["publisher", "later"]
    assert threading.excepthook is before


def test_of_many_threads_that_exceptions_end_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    rows = list[list[Any]]()
    tap = DriverTap("a recording", lambda _, row: rows.append(row), threads=True)
    tap.start()
    for number in range(25):
        _end_a_thread(f"t{number}")
    tap.stop()

    stderr = [row[7] for row in rows if len(row) > 7 and row[5] == "stderr"]
    assert "Exception in thread t19:" in stderr
    assert "Exception in thread t20:" not in stderr
    assert stderr[-1] == "dask-blackbox: exceptions ended 5 more threads"


def test_of_a_long_traceback_of_a_thread_the_lines_that_are_left_out_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    rows = list[list[Any]]()
    tap = DriverTap("a recording", lambda _, row: rows.append(row), threads=True)

    def fail() -> None:
        raise ValueError("\n".join(f"row {number}" for number in range(400)))

    tap.start()
    thread = threading.Thread(target=fail, name="loader")
    thread.start()
    thread.join()
    tap.stop()

    stderr = [row[7] for row in rows if len(row) > 7 and row[5] == "stderr"]
    assert stderr[:2] == [
        "Exception in thread loader:",
        "Traceback (most recent call last):",
    ]
    [left_out] = [each for each in stderr if "left out" in each]
    assert int(left_out.split()[1]) + len(stderr) - 3 >= 400
    assert stderr[-1] == "row 399"
