"""`dask blackbox run` is killed, and its command is not: recording goes on to the command's end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox import Run
from dask_blackbox.events import CommandStarted
from dask_blackbox.reader import find_run
from dask_blackbox.store import open_store
from scenario_runs import SCENARIOS, Home, begin_command
from stored_events import details


def at_half(
    home: Home, *arguments: str, by: tuple[str, ...] = ()
) -> tuple[subprocess.Popen[str], str]:
    """Start a recorded command; return the wrapper and the store when it is half done."""
    store = str(home.folder / "store")
    script = [*by, sys.executable, str(SCENARIOS / "command_in_steps.py"), *arguments]
    process = begin_command(home, "blackbox", "run", "--store", store, "--", *script)
    half = home.folder / "steps" / "half"
    until(half.exists, "the first half", describe=process.poll)
    return process, store


def finished_run(home: Home, wrapper: subprocess.Popen[str], store: str) -> Run:
    """Let the command continue, and return its recording when no process is left."""
    Path(home.folder / "steps" / "continue").touch()
    wrapper.communicate()
    home.quiet()
    return find_run(open_store(store), "latest")


def missing(run: Run) -> str:
    return str(run.card().completeness.get("missing"))


@pytest.mark.parametrize(
    ("code", "state"),
    [
        pytest.param("0", "succeeded", marks=pytest.mark.nightly),
        ("3", "failed"),
    ],
)
def test_a_command_that_outlives_its_wrapper_is_recorded_to_its_end(
    homes: Callable[[], Home], code: str, state: str
) -> None:
    home = homes()
    wrapper, store = at_half(home, code)
    os.kill(wrapper.pid, signal.SIGKILL)
    run = finished_run(home, wrapper, store)

    assert (run.state, run.tasks.height) == (state, 40)
    assert details(run, "driver-lost") == []
    assert f"process {wrapper.pid}, which had started the command" in missing(run)
    assert "SIGKILL" in missing(run)
    verdict = run.card().verdict
    assert verdict is None or verdict.rule != "driver-killed"
    assert home.left_over() == []


@pytest.mark.nightly
def test_a_command_that_is_killed_after_its_wrapper_is_aborted(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    wrapper, store = at_half(home)
    command = int((home.folder / "steps" / "half").read_text())
    os.kill(wrapper.pid, signal.SIGKILL)
    os.kill(command, signal.SIGKILL)
    run = finished_run(home, wrapper, store)

    assert run.state == "aborted"
    verdict = run.card().verdict
    assert verdict is not None
    assert verdict.rule == "driver-killed"
    assert home.left_over() == []


@pytest.mark.nightly
def test_the_program_of_a_command_that_is_killed_is_recorded_to_its_end(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    # As `timeout` or `nohup` in a script: the command's own process has no client.
    shell = ("sh", "-c", '"$@"; exit $?', "sh")
    wrapper, store = at_half(home, by=shell)
    program = int((home.folder / "steps" / "half").read_text())
    status = Path(f"/proc/{program}/stat").read_text()
    command = int(status.rpartition(")")[2].split()[1])
    os.kill(command, signal.SIGKILL)
    until(lambda: wrapper.poll() is not None, "the end of the wrapper")
    code = wrapper.poll()
    run = finished_run(home, wrapper, store)

    assert code == 128 + signal.SIGKILL
    assert (run.state, run.tasks.height) == ("succeeded", 40)
    assert [each.pid for each in run.of(CommandStarted)] == [command]
    assert f"process {program} continued" in missing(run)
    assert home.left_over() == []
