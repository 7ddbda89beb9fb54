"""Which log lines are chosen, and what is said where none is left."""

from __future__ import annotations

import json

import pytest
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.report.log_lines import LogQuery, as_json, as_text, chosen_lines
from dask_blackbox.run_tables import RunTables
from dask_blackbox.testing import a_log, a_run, a_worker_added
from dask_blackbox.testing.facts import Fact

ALICE, BOB = "tcp://10.0.0.1:4001", "tcp://10.0.0.2:4002"


def _added(address: str, name: str, nanny: str | None = None) -> Fact:
    return a_worker_added(address, at=0, name=name, nanny=nanny)


@pytest.fixture
def run() -> RunTables:
    """Two workers, alice with a nanny, and everybody talks."""
    return a_run(
        _added(ALICE, "alice", "tcp://10.0.0.1:5001"),
        _added(BOB, "bob"),
        a_log("Starting scheduler", at=1, role="scheduler", source="scheduler"),
        a_log("hello", at=2, source=ALICE, key="('sum-1', 0)"),
        a_log("hello, too", at=3, source=BOB, key="('mean-2', 1)"),
        a_log("half full", at=8, source=ALICE, level=30),
        a_log(
            "Worker process 7 was killed\nby signal 15",
            at=9,
            source="tcp://10.0.0.1:5001",
            role="nanny",
            level=40,
            logger="distributed.nanny",
        ),
        ended=10,
    )


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ({}, ["Starting", "hello", "hello, too", "half full", "Worker process"]),
        ({"level": "warning"}, ["half full", "Worker process"]),
        ({"level": "WARN"}, ["half full", "Worker process"]),
        ({"level": "40"}, ["Worker process"]),
        ({"role": "worker"}, ["hello", "hello, too", "half full"]),
        ({"worker": "alice"}, ["hello", "half full", "Worker process"]),
        ({"worker": BOB}, ["hello, too"]),
        ({"worker": ":4001"}, ["hello", "half full", "Worker process"]),
        ({"worker": "ob"}, ["hello, too"]),
        ({"task": "('sum-1', 0)"}, ["hello"]),
        ({"task": "mean"}, ["hello, too"]),
        ({"pattern": "^hello(?!,)"}, ["hello"]),
        ({"since": "+8s"}, ["half full", "Worker process"]),
        ({"since": "-2s"}, ["half full", "Worker process"]),
        ({"since": "1500ms"}, ["Worker process"]),
        ({"until": "+1s"}, ["Starting"]),
        ({"since": "2026-11-21T03:00:08"}, ["half full", "Worker process"]),
        ({"since": "2026-11-21T04:00:08+01:00"}, ["half full", "Worker process"]),
        ({"since": "+2s", "until": "-7s", "worker": "bob"}, ["hello, too"]),
    ],
)
def test_lines_are_chosen_by_what_is_asked(
    run: RunTables, query: dict[str, str], messages: list[str]
) -> None:
    lines, why_none = chosen_lines(run, LogQuery(**query))

    assert why_none is None
    assert len(lines) == len(messages)
    assert all(map(str.startswith, lines["message"], messages))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            {"worker": "bob", "level": "error"},
            (
                "5 lines are recorded; 1 of them come from worker bob; "
                "none of them have level ERROR or higher: the highest is INFO"
            ),
        ),
        (
            {"since": "+1h"},
            (
                "5 lines are recorded; none of them are from 2026-11-21T04:00:00.000Z or later: "
                "they are from 2026-11-21T03:00:01.000Z to 2026-11-21T03:00:09.000Z"
            ),
        ),
        (
            {"role": "driver"},
            (
                "5 lines are recorded; none of them come from a driver: "
                "they come from 4 sources (nanny, scheduler, worker)"
            ),
        ),
        (
            {"pattern": "nowhere"},
            "5 lines are recorded; none of them match 'nowhere'",
        ),
        (
            {"task": "x-1"},
            "5 lines are recorded; none of them belong to task x-1",
        ),
    ],
)
def test_where_no_line_is_left_it_reports_at_which_condition(
    run: RunTables, query: dict[str, str], reason: str
) -> None:
    lines, why_none = chosen_lines(run, LogQuery(**query))

    assert lines.is_empty()
    assert why_none == reason


def test_a_recording_without_logs_says_so() -> None:
    assert chosen_lines(a_run(), LogQuery(level="error"))[1] == (
        "this recording has no log lines"
    )


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ({"worker": "10.0.0"}, "matches several workers"),
        ({"worker": "carol"}, "there were: alice, bob"),
        ({"level": "loud"}, "give DEBUG, INFO"),
        ({"since": "yesterday"}, r"--since 'yesterday' is not a time.*\+10s"),
        ({"until": "5 apples"}, "--until '5 apples' is not a time"),
        ({"pattern": "("}, "not a regular expression"),
    ],
)
def test_a_question_that_cannot_be_understood_reports_what_can(
    run: RunTables, query: dict[str, str], output: str
) -> None:
    with pytest.raises(ConfigurationError, match=output):
        chosen_lines(run, LogQuery(**query))


def test_a_worker_that_came_back_under_its_name_is_one_worker() -> None:
    run = a_run(
        _added(ALICE, "alice"),
        _added(BOB, "alice"),
        a_log("hi", source=ALICE),
        a_log("hi again", source=BOB),
    )

    assert len(chosen_lines(run, LogQuery(worker="alice"))[0]) == 2


def test_a_line_is_compact_and_its_further_lines_are_indented(run: RunTables) -> None:
    lines, _ = chosen_lines(run, LogQuery(level="error"))

    assert [as_text(row) for row in lines.to_dicts()] == [
        (
            "2026-11-21T03:00:09.000Z nanny tcp://10.0.0.1:5001 ERROR    "
            "distributed.nanny: Worker process 7 was killed\n    by signal 15"
        )
    ]


def test_a_line_cannot_drive_the_terminal() -> None:
    run = a_run(a_log("\x1b[2Jgone\x07"))

    text = as_text(chosen_lines(run, LogQuery())[0].to_dicts()[0])

    assert "gone" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_as_json_a_line_is_one_object_with_names_for_what_it_holds(
    run: RunTables,
) -> None:
    lines, _ = chosen_lines(run, LogQuery(level="error"))

    assert json.loads(as_json(lines.to_dicts()[0])) == {
        "at": "2026-11-21T03:00:09.000Z",
        "role": "nanny",
        "source": "tcp://10.0.0.1:5001",
        "pid": 100,
        "seq": None,
        "logger": "distributed.nanny",
        "level": "ERROR",
        "message": "Worker process 7 was killed\nby signal 15",
        "key": None,
    }
