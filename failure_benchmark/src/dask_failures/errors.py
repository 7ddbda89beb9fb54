"""What can be wrong with sets, options and diagnosers; each message says what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "BadAnswerError",
    "BadSetError",
    "DaskFailuresError",
    "DiagnoserNotFoundError",
    "UnknownCaseError",
    "UnknownSetError",
    "WrongScriptError",
]


class DaskFailuresError(Exception):
    """Anything that this package raises on purpose."""


class BadSetError(DaskFailuresError):
    """A file is no archive of a set, or is damaged."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} is no valid set: {problem}; docs/contract.md has the layout"
        )


class UnknownSetError(DaskFailuresError):
    """There is no set of that name."""

    def __init__(self, name: str, there: Iterable[str]) -> None:
        super().__init__(f"no set {name!r}; there are {', '.join(there)}")


class UnknownCaseError(DaskFailuresError):
    """Nothing is called so."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no case, cause or kind is called {name!r}; `dask-failures cases` lists them"
        )


class DiagnoserNotFoundError(DaskFailuresError):
    """The command of a diagnoser cannot be started."""

    def __init__(self, command: str, reason: object) -> None:
        super().__init__(
            f"the diagnoser {command!r} cannot be started ({reason}); "
            "give a command as a shell would run it, such as 'python mine.py'"
        )


class BadAnswerError(DaskFailuresError):
    """What a diagnoser printed is no answer: the case counts as not answered."""


class WrongScriptError(DaskFailuresError):
    """The file of a case that is run is no script, but a module of one."""

    def __init__(self, case: str, file: str, importers: Iterable[str]) -> None:
        super().__init__(
            f"case {case} runs {file}, its first file by name, which {', '.join(importers)} "
            "imports: give the module a name behind that of the script"
        )
