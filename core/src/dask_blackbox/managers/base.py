"""What a cluster manager is to us: a source that is asked what became of workers' units."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from dask_blackbox.events import UnitState

LONGEST = 5.0
"""Seconds that a manager may take to answer."""

States = dict[str, UnitState]
"""What a manager said of units, by id."""


class Question(NamedTuple):
    """A command that tells the state of units.

    Attributes:
        command: Program and arguments; `{ids}` stands for the ids of units.
        read: Reads its output.
        separator: Between two ids; empty: one argument for each, and `{ids}` is one of its own.
        most: How many units it is asked for at once.
        wanted: Whether a unit needs this question, as the questions before it answered.
        environment: Variables that it needs.
        absent: Part of its message that it does not know a unit, which is no failure.
    """

    command: tuple[str, ...]
    read: Callable[[str], States]
    separator: str = ","
    most: int = 200
    wanted: Callable[[UnitState | None], bool] = lambda known: known is None
    environment: Mapping[str, str] = {}
    absent: str = ""

    def arguments(self, units: Sequence[str]) -> list[str]:
        """Return the command that asks for some units."""
        if self.separator:
            ids = self.separator.join(units)
            return [each.replace("{ids}", ids) for each in self.command]
        return [
            word
            for each in self.command
            for word in (units if each == "{ids}" else (each,))
        ]


class Manager(Protocol):
    """A cluster manager whose units (jobs of a queue) run workers.

    Attributes:
        name: What people call it.
        kind: What `identity` calls it.
        fact: In which of its facts `identity` names the unit.
        unit: What a unit is called: `job`, `pod`.
        clusters: Classes of cluster objects whose workers it runs.
        variable: Environment variable in which it names a process's unit.
        questions: What it is asked, the best first.
        pending: What the states of a unit begin with that has not started.
        limit: The manager's name of the time limit of a unit.
        cancel: The command with which people end a unit.
        tell: The command that says what became of one.
        asked: Whether it is asked; else its units are only named.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def fact(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def clusters(self) -> tuple[str, ...]: ...

    @property
    def variable(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    @property
    def pending(self) -> tuple[str, ...]: ...

    @property
    def limit(self) -> str: ...

    @property
    def cancel(self) -> str: ...

    @property
    def tell(self) -> str: ...

    @property
    def asked(self) -> bool: ...

    def id_of(self, text: str) -> str:
        """Return the id of a unit from what a variable says."""

    def is_over(self, state: str) -> bool:
        """Return whether a unit in a state has ended for good."""

    def is_ending(self, state: str) -> bool:
        """Return whether the manager has ended a unit of which processes may still run."""

    def is_group(self, unit: str) -> bool:
        """Return whether an id stands for several units, which are found by asking for it."""

    def logs(self, unit: str, folder: Path, state: UnitState | None) -> list[Path]:
        """Return where the log of a unit may be, the likeliest first."""


@dataclass(frozen=True, kw_only=True)
class JobQueue:
    """A batch queue that is asked by its commands, as data.

    Attributes:
        name: As in `Manager`.
        kind: As in `Manager`.
        clusters: As in `Manager`.
        variable: As in `Manager`.
        questions: As in `Manager`.
        pending: As in `Manager`.
        fact: As in `Manager`.
        unit: As in `Manager`.
        limit: As in `Manager`.
        cancel: As in `Manager`.
        tell: As in `Manager`.
        cut: What follows an id in the variable, from this on (the name of a server).
        lasting: What the states of a unit begin with that has not ended.
        ending: Those of them in which its end is decided, and its reason that of the end.
        files: Patterns of the names of its logs; `{id}` is the unit's.
        asked: As in `Manager`.
    """

    name: str
    kind: str
    clusters: tuple[str, ...]
    questions: tuple[Question, ...]
    pending: tuple[str, ...]
    limit: str
    cancel: str
    tell: str
    variable: str = ""
    cut: str = ""
    fact: str = "job_id"
    unit: str = "job"
    lasting: tuple[str, ...]
    ending: tuple[str, ...] = ()
    files: tuple[str, ...]
    asked: bool = True

    def id_of(self, text: str) -> str:
        """Return the id of a unit from what a variable says."""
        return text.partition(self.cut)[0] if self.cut else text

    def is_over(self, state: str) -> bool:
        """Return whether a unit in a state has ended for good."""
        return bool(state) and not state.startswith(self.lasting)

    def is_ending(self, state: str) -> bool:
        """Return whether the manager has ended a unit of which processes may still run."""
        return state.startswith(self.ending) if self.ending else False

    def is_group(self, unit: str) -> bool:
        """Return that none does: a queue names each job."""
        del unit
        return False

    def logs(self, unit: str, folder: Path, state: UnitState | None) -> list[Path]:
        """Return where the log of a unit may be, the likeliest first."""
        found = [Path(state.log)] if state is not None and state.log else []
        number = _NUMBER.match(unit)
        ids = dict.fromkeys((unit, number[0] if number else unit))
        names = [each.replace("{id}", re.escape(i)) for i in ids for each in self.files]
        listed = _some_names(folder)
        for pattern in names:
            found += [folder / each for each in listed if re.fullmatch(pattern, each)]
        return list(dict.fromkeys(found))


_NUMBER = re.compile(r"\d{1,20}")
_MOST_NAMES = 5_000


def _some_names(folder: Path) -> list[str]:
    """Return names of files in a folder, not very many."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                names.append(each.name)
                if len(names) >= _MOST_NAMES:
                    break
    except OSError:
        return []
    return sorted(names)


def seconds(text: str) -> float | None:
    """Return a duration as queues write it (`1-02:03:04`, `02:03`); None: no limit, or no number."""
    days, dash, rest = text.strip().rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in (*parts, *([days] if dash else []))):
        return None
    numbers = [int(part) for part in parts]
    if dash:  # `1-02` are hours
        numbers += [0] * (3 - len(numbers))
    total = 0
    for number in numbers:
        total = total * 60 + number
    return float(total + 86_400 * int(days or 0))


_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def size_in_bytes(text: str, *, unit: str = "") -> int | None:
    """Return a size as queues write it (`300M`, `1.5gb`); None: it is none.

    Args:
        text: The size.
        unit: In which it is if the text does not say it.
    """
    found = re.fullmatch(
        r"(\d{1,20}(?:\.\d{1,9})?)([KMGTP]?)I?B?N?", text.strip().upper()
    )
    if found is None:
        return None
    return int(float(found[1]) * _UNITS[found[2] or unit])


def moment(text: str) -> float | None:
    """Return epoch seconds; None: the text is no number."""
    return float(text) if text.strip().isdigit() else None
