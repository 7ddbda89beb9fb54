"""Which of the errors that the driver had handled led to where it ended.

The line is a frame's, that of an exception, or one that raises `SystemExit`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import NamedTuple

from dask_blackbox.capture.driver.handled_errors import (
    Place,
    remembered,
    stack_of,
    stack_of_traceback,
)

from .flow import HANDLER, UNDONE, Flow
from .sources import Scope, Sources, name_of, own_expressions, path_to
from .time_limit import TimeLimit

_MOST_EXITS = 10
_OF_CLICK = ("ClickException", "UsageError", "BadParameter", "FileError", "Abort")
_EXITS = ("SystemExit", "Exit", *_OF_CLICK)
"""Exceptions by which a command exits, with a code of the class's own for those of click."""


def errors_behind(
    end: FrameType | TracebackType | None, code: int | None = None
) -> dict[str, list[str]]:
    """Return which of the remembered errors led to the end of the driver.

    Args:
        end: The frame that ends the driver, or the traceback of the exception that does.
        code: The exit code, if the driver ends with one.

    Returns:
        Ids of errors: `related_errors`, of which the handlers' own doing led to the end, and
        `missed_results`, where what the failed statements were to set led to it; and
        `unrelated_errors`, which nothing ties to it.
    """
    stack = stack_of_traceback(end) if isinstance(end, TracebackType) else stack_of(end)
    if not stack or not any(remembered()):
        return nothing_known()
    files, limit = Sources(), TimeLimit()
    return _found(files, [*_ends(files, stack, code)], code, limit)


def nothing_known() -> dict[str, list[str]]:
    """Return what is found of no error."""
    return {"related_errors": [], "missed_results": [], "unrelated_errors": []}


class PossibleExit(NamedTuple):
    """A line that raises `SystemExit`, which no hook of Python's reports.

    Attributes:
        place: The line.
        function: Its function; empty: the module.
        code: The exit code that it gives; None: any.
        errors: What `errors_behind` returns of it.
    """

    place: Place
    function: str
    code: int | None
    errors: dict[str, list[str]]


def possible_exits() -> list[PossibleExit]:
    """Return where the user's code may have ended the driver by raising `SystemExit`."""
    files, found = Sources(), list[PossibleExit]()
    limit = TimeLimit()
    names = {place.file for each in remembered() for place in each.stack}
    for place, function, code in (e for n in sorted(names) for e in _exits(files, n)):
        scope = files.at(place)
        codes = {code} if scope is None or code is not None else {
            *_codes_of_calls(files, scope, place.line), None,
        }  # fmt: skip
        for each in sorted(codes, key=lambda number: (number is None, number)):
            errors = _found(files, [(place,)], each, limit)
            found.append(PossibleExit(place, function, each, errors))
        if len(found) >= _MOST_EXITS or limit.is_over:
            break
    return found[:_MOST_EXITS]


def _found(
    files: Sources, ends: list[tuple[Place, ...]], code: int | None, limit: TimeLimit
) -> dict[str, list[str]]:
    grades, known = dict[str, int](), dict[tuple[object, ...], int | None]()
    asked = [(end, _is_on_purpose(files, end[0])) for end in ends]
    for each in remembered() if ends else ():
        kind = each[1:]  # errors of one line, in a loop, are alike
        if kind not in known:
            found = [
                Flow(files, each, limit, on_purpose=by_intent).reaches(end, code)
                for end, by_intent in asked
            ]
            of_ends = (grade for grade in found if grade is not None)
            known[kind] = max(of_ends, default=None)
        if (grade := known[kind]) is not None:
            grades[each.id] = grade
    return {
        "related_errors": [e for e, grade in grades.items() if grade == HANDLER],
        "missed_results": [e for e, grade in grades.items() if grade == UNDONE],
        "unrelated_errors": [e for e, grade in grades.items() if not grade],
    }


def _is_on_purpose(files: Sources, place: Place) -> bool:
    """Return whether a line raises an exception, checks something, or exits."""
    scope = files.at(place)
    path = [] if scope is None else path_to(scope, place.line)
    if not path or isinstance(path[-1], ast.Raise | ast.Assert):
        return True
    lines = (each.line for each, _, _ in _exits(files, place.file))
    return place.line in lines


def _ends(
    files: Sources, stack: tuple[Place, ...], code: int | None
) -> Iterator[tuple[Place, ...]]:
    """Yield where the driver ended: within a function that a library has called, perhaps.

    A command of click's raises an exception of its own, which click makes an exit code of.
    """
    scope = files.at(stack[0])
    path = [] if scope is None else path_to(scope, stack[0].line)
    last = path[-1] if path else None
    value = last.value if isinstance(last, ast.Expr) else None
    name = getattr(getattr(value, "func", None), "id", "")
    within = name and scope is not None and files.function(scope.file, name)
    if scope is None or (not within and name not in _functions_in(scope)):
        yield stack
        return
    for place, _, given in _exits(files, scope.file):
        if code is None or given is None or given == code:
            yield (place,)


def _functions_in(scope: Scope) -> set[str]:
    """Return the names of the functions that are defined within one."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name for each in scope.statements if isinstance(each, kinds)}


def _exits(files: Sources, file: str) -> Iterator[tuple[Place, str, int | None]]:
    """Yield the lines of a file that end the process, and with which code (None: any)."""
    for scope in files.scopes(file):
        for node in scope.statements:
            value = getattr(
                node, "exc" if isinstance(node, ast.Raise) else "value", None
            )
            call = value if isinstance(value, ast.Call) else None
            kind = value if call is None else call.func
            name = name_of(kind)
            raised = isinstance(node, ast.Raise) and name in _EXITS
            if raised or (isinstance(node, ast.Expr) and call and name == "exit"):
                given = call.args[0] if call and call.args else None
                number = None if name in _OF_CLICK else _code_given(given)
                yield Place(file, node.lineno), scope.name, number


def _code_given(node: ast.AST | None) -> int | None:
    if node is None:
        return 0
    if isinstance(node, ast.JoinedStr):
        return 1
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else 1 if isinstance(value, str) else None


def _codes_of_calls(files: Sources, scope: Scope, line: int) -> set[int]:
    """Return the exit codes that functions return which a line calls."""
    path = path_to(scope, line)
    called = [
        files.function(scope.file, each.func.id)
        for expression in (own_expressions(path[-1]) if path else ())
        for each in ast.walk(expression)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    ]
    return {
        each.value.value
        for function in called
        if function is not None
        for each in function.statements
        if isinstance(each, ast.Return)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, int)
        and each.value.value
    }
