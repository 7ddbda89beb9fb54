"""Python's stacks at a fault, at SIGTERM or at `os._exit`: of a process that several recordings share."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = """
import ctypes, os, signal, sys
from dask_blackbox.capture.worker.fault_stacks import (
    stop_writing_stacks_to, write_stacks_to
)

first, second, third, how = sys.argv[1:]
write_stacks_to(first, at_signals=True)
write_stacks_to(second, at_signals=True)
stop_writing_stacks_to(first)
os.unlink(first)
write_stacks_to(third, at_signals=True)

def a_fault_of_the_users():
    if how in ("SIGTERM", "SIGURG"):
        os.kill(os.getpid(), signal.Signals[how])
    if how == "SIGURG":
        sys.exit(0)
    if how == "os._exit":
        os._exit(66)
    ctypes.string_at(0)

a_fault_of_the_users()
"""
ENDED = """
import faulthandler, os, sys
from dask_blackbox.capture.worker.fault_stacks import (
    stop_writing_stacks_to, write_stacks_to
)

exits = os._exit
for _ in range(2):
    write_stacks_to(sys.argv[1], at_signals=True)
    stop_writing_stacks_to(sys.argv[1])
    os.unlink(sys.argv[1])
assert not faulthandler.is_enabled()
assert os._exit is exits
print(*[os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")[:-1]])
"""


def ended(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGSEGV", "SIGURG", "os._exit"])
def test_each_recording_has_the_stacks_though_another_has_ended(
    tmp_path: Path, how: str
) -> None:
    first, *others = (tmp_path / name for name in ("first", "second", "third"))

    finished = ended(SHARED, str(first), *map(str, others), how)

    # A signal that a process ignores by default does not end it.
    codes = {"SIGURG": 0, "os._exit": 66}
    ended_by = codes[how] if how in codes else -signal.Signals[how]
    assert finished.returncode == ended_by, finished.stderr
    assert not first.exists()
    for each in others:
        written = each.read_text()
        assert "a_fault_of_the_users" in written
        # Else it would look like what is written at SIGTERM.
        assert written.startswith("os._exit(66)") == (how == "os._exit")


def test_nothing_stays_when_all_recordings_have_ended(tmp_path: Path) -> None:
    finished = ended(ENDED, str(tmp_path / "only"))

    assert finished.returncode == 0, finished.stderr
    assert str(tmp_path) not in finished.stdout


FORKS = """
import os, sys
from dask_blackbox.capture.worker.fault_stacks import write_stacks_to

write_stacks_to(sys.argv[1], at_signals=True)
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_that_ends_itself_writes_nothing(tmp_path: Path) -> None:
    finished = ended(FORKS, str(tmp_path / "stacks"))

    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "stacks").read_text() == ""
