"""A recorder that is frozen is replaced as one that died, and the run's end is true."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox import Run
from dask_blackbox.reader import find_run
from dask_blackbox.store import open_store
from scenario_runs import SCENARIOS, Home, begin_command, ended, run_scenario
from stored_events import details

LONG = "10 minutes"
"""The end must not depend on it: a test that waits for it takes too long."""


@pytest.mark.parametrize(
    "when", ["middle", pytest.param("after", marks=pytest.mark.nightly)]
)
def test_a_recorder_that_is_stopped_for_good_loses_nothing(
    homes: Callable[[], Home], when: str
) -> None:
    home = homes()
    store = str(home.folder / "store")
    finished = run_scenario(
        home, "recorder_frozen.py", store, when, DASK_BLACKBOX__FINISH_TIMEOUT=LONG
    )
    home.quiet()
    run = finished.run

    assert finished.card.state == "succeeded"
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert run.state == "succeeded"
    assert run.tasks["key"].n_unique() == run.tasks.height == 1_000
    [restarted] = details(run, "recorder-restarted")
    assert "has been stopped" in restarted["why"]
    assert home.left_over() == []


@pytest.mark.nightly
def test_the_driver_writes_how_the_run_ended_if_all_recorders_are_stopped(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    finished = run_scenario(
        home, "recorder_frozen.py", store, "all", DASK_BLACKBOX__FINISH_TIMEOUT=LONG
    )
    card = finished.card
    home.quiet()

    assert card.state == "succeeded"
    assert card.completeness["recorded"] is False
    assert card.completeness["kept"] == "spool"
    assert "continues in the background" not in card.completeness["reason"]
    assert "the recorder died 5 times" in card.completeness["reason"]

    synced = ended(home, begin_command(home, "blackbox", "sync"))
    later = Run.open(finished.reported["links"]["recording"]).card()

    assert synced.code == 0, synced.errors
    assert later.state == "succeeded"
    assert home.left_over() == []


def recorders_of(owner: int) -> set[int]:
    """Return the recorders of a command's process."""
    sys_path = os.fspath(SCENARIOS)
    script = (
        f"import sys; sys.path.insert(0, {sys_path!r});"
        f"from scenario_reports import recorders; print(*recorders({owner}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(map(int, found.stdout.split()))


def answers(path: bytes) -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        return line.connect_ex(path) == 0


@pytest.mark.nightly
def test_a_command_whose_recorder_is_stopped_is_recorded(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    store = str(home.folder / "store")
    script = [sys.executable, str(SCENARIOS / "command_in_steps.py")]
    words = ["blackbox", "run", "--store", store, "--", *script]
    process = begin_command(home, *words, DASK_BLACKBOX__FINISH_TIMEOUT=LONG)
    steps = home.folder / "steps"
    until((steps / "half").exists, "the first half", describe=process.poll)
    [recorder] = recorders_of(process.pid)
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: recorders_of(process.pid) - {recorder}, "another one", interval=0.5)
    variables = Path(f"/proc/{(steps / 'half').read_text()}/environ").read_bytes()
    [control] = re.findall(rb"DASK_BLACKBOX_CONTROL=([^\0]+)", variables)
    until(lambda: answers(control), "its socket")
    Path(steps / "continue").touch()
    finished = ended(home, process)
    home.quiet()
    run = find_run(open_store(store), "latest")

    assert finished.code == 0, finished.errors
    assert run.card().state == "succeeded"
    assert run.tasks.height == 40
    assert len(details(run, "recorder-restarted")) == 1
    assert home.left_over() == []
