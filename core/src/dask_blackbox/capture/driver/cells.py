"""Lines of a notebook as notebooks name them: cell and line, with its text.

A kernel compiles each cell as a file of its own, which does not exist and whose name says
nothing; and of functions that were sent to workers, cloudpickle leaves out even that.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_UNNAMED = "<dynamic-code>"
_FRAME = re.compile(
    r'(?P<indent>[ |]*)File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>.+)'
)
_TRIES = 3
_MOST_CELLS, _MOST_CHARACTERS, _LONGEST_LINE = 300, 400_000, 200


class Cell(NamedTuple):
    """A cell that has run.

    Attributes:
        name: As the notebook names it: `Cell In[2]`.
        lines: Its text.
    """

    name: str
    lines: list[str]


def cells_of_notebook() -> dict[str, Cell]:
    """Return the cells that this process has run, by the names of their files; the newest last."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of: Callable[[str], Any] | None = getattr(
        getattr(shell, "compile", None), "format_code_name", None
    )
    if name_of is None:
        return {}
    found: dict[str, Cell] = {}
    for file in [*linecache.cache][-_MOST_CELLS:]:
        name = name_of(file)  # None: it is a file
        if name is not None:
            found[file] = Cell(" ".join(name), linecache.getlines(file))
    return found


def place_in(
    cells: dict[str, Cell], file: str, line: int, function: str
) -> tuple[str, str] | None:
    """Return cell and text of a line of a notebook; None if it is in none."""
    if file == _UNNAMED:
        left = _MOST_CHARACTERS
        for each in reversed(cells.values()):
            left -= sum(map(len, each.lines))
            if left < 0:
                return None
            if _defines(each, function, line):
                return each.name, _text(each, line)
        return None
    cell = cells.get(file)
    return None if cell is None else (cell.name, _text(cell, line))


def in_cells(text: str) -> str:
    """Return a traceback that names the cells of a notebook, instead of their files."""
    cells = cells_of_notebook()
    return "\n".join(_lines_in(cells, text.split("\n"))) if cells else text


def _lines_in(cells: dict[str, Cell], lines: list[str]) -> Iterator[str]:
    for number, each in enumerate(lines):
        found = _FRAME.match(each)
        place = found and place_in(
            cells, found["file"], int(found["line"]), found["name"]
        )
        if not found or not place:
            yield each
            continue
        name, code = place
        indent = found["indent"]
        yield f'{indent}File "{name}", line {found["line"]}, in {found["name"]}'
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if code and not following.startswith((f"{indent}  ", "\t")):
            yield f"{indent}  {code}"


def _text(cell: Cell, line: int) -> str:
    known = 0 < line <= len(cell.lines)
    return cell.lines[line - 1].strip()[:_LONGEST_LINE] if known else ""


def parsed(text: str | bytes) -> ast.Module:
    """Return the syntax tree of a source text.

    CPython 3.11 counts the depth of all trees in one place, and refuses a long one if another
    thread, or what the garbage collector calls, makes one meanwhile: it is made again.

    Raises:
        ValueError: It is no Python, or too deep.
    """
    for _ in range(_TRIES):
        try:
            return ast.parse(text)
        except SystemError:
            continue
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(str(error)) from error
    raise ValueError("other threads parsed meanwhile")


def _defines(cell: Cell, function: str, line: int) -> bool:
    """Return whether a cell defines a function of this name at this line."""
    try:
        tree = parsed("".join(cell.lines))
    except ValueError:
        return False  # it has lines for the notebook itself: `%time`, `!ls`
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return any(
        each.lineno <= line <= (each.end_lineno or each.lineno)
        and getattr(each, "name", "<lambda>") == function
        for each in ast.walk(tree)
        if isinstance(each, kinds)
    )
