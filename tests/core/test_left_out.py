"""Classes of data that are left out are in no byte of a recording, and it says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import dask.config
import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.driver.recorder_options import classes_left_out
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.manifest import LEAVABLE, DriverException, Manifest
from dask_blackbox.recorder.left_out import LeftOut
from dask_blackbox.report import text
from scenario_runs import SCENARIOS, Home, ScenarioRun, every_byte, run_scenario

MARKS = {
    "line": "mark-in-a-line",
    "argument": "mark-in-an-argument",
    "parameter": "mark-in-a-parameter",
    "word": "mark-in-the-command",
    "folder": "mark-in-a-folder",
    "file": "mark_in_a_file.py",
}


def run_with(home: Home, left_out: str) -> ScenarioRun:
    folder = home.folder / MARKS["folder"]
    store = str(home.folder / "store")
    return run_scenario(
        home, "data_left_out.py", store, str(folder), MARKS["word"],
        MARKS=json.dumps(MARKS), DASK_BLACKBOX__CAPTURE__LEAVE_OUT=left_out,
    )  # fmt: skip


def card_of(finished: ScenarioRun) -> RunCard:
    return RunCard.from_json((finished.home.folder / "card.json").read_bytes())


@pytest.fixture(scope="module")
def without(homes: Callable[[], Home]) -> ScenarioRun:
    return run_with(homes(), "log lines, arguments, source-paths")


@pytest.mark.processes
def test_no_byte_of_the_store_holds_what_is_left_out(without: ScenarioRun) -> None:
    stored = every_byte(without.home.folder / "store")

    found = {name for name, mark in MARKS.items() if mark.encode() in stored}
    assert found == set()
    assert str(SCENARIOS).encode() not in stored
    assert b"it failed" in stored
    assert b"ValueError" in stored


@pytest.mark.processes
def test_the_card_lists_what_is_left_out(without: ScenarioRun) -> None:
    card = card_of(without)

    assert card.completeness["complete"] is True
    shown = text(card)
    for each in LEAVABLE:
        assert f"{each} were left out, by `blackbox.capture.leave-out`" in shown


@pytest.mark.processes
@pytest.mark.nightly
def test_without_the_setting_all_of_it_is_recorded(homes: Callable[[], Home]) -> None:
    finished = run_with(homes(), "[]")
    stored = every_byte(finished.home.folder / "store")

    found = {name for name, mark in MARKS.items() if mark.encode() in stored}
    assert found == set(MARKS)
    assert "left out" not in text(card_of(finished))


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        ([], ()),
        ("", ()),
        (None, ()),
        (["arguments"], ("arguments",)),
        ("source paths", ("source paths",)),
        ("log-lines,source_paths", ("log lines", "source paths")),
    ],
)
def test_a_setting_lists_classes(given: object, classes: tuple[str, ...]) -> None:
    with dask.config.set({"blackbox.capture.leave-out": given}):
        assert classes_left_out() == classes


def test_an_unknown_class_is_an_error_that_says_what_to_write() -> None:
    with (
        dask.config.set({"blackbox.capture.leave-out": ["log line"]}),
        pytest.raises(ConfigurationError, match="did you mean 'log lines'"),
    ):
        classes_left_out()
    with (
        dask.config.set({"blackbox.capture.leave-out": 5}),
        pytest.raises(ConfigurationError, match="give log lines, arguments"),
    ):
        classes_left_out()


TRACEBACK = """Traceback (most recent call last):
  File "/home/ann/our jobs/nightly.py", line 7, in main
  File "/home/ann/.venv/lib/python3.12/site-packages/dask/base.py", line 3, in compute
ValueError: see /home/ann/our_jobs/tax.py:12."""


def error_row(traceback: str) -> list[Any]:
    return [1.0, "k-1", "k", "tcp://1", "erred", "ValueError", "m", traceback, None]


def test_a_traceback_keeps_functions_lines_and_files_of_packages() -> None:
    [row] = LeftOut(["source paths"]).rows("error", [error_row(TRACEBACK)])
    shown = str(row[7])

    assert "ann" not in shown
    assert "nightly" not in shown
    assert "tax.py" not in shown
    assert '.py", line 7, in main' in shown
    assert 'File "…/site-packages/dask/base.py", line 3, in compute' in shown
    assert ":12." in shown


def test_a_file_has_the_same_name_everywhere() -> None:
    left_out = LeftOut(["source paths"])
    detail = json.dumps({"stack": ['File "/a/b.py", line 1'], "file": "/a/b.py"})
    [row] = left_out.rows("event", [[1.0, "driver-blocked", "driver", detail]])
    found = json.loads(str(row[3]))
    raised = DriverException(
        exception="ValueError", message="", traceback='File "/a/b.py"', file="/a/b.py"
    )

    assert found["stack"] == [f'File "{found["file"]}", line 1']
    again = left_out.exception(raised)
    assert again.file == found["file"]
    assert again.traceback == f'File "{found["file"]}"'
    assert left_out.exception(again) == again


def test_a_manifest_names_no_script() -> None:
    manifest = Manifest(
        recording="r", job="j", run_id="1", attempt=1, started=1.0,
        host={"kind": "shell", "script": "/srv/nightly.py"}, machine="m", blackbox="1",
    )  # fmt: skip

    assert "nightly" not in str(LeftOut(["source paths"]).manifest(manifest).host)
    assert LeftOut([]).manifest(manifest) == manifest


def test_other_classes_stay() -> None:
    log = [1.0, "worker", "tcp://1", 5, 1, "stdout", 20, "/a/b.py says x", None]
    argv = json.dumps({"argv": ["a.py", "--day", "1"], "parameters": {"day": 1}})
    attached = [1.0, "driver-attached", "driver", argv]

    assert LeftOut(["arguments"]).rows("log", [log]) == [log]
    [row] = LeftOut(["arguments"]).rows("event", [attached])
    assert json.loads(str(row[3])) == {
        "argv": ["a.py", "[left out]"],
        "parameters": None,
    }
    [row] = LeftOut(["log lines"]).rows("event", [attached])
    assert json.loads(str(row[3])) == json.loads(argv)
