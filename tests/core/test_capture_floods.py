"""Log lines by the thousand: Dask's own are counted, the user's are all kept."""

from __future__ import annotations

import io
import logging
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dask_blackbox.analyse.frames import endless_calls_in
from dask_blackbox.capture.executions import _with_frames
from dask_blackbox.capture.logs import LogTap, cut, cut_within
from distributed.core import error_message

pytestmark = pytest.mark.nightly

LINES = 1_000


@pytest.fixture
def rows() -> list[list[Any]]:
    return []


@pytest.fixture
def tap(rows: list[list[Any]]) -> Iterator[LogTap]:
    tap = LogTap("a-recording", "worker", lambda role: "tcp://1", rows.append)
    tap.attach()
    yield tap
    tap.detach()


def lines_of(rows: list[list[Any]], logger: str) -> list[str]:
    return [row[7] for row in rows if row[5] == logger]


def test_a_flood_of_dasks_is_kept_in_part_and_counted(
    tap: LogTap, rows: list[list[Any]]
) -> None:
    for n in range(LINES):
        logging.getLogger("asyncio").error(f"Exception in callback {n}")  # noqa: G004
    tap.detach()
    lines = lines_of(rows, "asyncio")
    reported = [line for line in lines if "more lines like this" in line]
    counted = sum(int(line.split()[1]) for line in reported)

    assert len(lines) < LINES / 2
    assert len(lines) - len(reported) + counted == LINES
    assert "Exception in callback #" in reported[-1]


def test_different_lines_are_no_flood(tap: LogTap, rows: list[list[Any]]) -> None:
    for n in range(LINES):
        word = "".join(chr(97 + int(digit)) for digit in str(n))
        logging.getLogger("distributed.worker").warning("about %s", word)
        logging.getLogger("distributed.worker").warning("of its own: " + word)  # noqa: G003

    own = [x for x in lines_of(rows, "distributed.worker") if x.startswith("of its")]
    assert len(own) == LINES


@pytest.mark.parametrize(
    ("propagate", "shown_from", "level", "taken"),
    [
        pytest.param(False, logging.WARNING, logging.DEBUG, False, id="of a kernel"),
        pytest.param(False, logging.WARNING, logging.ERROR, True, id="its errors"),
        pytest.param(False, logging.DEBUG, logging.DEBUG, True, id="somebody sees it"),
        pytest.param(True, logging.WARNING, logging.DEBUG, True, id="of the job"),
    ],
)
def test_lines_that_a_logger_keeps_from_everybody_are_not_recorded(
    tap: LogTap,
    rows: list[list[Any]],
    *,
    propagate: bool,
    shown_from: int,
    level: int,
    taken: bool,
) -> None:
    kernel = logging.getLogger("kernel-of-a-notebook")
    handler = logging.StreamHandler(io.StringIO())
    handler.setLevel(shown_from)
    kernel.addHandler(handler)
    before = kernel.propagate, kernel.level
    kernel.propagate = propagate
    kernel.setLevel(logging.DEBUG)
    try:
        kernel.getChild("shell").log(level, "execute_request: prices = load()")
    finally:
        kernel.removeHandler(handler)
        kernel.propagate = before[0]
        kernel.setLevel(before[1])

    assert ["execute_request" in str(row) for row in rows] == [True] * taken


def test_frames_that_dask_sends_as_text_belong_to_the_exception() -> None:
    """As in dask/distributed#8704: of endless recursion, Dask drops the traceback."""

    def even(number: int) -> None:
        odd(number + 1)

    def odd(number: int) -> None:
        even(number + 1)

    def report() -> Any:
        try:
            even(0)
        except RecursionError as error:
            return error_message(error)

    sent = report()
    error = pickle.loads(sent["exception"].data)
    text = _with_frames(error.with_traceback(None), sent["traceback_text"])

    assert sent["traceback"] is None
    assert text.startswith("Traceback (most recent call last):\n")
    assert ", in report\n" in text
    assert {each.function for each in endless_calls_in(text)} == {"even", "odd"}
    assert text.endswith(f"{type(error).__name__}: {error}\n")
    # Wherever it is cut: what follows may be a word that could be the name of a class.
    for longest in range(5_000, 5_200):
        shown = cut_within(text, longest)
        assert ", in report\n" in shown
        assert {each.function for each in endless_calls_in(shown)} == {"even", "odd"}


@pytest.mark.parametrize("how", [cut, cut_within])
@pytest.mark.parametrize("filler", ["a word ", "a line\n", '"json":1,'])
def test_a_secret_is_kept_whole_or_not_at_all(
    how: Callable[[str, int], str], filler: str
) -> None:
    """A part of one has no name before it, and no other sign that it is one."""
    secret, around = "hunter2-Kx93mQ0vLp", (filler * 1_500)[:1_500]
    for place in range(0, 1_500, 3):
        text = f"{around[:place]} {secret} {around[place:]}\nKeyError: 'price'\n"
        shown = how(text, 600)

        assert secret in shown or secret[:4] not in shown
        assert secret in shown or secret[-4:] not in shown
        assert len(shown) < 650


def test_how_much_is_cut_is_counted() -> None:
    lines = "".join(f"line {number}\n" for number in range(1_000))

    kept, _, rest = cut_within(lines, 1_000).partition("\n… cut ")
    gone, _, end = rest.partition(" characters\n")
    assert len(kept) + int(gone) + len(end) == len(lines)
    assert end.startswith("line ")
    assert lines.startswith(kept)
    assert lines[len(kept)].isspace()
    assert cut("x" * 50, 20) == f"{'x' * 20} … cut 30 characters"
    assert cut_within("x" * 50, 20) == f"{'x' * 20} … cut 30 characters"


def test_a_long_traceback_keeps_its_beginning_and_what_was_raised(
    tap: LogTap, rows: list[list[Any]]
) -> None:
    def even(number: int) -> None:
        odd(number + 1)

    def odd(number: int) -> None:
        even(number + 1)

    logger = logging.getLogger("distributed.protocol.core")
    try:
        even(0)
    except RecursionError:
        logger.exception("Failed to deserialize")

    [line] = lines_of(rows, logger.name)
    assert line.startswith("Failed to deserialize\nTraceback (most recent call last):")
    assert "\n… cut " in line
    assert line.endswith("\nRecursionError: maximum recursion depth exceeded")
    assert len(line) < 40_000


def test_the_users_own_lines_are_all_kept(tap: LogTap, rows: list[list[Any]]) -> None:
    for n in range(LINES):
        logging.getLogger("job").warning("line %d", n)

    assert len(lines_of(rows, "job")) == LINES


def test_what_a_task_logs_as_dask_does_is_the_users(rows: list[list[Any]]) -> None:
    tap = LogTap(
        "a-recording",
        "worker",
        lambda role: "tcp://1",
        rows.append,
        key_of_thread={threading.get_ident(): "a-task"}.get,
    )
    tap.attach()
    for n in range(LINES):
        logging.getLogger("distributed.worker").warning("line %d", n)
    tap.detach()

    assert len(lines_of(rows, "distributed.worker")) == LINES


def test_streams_of_recordings_that_overlapped_come_off_in_any_order() -> None:
    before = sys.stdout
    first, second = (
        LogTap(name, "worker", lambda role: "w", lambda row: None) for name in "ab"
    )
    first.attach_streams()
    second.attach_streams()
    first.detach()
    second.detach()

    assert sys.stdout is before
