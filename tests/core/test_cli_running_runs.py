"""Runs that go on, in a terminal: `top`, `logs --follow`, and the line of a recording."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from conditions import scaled
from dask_blackbox.cli import blackbox
from dask_blackbox.driver.status_line import StatusLine, progress_text, status_line
from dask_blackbox.manifest import Heartbeat
from dask_blackbox.manifest import Progress as Counted
from dask_blackbox.protocol.messages import Progress
from dask_blackbox.testing import a_log
from scenario_runs import Home, begin_command
from stored_runs import Shelf

pytestmark = pytest.mark.processes

PROGRESS = Progress(
    at=1.0, finished=1_200, failed=2, rate=40.0, workers=8, memory=3e9, memory_limit=4e9
)


def a_running_run(shelf: Shelf, *lines: str) -> None:
    address = shelf.record("nightly", "run-1", *map(a_log, lines), state="running")
    counted = Counted(submitted=100, done=40, workers=2, threads=4, executing=3)
    beat = Heartbeat(at=time.time(), progress=counted)
    shelf.store.put(f"{address.folder}heartbeat.json", msgspec.json.encode(beat))


def test_top_reports_how_far_a_run_is(shelf: Shelf) -> None:
    a_running_run(shelf, "a line")

    result = CliRunner().invoke(blackbox, ["top", "--store", shelf.url, "--once"])

    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert line.startswith("nightly/run-1/1 running: duration ")
    assert "tasks 40 of 100" in line
    assert "workers 2 with 4 threads, 3 busy" in line


def test_top_ends_with_the_card_of_a_run_that_has_ended(shelf: Shelf) -> None:
    shelf.record(state="failed", headline="the disk was full")

    result = CliRunner().invoke(blackbox, ["top", "nightly", "--store", shelf.url])

    assert result.exit_code == 0
    assert "FAILED" in result.stdout


def test_logs_are_followed_until_the_end(tmp_path: Path) -> None:
    home = Home(tmp_path)
    shelf = Shelf(home.folder / "store")
    a_running_run(shelf, "the first line")
    words = ("blackbox", "logs", "--store", shelf.url, "--follow")
    process = begin_command(home, *words)
    assert process.stdout is not None

    first = process.stdout.readline()
    a_running_run(shelf, "the first line", "a later line")
    second = process.stdout.readline()
    shelf.record("nightly", "run-1", a_log("the first line"), state="succeeded")
    rest, errors = process.communicate(timeout=scaled(60))

    assert first.endswith(": the first line\n")
    assert second.endswith(": a later line\n")
    assert (rest, errors, process.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("progress", "output"),
    [
        (PROGRESS, " recording 12 s · 1,200 tasks finished · 40.0 a second · 2 failed · 8 workers · memory 75% "),
        (Progress(at=1.0, workers=1), " recording 12 s · 0 tasks finished · 0.0 a second · 1 worker "),
    ],
)  # fmt: skip
def test_the_line_shows_the_progress_of_the_run(
    progress: Progress, output: str
) -> None:
    assert progress_text(progress, 12.0) == output


def test_the_line_has_the_last_row_of_a_terminal_and_gives_it_back() -> None:
    ours, theirs = pty.openpty()
    try:
        line = StatusLine(theirs)
        pty_size(theirs, rows=24, columns=60)
        line.show(PROGRESS)
        line.show(PROGRESS)
        line.close()
        line.show(PROGRESS)  # a report that was on its way
        written = ""
        while "\x1b[r" not in written or not written.endswith("\x1b8"):
            written += os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    assert written.count("\x1b[1;23r") == 1  # the last row does not scroll
    assert written.count("1,200 tasks finished") == 2
    assert written.endswith("\x1b[r\x1b[24;1H\x1b[2K\x1b8")
    shown = re.findall(r"\x1b\[7m(.*?)\x1b\[0m", written)
    assert all(len(text) <= 59 for text in shown)


def pty_size(descriptor: int, *, rows: int, columns: int) -> None:
    size = struct.pack("HHHH", rows, columns, 0, 0)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, size)


def test_there_is_no_line_in_a_pipe() -> None:
    assert status_line() is None
