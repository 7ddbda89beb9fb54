"""The recorder of `dask blackbox run` is a fork of that process, and lets go of what is its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox import RunCard
from scenario_runs import SCENARIOS, Home, ScenarioRun, begin_command, ended

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        sys.platform != "linux", reason="the recorder is forked on Linux only"
    ),
]

_SHOWS = [sys.executable, str(SCENARIOS / "shows_recorder.py")]
_REFUSES = """
import os, sys
from dask_blackbox.driver.recorder_process import become_recorder
become_recorder("1" * 500, {}, frozenset())
print("it executes a recorder", "PATH" in os.environ, sys.stdin.fileno())
"""


def recorded(home: Home, *command: str) -> ScenarioRun:
    """Return the end of a command that shows its recorder."""
    card = home.folder / "card.json"
    words = ["blackbox", "run", "-q", "--store", str(home.folder / "store")]
    finished = ended(
        home, begin_command(home, *words, "--card", str(card), "--", *command)
    )
    assert finished.code == 0, finished.errors
    found = RunCard.from_json(card.read_bytes())
    assert found.state == "succeeded"
    assert found.completeness == {"recorded": True, "kept": "store", "complete": True}
    home.quiet()
    assert home.left_over() == []
    return finished


def test_it_looks_like_any_recorder(homes: Callable[[], Home]) -> None:
    reported = recorded(homes(), *_SHOWS).reported
    recorder: dict[str, Any] = reported["recorder"]

    title = ["python", "-m", "dask_blackbox.recorder", str(reported["runner"])]
    assert recorder["words"] == title
    assert recorder["comm"] == "python"
    assert recorder["parent"] != reported["runner"]
    assert recorder["session"] != reported["session"]


def test_a_pipe_that_is_closed_does_not_end_it(homes: Callable[[], Home]) -> None:
    ignored = recorded(homes(), *_SHOWS).reported["recorder"]["ignored"]

    assert {"SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP"} <= {*ignored}


def test_it_keeps_no_file_of_the_command(homes: Callable[[], Home]) -> None:
    """Who reads the command's output would wait for the recorder, too."""
    home = homes()
    note = home.folder / "note"
    script = f'exec 7>"{note}"; exec "$@" 7>&7'
    opened = recorded(home, "sh", "-c", script, "sh", *_SHOWS).reported["recorder"]

    assert [each for each in opened["opened"] if "/spool/" in each]
    assert str(note) not in opened["opened"]


def test_the_modules_of_the_working_directory_are_not_its_own(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    (home.folder / "polars.py").write_text("raise SystemExit('of the user')")

    recorded(home, sys.executable, "-c", "pass")


def test_a_command_within_a_command_starts_another_interpreter(
    homes: Callable[[], Home],
) -> None:
    """What records the outer one has threads in it."""
    home = homes()
    inner = [
        "-m",
        "dask",
        "blackbox",
        "run",
        "-q",
        "--store",
        str(home.folder / "inner"),
    ]
    finished = recorded(home, sys.executable, *inner, "--", *_SHOWS)

    assert finished.reported["recorder"]["words"][:2] == [sys.executable, "-P"]
    assert "there is no setting" not in finished.errors


def test_a_process_whose_name_has_no_room_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "refuses.py").write_text(_REFUSES)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "refuses.py")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "it executes a recorder True 0\n"
