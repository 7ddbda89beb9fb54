"""Events as types: what is stored, what is declared, and what happens if they differ."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from dask_blackbox import events
from dask_blackbox.events import (
    KINDS,
    DriverBlocked,
    Event,
    EventRow,
    MemorySample,
    Stall,
    Unrecognised,
    WorkerExitReport,
    WorkerRemoved,
    decoded,
    encoded,
)
from dask_blackbox.testing import a_run, a_worker_added, a_worker_removed
from dask_blackbox.testing.facts import EPOCH, an_event
from event_types import undeclared, undeclared_in_folder, written_by_hand
from kept_recordings import SETS, recordings
from stored_runs import Shelf

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "core" / "src" / "dask_blackbox"
WRITERS = ("error_flow", "capture", "driver", "recorder", "autorecord", "managers")
COMMON = {field.name for field in msgspec.structs.fields(Event)}


@pytest.fixture(scope="module")
def kept_rows() -> list[EventRow]:
    """Return every event of every recording that is kept."""
    found: list[EventRow] = []
    for of in SETS:
        for run in recordings(of).values():
            moments = pl.col("at").dt.epoch("us") / 1e6
            found += run.events.select(moments, "kind", "subject", "detail").iter_rows()
    return found


def test_every_kept_event_is_declared(kept_rows: list[EventRow]) -> None:
    assert len(kept_rows) > 9_000
    assert undeclared(kept_rows) == set()


def test_every_declared_field_is_written(kept_rows: list[EventRow]) -> None:
    written = {(row[1], name) for row in kept_rows for name in json.loads(row[3])}
    named = _names_in_writers()
    declared = {
        (kind, field.name)
        for kind, struct in KINDS.items()
        for field in msgspec.structs.fields(struct)
        if field.name not in COMMON
    }

    missing = {each for each in declared - written if each[1] not in named}
    assert missing == set()


def test_every_field_that_is_written_by_hand_is_declared_for_that_kind() -> None:
    written = [
        each
        for package in WRITERS
        for path in sorted((SOURCES / package).rglob("*.py"))
        for each in written_by_hand(path.read_text())
    ]

    declared = {
        (kind, name) for kind, of in KINDS.items() for name in of.__struct_fields__
    }
    assert len(written) > 180
    assert [each for each in written if each not in declared] == []


def _names_in_writers() -> set[str]:
    """Return the words that the code uses where it writes events: names and keywords."""
    found: set[str] = set()
    for package in WRITERS:
        for path in (SOURCES / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.keyword) and node.arg:
                    found.add(node.arg)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
    return found


def test_an_event_is_read_as_its_type() -> None:
    detail = {
        "pid": 7,
        "executing": [{"key": "x", "start": 1.5}],
        "memory": [[1.0, 100], [1.1, 200]],
        "observed_at": 3.0,
    }
    row = (4.0, "worker-exit-report", "tcp://a:1", json.dumps(detail))

    event = decoded(*row)

    assert isinstance(event, WorkerExitReport)
    assert (event.at, event.subject, event.pid) == (4.0, "tcp://a:1", 7)
    assert event.executing[0].start == 1.5
    assert event.memory == (MemorySample(1.0, 100), MemorySample(1.1, 200))
    assert event.observed_at == 3.0
    assert event.exit_code is None
    assert json.loads(encoded(event)[3])["observed_at"] == 3.0
    assert decoded(*encoded(event)) == event


def test_fields_of_newer_writers_survive() -> None:
    detail = {"reason": "x", "newer": {"deep": [1]}}

    event = decoded(1.0, "worker-closing", "w", json.dumps(detail))

    assert isinstance(event, Event)
    assert event.extra == {"newer": {"deep": [1]}}
    assert event.malformed == {}
    assert json.loads(encoded(event)[3]) == detail


def test_kinds_of_newer_writers_survive() -> None:
    row = (1.0, "worker-teleported", "w", '{"to": "mars"}')

    event = decoded(*row)

    assert isinstance(event, Unrecognised)
    assert event.kind == "worker-teleported"
    assert encoded(event) == row


def test_a_malformed_field_leaves_the_others() -> None:
    detail = {"stimulus_id": "s", "expected": "perhaps", "processing": ["a", "b"]}

    event = decoded(1.0, "worker-removed", "w", json.dumps(detail))

    assert isinstance(event, WorkerRemoved)
    assert (event.stimulus_id, event.processing) == ("s", ("a", "b"))
    assert event.expected is None
    assert event.malformed == {"expected": "perhaps"}
    assert json.loads(encoded(event)[3]).items() >= detail.items()


@pytest.mark.parametrize("detail", ["", "{", "[1, 2]", "null", "[" * 100_000])
def test_particulars_that_are_no_object_leave_the_event(detail: str) -> None:
    row = (1.0, "worker-removed", "w", detail)

    event = decoded(*row)

    assert isinstance(event, WorkerRemoved)
    assert (event.at, event.subject, event.processing) == (1.0, "w", ())
    assert event.malformed == {"": detail}
    assert encoded(event) == row


def test_a_null_is_what_is_not_known() -> None:
    event = decoded(1.0, "stall", "", '{"lasted": null, "answers": null}')

    assert event == Stall(at=1.0)


def test_settings_may_hold_infinity() -> None:
    event = decoded(1.0, "scheduler-info", "", '{"config": {"maximum": Infinity}}')

    assert isinstance(event, events.SchedulerInfo)
    assert event.config == {"maximum": float("inf")}
    assert json.loads(encoded(event)[3])["config"] == event.config


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_defaults_of_a_kind_survive_being_written(kind: str) -> None:
    event = KINDS[kind](at=2.5, subject="w")

    assert decoded(*encoded(event)) == event


def test_a_run_gives_its_events_in_order_of_time() -> None:
    run = a_run(
        a_worker_removed("tcp://b:1", at=9.0, processing=("x",)),
        a_worker_removed("tcp://a:1", at=4.0, expected=True),
        an_event("driver-blocked", "driver", at=5.0, lasted=3.0, stack=["a line"]),
    )

    removed = run.of(WorkerRemoved)

    assert [(e.subject, e.at - EPOCH, e.expected) for e in removed] == [
        ("tcp://a:1", 4.0, True),
        ("tcp://b:1", 9.0, False),
    ]
    assert removed[1].processing == ("x",)
    assert removed[1].moment == run.events["at"].max()
    assert run.of(WorkerRemoved) is removed
    assert [e.stack for e in run.of(DriverBlocked)] == [("a line",)]
    assert run.of(Stall) == ()


def test_the_page_on_tables_is_printed_from_the_types() -> None:
    tool = ROOT / "tools" / "tables_page.py"

    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)

    assert done.returncode == 0, "run .venvs/core/bin/python tools/tables_page.py"


def test_every_struct_of_an_event_is_public() -> None:
    public: dict[str, Any] = vars(events)

    assert {struct.__name__ for struct in KINDS.values()} <= public.keys()


def test_a_recording_with_an_undeclared_field_is_found(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", a_worker_removed(), a_worker_added(shoe_size=43))

    problems = undeclared_in_folder(Path(shelf.url))

    assert problems == {
        "worker-added: shoe_size is not declared",
    }
