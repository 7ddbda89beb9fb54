"""Asks managers for their units, in bounded time and number, and reads the ends of their logs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from dask_blackbox.events import Event, ManagerAsked, UnitLog, UnitState
from dask_blackbox.managers.base import LONGEST, Manager, Question

MOST_CALLS = 20
"""How often the commands of a manager are called in a run."""

_MOST_FAILURES = 2
_MOST_OUTPUT = 1_000_000
_MOST_LOG, _MOST_LINES, _LONGEST_LINE = 16_384, 20, 400
_LONGEST_ERROR = 200


class Asker:
    """Asks one manager what became of units.  Used by one thread.

    Args:
        manager: Which.
    """

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.calls = 0
        self._failures: Counter[str] = Counter()
        self._timeouts = 0

    def ask(self, units: Iterable[str], *, within: float = LONGEST) -> Iterator[Event]:
        """Yield what the manager says of units, and how it was asked.

        Args:
            units: Their ids.
            within: Seconds for all of it.
        """
        deadline = time.monotonic() + within
        known: dict[str, UnitState] = {}
        waiting = list(dict.fromkeys(units))
        for question in self.manager.questions:
            program = question.command[0]
            wanted = [each for each in waiting if question.wanted(known.get(each))]
            for first in range(0, len(wanted), question.most):
                remaining = deadline - time.monotonic()
                if remaining <= 0 or self._failures[program] >= _MOST_FAILURES:
                    break
                if self.calls >= MOST_CALLS or self._timeouts >= _MOST_FAILURES:
                    break
                asked = wanted[first : first + question.most]
                report, states = self._call(question, asked, min(remaining, LONGEST))
                yield report
                for unit, state in states.items():
                    known[unit] = _merged(known.get(unit), state)
        now = time.time()
        for state in known.values():
            yield msgspec.structs.replace(state, at=now)

    def log(self, unit: str, folder: Path, state: UnitState | None) -> UnitLog:
        """Return the end of a unit's own log."""
        return end_of_log(self.manager, unit, folder, state)

    def _call(
        self, question: Question, units: Sequence[str], timeout: float
    ) -> tuple[ManagerAsked, dict[str, UnitState]]:
        program = question.command[0]
        self.calls += 1
        began = time.monotonic()
        text, error = _output(question, units, timeout)
        states = question.read(text)
        states = {unit: states[unit] for unit in units if unit in states}
        if error:
            # What is not installed will not be the next time either.
            missing = error.endswith(_MISSING)
            self._timeouts += _LATE in error
            self._failures[program] += _MOST_FAILURES if missing else 1
        else:
            self._failures[program] = 0
        report = ManagerAsked(
            at=time.time(),
            manager=self.manager.name,
            command=program,
            units=len(units),
            seconds=round(time.monotonic() - began, 3),
            error=error,
        )
        return report, states


_MISSING, _LATE = "was not found", "did not answer within"


def _merged(before: UnitState | None, now: UnitState) -> UnitState:
    """Return a state with what an earlier answer knew and a later one does not."""
    if before is None:
        return now
    had = msgspec.structs.asdict(before)
    new = {k: v for k, v in msgspec.structs.asdict(now).items() if v not in ("", None)}
    return UnitState(**(had | new))


def _output(
    question: Question, units: Sequence[str], timeout: float
) -> tuple[str, str]:
    """Return what a command printed, and why it failed if it did."""
    command = question.arguments(units)
    program = command[0]
    try:
        asking = subprocess.Popen(  # noqa: S603 - the manager's own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **question.environment},
            start_new_session=True,
        )
    except FileNotFoundError:
        return "", f"`{program}` {_MISSING}"
    except OSError as error:
        return "", f"`{program}` could not be started: {error.strerror}"
    try:
        out, complaint = asking.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(asking.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            asking.communicate(timeout=_AFTER_KILL)
        return "", f"`{program}` {_LATE} {round(timeout, 1):g} s"
    text = out[:_MOST_OUTPUT].decode("utf-8", "replace")
    if asking.returncode == 0:
        return text, ""
    said = complaint[:_MOST_OUTPUT].decode("utf-8", "replace").strip()
    if question.absent and question.absent in said:
        return text, ""
    lines = said.splitlines()
    why = f": {lines[-1][:_LONGEST_ERROR]}" if lines else ""
    return text, f"`{program}` failed with exit code {asking.returncode}{why}"


_AFTER_KILL = 1.0


class UnitAsker(Protocol):
    """Asks one manager what became of units.  Used by one thread."""

    def ask(self, units: Iterable[str], *, within: float = LONGEST) -> Iterator[Event]:
        """Yield what the manager says of units, and how it was asked."""

    def log(self, unit: str, folder: Path, state: UnitState | None) -> UnitLog:
        """Return the end of a unit's own log."""


def asker_of(manager: Manager) -> UnitAsker:
    """Return what asks a manager: its commands, or its API."""
    if manager.questions:
        return Asker(manager)
    from dask_blackbox.managers.kubernetes_asking import KubernetesAsker

    return KubernetesAsker()


def end_of_log(
    manager: Manager, unit: str, folder: Path, state: UnitState | None
) -> UnitLog:
    """Return the end of a unit's own log, from the first file that can be read.

    Args:
        manager: Of the unit.
        unit: Its id.
        folder: Where logs are, if the manager does not say it.
        state: What the manager last said of it.
    """
    error, path = "no file of it was found", ""
    for each in manager.logs(unit, folder, state):
        path = str(each)
        try:
            lines, left_out = _last_lines(each)
        except OSError as failure:
            error = failure.strerror or type(failure).__name__
            continue
        return UnitLog(
            at=time.time(),
            subject=unit,
            manager=manager.name,
            path=path,
            lines=lines,
            left_out=left_out,
        )
    return UnitLog(
        at=time.time(), subject=unit, manager=manager.name, path=path, error=error
    )


def _last_lines(path: Path) -> tuple[tuple[str, ...], int]:
    """Return the last lines of a file, and how many bytes are before them."""
    if not path.is_file():  # a pipe would never end
        raise FileNotFoundError(2, "no such file")
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - _MOST_LOG, 0))
        text = file.read(_MOST_LOG)
    lines = text.splitlines()[-_MOST_LINES:]
    shown = sum(len(each) + 1 for each in lines)
    cut = (each.decode("utf-8", "replace")[:_LONGEST_LINE] for each in lines)
    return tuple(cut), max(length - shown, 0)
