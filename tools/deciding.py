"""Print in how many recordings each function of the analysis decides anything.

    .venvs/core/bin/python tools/deciding.py [ARCHIVE…] [--fewer N] [--module NAME]

A function decides something in a recording if it returns, or yields, something that is not
None, false or empty while that is diagnosed.  Rules are functions of `rules/`; the rows of
what came before a verdict are counted by their names, when one is a step of the verdict.
ARCHIVE is a set of recordings; default: those of `tests/kept`.  All of the benchmark are
`failure_benchmark/src/dask_failures/sets/*.tar.xz`, which takes about 20 minutes of CPU time.

Prints a row for each module; `--fewer N` lists the functions that decide anything in fewer
than N recordings, `--module` those of one module only.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple, Self

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from dask_blackbox import analyse
from dask_blackbox.card import card_of
from kept_recordings import KEPT, read_archive

FEW = 3
"""Recordings below which the summary counts a function as seldom used."""

_ROOT = Path(analyse.__file__).parent
_SIZED = (str, bytes, tuple, list, dict, set, frozenset)

Function = tuple[str, str]
"""The module, relative to `analyse/`, and the function's qualified name."""


class Row(NamedTuple):
    """What is printed of a module.

    Attributes:
        module: Relative to `analyse/`.
        functions: How many it has.
        never: Of these, how many were never called.
        nothing: How many were called, and never decided anything.
        few: How many decided something in fewer than `FEW` recordings.
    """

    module: str
    functions: int
    never: int
    nothing: int
    few: int


class Decisions:
    """The functions of the analysis that are called, and decide something, while it is entered."""

    def __init__(self) -> None:
        self.called: set[Function] = set()
        self.decided: set[Function] = set()
        self._measured: dict[CodeType, Function | None] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, value: object) -> None:
        if event != "return":
            return
        code = frame.f_code
        if code not in self._measured:
            self._measured[code] = _function_of(code)
        function = self._measured[code]
        if function is not None:
            self.called.add(function)
            if _is_something(value):
                self.decided.add(function)


def _function_of(code: CodeType) -> Function | None:
    if "<" in code.co_name or not code.co_filename.startswith(f"{_ROOT}/"):
        return None
    file = Path(code.co_filename).relative_to(_ROOT).as_posix()
    return file, code.co_qualname.replace("<locals>.", "")


def _is_something(value: object) -> bool:
    if value is None or value is False:
        return False
    return bool(value) if isinstance(value, _SIZED) else True


def functions() -> Iterator[Function]:
    """Yield the functions and methods of the analysis."""
    for file in sorted(_ROOT.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        yield from _inside(tree, file.relative_to(_ROOT).as_posix(), "")


def _inside(node: ast.AST, file: str, outer: str) -> Iterator[Function]:
    for each in ast.iter_child_nodes(node):
        name = outer
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            name = f"{outer}.{each.name}".lstrip(".")
            if isinstance(each, ast.FunctionDef):
                yield file, name
        yield from _inside(each, file, name)


def rows(
    known: Sequence[Function], called: set[Function], decided: Counter[Function]
) -> list[Row]:
    """Return the rows of all modules, those with the most seldom used functions first."""
    found = []
    for module in dict.fromkeys(file for file, _ in known):
        own = [each for each in known if each[0] == module]
        found.append(
            Row(
                module=module,
                functions=len(own),
                never=sum(each not in called for each in own),
                nothing=sum(each in called and not decided[each] for each in own),
                few=sum(0 < decided[each] < FEW for each in own),
            )
        )
    return sorted(found, key=lambda row: -(row.never + row.nothing + row.few))


def main(arguments: Sequence[str]) -> int:
    """Print the rows; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="*", type=Path)
    parser.add_argument("--fewer", type=int, default=0, metavar="N")
    parser.add_argument("--module", default="", metavar="NAME")
    asked = parser.parse_args(arguments)
    called, decided, number = set[Function](), Counter[Function](), 0
    for archive in asked.archives or sorted(KEPT.glob("*.tar.xz")):
        for _, run in read_archive(archive):
            number += 1
            with Decisions() as seen:
                card_of(run, analyse.findings_in(run))
            called |= seen.called
            decided.update(seen.decided)
    known = [each for each in functions() if each[0].startswith(asked.module)]
    table = rows(known, called, decided)
    print(f"{number} recordings; fewer than {FEW} of them decide in `few` functions")
    for row in (Row._fields, *table, _total(table)):
        module, *numbers = map(str, row)
        print("  ".join([module.ljust(40), *(each.rjust(9) for each in numbers)]))
    for module, name in known:
        if decided[module, name] < asked.fewer:
            print(f"{decided[module, name]:5}  {module} {name}")
    return 0


def _total(table: Sequence[Row]) -> Row:
    sums = [sum(column) for column in list(zip(*table, strict=True))[1:]]
    return Row("all", *sums)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
