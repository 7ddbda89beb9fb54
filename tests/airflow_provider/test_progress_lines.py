"""How often, and in which words, a task's log says how far its Dask run is."""

from __future__ import annotations

import logging
from typing import Any

from airflow_dask_blackbox.progress_lines import ProgressLines, progress_text
from dask_blackbox.events import Stall
from dask_blackbox.protocol.messages import LogLine, Progress

GIB = 2**30


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, event: str, /, *args: Any) -> None:
        self.lines.append(event % args)

    warning = error = info


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _said_at(interval: float, until: int) -> list[int]:
    """Return the seconds at which something was said of a run with steady progress."""
    log, clock = Lines(), Clock()
    lines = ProgressLines(log, interval=interval, now=clock)
    moments = []
    for second in range(0, until, 2):
        clock.now = float(second)
        before = len(log.lines)
        lines.update(Progress(at=0.0, finished=second, workers=2))
        if len(log.lines) > before:
            moments.append(second)
    return moments


def test_the_pause_between_two_lines_grows_to_the_setting() -> None:
    assert _said_at(100.0, 500) == [16, 46, 106, 206, 306, 406]


def test_a_setting_of_zero_prints_nothing() -> None:
    assert _said_at(0.0, 500) == []


def test_a_stopped_task_logs_its_progress_and_nothing_after_it() -> None:
    log, clock = Lines(), Clock()
    lines = ProgressLines(log, interval=1.0, now=clock)
    assert lines.stop() == ""

    lines = ProgressLines(log, interval=1.0, now=clock)
    lines.update(Progress(at=0.0, submitted=1_600, finished=53, workers=1))
    assert lines.stop() == "53 of 1,600 tasks done"

    clock.now = 60.0
    died = LogLine(
        at=60.0, source="worker tcp://w:1", level=logging.ERROR, text="The worker died"
    )
    lines.update(Progress(at=60.0, submitted=1_600, finished=50, lines=(died,)))
    assert log.lines == []


def test_what_has_not_changed_is_not_printed_again() -> None:
    log, clock = Lines(), Clock()
    lines = ProgressLines(log, interval=10.0, now=clock)
    for second in range(0, 100, 2):
        clock.now = float(second)
        lines.update(Progress(at=0.0, finished=7, workers=2))

    assert log.lines == ["Dask: 7 tasks done, 2 workers"]


def test_one_task_is_one_task() -> None:
    assert progress_text(Progress(at=0.0, finished=1, workers=1)) == (
        "Dask: 1 task done, 1 worker"
    )


def test_a_line_reports_done_and_remaining_tasks_and_resources() -> None:
    progress = Progress(
        at=0.0,
        submitted=1600,
        finished=440,
        failed=1,
        rate=4.0,
        workers=2,
        memory=3.0 * GIB,
        memory_limit=8.0 * GIB,
    )

    assert progress_text(progress) == (
        "Dask: 440 of 1,600 tasks done, 1 failed, 4.0/s, 4 m 50 s left at this rate, "
        "2 workers, 3.00 GiB of 8.00 GiB of memory"
    )


def test_tasks_that_failed_are_not_waited_for() -> None:
    progress = Progress(at=0.0, submitted=20, finished=19, failed=1, rate=9.0)

    assert progress_text(progress) == (
        "Dask: 19 of 20 tasks done, 1 failed, 9.0/s, 0 workers"
    )


def test_a_stall_is_printed_at_once_and_once() -> None:
    log, clock = Lines(), Clock()
    lines = ProgressLines(log, interval=300.0, now=clock)
    for lasted in (60.0, 62.0):
        lines.update(
            Progress(at=0.0, finished=7, workers=2, stall=Stall(lasted=lasted))
        )

    assert log.lines == [
        "Dask: 7 tasks done, 2 workers, no task has finished for 1 m 00 s"
    ]


def test_deaths_of_workers_have_a_line_each_up_to_a_limit() -> None:
    log = Lines()
    lines = ProgressLines(log, interval=300.0, now=Clock())
    death = LogLine(
        at=0.0,
        level=logging.ERROR,
        source="worker tcp://w",
        text="The worker died: SIGKILL.\nFile …",
    )
    for _ in range(30):
        lines.update(Progress(at=0.0, lines=(death,)))

    assert log.lines[0] == "Dask worker tcp://w: The worker died: SIGKILL."
    assert len(log.lines) == 11
    assert "in the report only" in log.lines[-1]
