"""Run the script of a case, by itself or under a recorder's command; leave nothing running."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

from dask_failures.case import Case, Signal
from dask_failures.errors import BadAnswerError
from dask_failures.sets import FailureSet

__all__ = ["run_script"]

_MARK = "DASK_FAILURES_MARK"
_SETTLED = 45.0  # seconds that a recorder has to end after the script


def run_script(
    found: FailureSet, name: str, folder: Path, recorder: str = ""
) -> int | None:
    """Run a script in the folder `work` of a folder; return its exit code.

    What it prints is in `output.txt` of that folder.

    Args:
        found: The set.
        name: The case.
        folder: An empty folder.
        recorder: The command that it runs under; `{folder}` and `{name}` are replaced.

    Raises:
        BadAnswerError: The script cannot run here.
    """
    case = found.cases[name]
    if missing := [each for each in case.needs if find_spec(each) is None]:
        raise BadAnswerError(f"the script needs {', '.join(missing)}: not installed")
    work = folder / "work"
    argv = _laid_out(found, name, work)
    under = [
        each.format(folder=folder, name=name)
        for each in (shlex.split(recorder) if case.recorded == "command" else [])
    ]
    mark = uuid.uuid4().hex
    output = folder / "output.txt"
    with output.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - the script of a case
            [*(under or ["env"]), *argv],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=_environment(mark, case, folder),
            start_new_session=True,
        )
    try:
        if case.signal is not None:
            _send(case.signal, case.bound, process, argv, output)
        _wait(process, case.bound)
        _await_others(mark)
    finally:
        _end(process.pid, mark)
    return process.returncode


def _laid_out(found: FailureSet, name: str, work: Path) -> list[str]:
    """Write the script where it runs; return its command."""
    case, files = found.cases[name], found.script(name)
    work.mkdir(parents=True)
    found.unpack_script(name, work)
    [file, *others] = files
    if case.rename and not others:
        (work / file).rename(work / case.rename)
        file = case.rename
    return [word.format(file=file) for word in case.argv]


def _environment(mark: str, case: Case, folder: Path) -> dict[str, str]:
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "TMPDIR": str(temporary),
        "PYTHONUNBUFFERED": "1",
        _MARK: mark,
        **case.env,
    }


def _send(
    asked: Signal,
    bound: float,
    process: subprocess.Popen[bytes],
    argv: Sequence[str],
    output: Path,
) -> None:
    """Send a signal once its marker is printed."""
    deadline = time.monotonic() + bound
    while asked.marker not in output.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            return
        time.sleep(0.05)
    time.sleep(asked.after)
    number = signal.Signals[asked.name]
    with suppress(ProcessLookupError, psutil.Error):
        if asked.to == "group":
            os.killpg(process.pid, number)
        else:
            os.kill(_driver(process.pid, argv), number)


def _driver(pid: int, argv: Sequence[str]) -> int:
    """Return the process of the script itself, which a recorder starts."""
    for each in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):
            if each.cmdline()[1:] == list(argv[1:]):
                return each.pid
    return pid


def _wait(process: subprocess.Popen[bytes], bound: float) -> None:
    """Wait for a process, and end it as job schedulers do."""
    for seconds, number in ((bound, signal.SIGTERM), (15, signal.SIGKILL)):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        else:
            return
    process.wait()


def _await_others(mark: str) -> None:
    """Wait until what a script has started has ended: its recorder, above all."""
    deadline = time.monotonic() + _SETTLED
    while _marked(mark) and time.monotonic() < deadline:
        time.sleep(0.2)


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if each.environ().get(_MARK) == mark:
                found.append(each)
    return found


def _end(group: int, mark: str) -> None:
    """Kill what a script leaves running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for each in _marked(mark):
        with suppress(psutil.Error):
            each.kill()
