"""Print in how many recordings each function of the analysis decides anything.

    .venvs/core/bin/python tools/deciding.py [ARCHIVE…] [--fewer N] [--module NAME]

A function decides something in a recording if it returns, or yields, something that is not
None, false or empty while that is diagnosed.  Rules are functions of `rules/`.
ARCHIVE is a set of recordings; default: those of `tests/kept`.  All of the benchmark are
`failure_benchmark/src/dask_failures/sets/*.tar.xz`, which takes about five minutes of CPU time.

Prints a row for each module, with the lines of its functions, and of those that decide anything
in fewer than three recordings; `--fewer N` lists the functions that decide anything in fewer
than N recordings, `--module` those of one module only.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, Self

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
        lines: Of its functions.
        seldom: Of these, those of functions that are counted in one of the three.
    """

    module: str
    functions: int
    never: int
    nothing: int
    few: int
    lines: int
    seldom: int


class Decisions:
    """The functions of the analysis that are called, and decide something, while it is entered."""

    def __init__(self) -> None:
        self.called: set[Function] = set()
        self.decided: set[Function] = set()

    def __enter__(self) -> Self:
        sys.settrace(self._entered)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _entered(
        self, frame: FrameType, _event: str, _value: object
    ) -> Callable[[FrameType, str, object], Any] | None:
        """Note a call; return what notes its end, if that may say more."""
        function = _function_of(frame.f_code)
        if function is None:
            return None
        self.called.add(function)
        if function in self.decided:
            return None
        frame.f_trace_lines = False

        def left(_frame: FrameType, event: str, value: object) -> Any:
            if event == "return" and _is_something(value):
                self.decided.add(function)
            return left

        return left


@cache
def _function_of(code: CodeType) -> Function | None:
    if "<" in code.co_name or not code.co_filename.startswith(f"{_ROOT}/"):
        return None
    file = Path(code.co_filename).relative_to(_ROOT).as_posix()
    return file, code.co_qualname.replace("<locals>.", "")


def _is_something(value: object) -> bool:
    if value is None or value is False:
        return False
    return bool(value) if isinstance(value, _SIZED) else True


def functions() -> dict[Function, int]:
    """Return the functions and methods of the analysis, and the lines of each."""
    return {
        (file.relative_to(_ROOT).as_posix(), name): lines
        for file in sorted(_ROOT.rglob("*.py"))
        for name, lines in _inside(ast.parse(file.read_text("utf-8")), "")
    }


def _inside(node: ast.AST, outer: str) -> Iterator[tuple[str, int]]:
    """Yield names and lines of the functions in a node; one in another one counts by itself."""
    for each in ast.iter_child_nodes(node):
        name = outer
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            name = f"{outer}.{each.name}".lstrip(".")
        within = [*_inside(each, name)]
        if isinstance(each, ast.FunctionDef):
            first = min([each.lineno, *(n.lineno for n in each.decorator_list)])
            own = (each.end_lineno or first) - first + 1
            yield name, own - sum(lines for _, lines in within)
        yield from within


def rows(
    known: Mapping[Function, int], called: set[Function], decided: Counter[Function]
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
                lines=sum(known[each] for each in own),
                seldom=sum(known[each] for each in own if decided[each] < FEW),
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
    known = {e: n for e, n in functions().items() if e[0].startswith(asked.module)}
    table = rows(known, called, decided)
    print(f"{number} recordings; fewer than {FEW} of them decide in `few` functions")
    for row in (Row._fields, *table, _total(table)):
        module, *numbers = map(str, row)
        print("  ".join([module.ljust(40), *(each.rjust(9) for each in numbers)]))
    for (module, name), lines in known.items():
        if decided[module, name] < asked.fewer:
            print(f"{decided[module, name]:5}  {module} {name} {lines}")
    return 0


def _total(table: Sequence[Row]) -> Row:
    sums = [sum(column) for column in list(zip(*table, strict=True))[1:]]
    return Row("all", *sums)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
