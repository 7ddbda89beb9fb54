"""The user's source files as trees: which function a line is in, and what is around it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator

from dask_blackbox.capture.driver.cells import parsed
from dask_blackbox.capture.driver.handled_errors import Place

_MOST_LINES = 5_000  # of a file that is parsed
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PROPERTIES = ("property", "cached_property")

Key = tuple[str, str]
"""A name within its scope, or an attribute of whatever object."""


class Scope:
    """A function that lies in no other one, or a module: where names mean the same.

    Functions within a function, which share its names, belong to it.
    """

    def __init__(self, file: str, node: ast.AST) -> None:
        self.node, self.file = node, file
        self.name = getattr(node, "name", "")
        self.id = f"{file}:{getattr(node, 'lineno', 0)}"
        self.is_module = isinstance(node, ast.Module)
        self.parameters = _parameters(node)
        made_by = getattr(node, "decorator_list", ())
        self.is_property = any(name_of(e) in _PROPERTIES for e in made_by)
        inside = [*_inside(node)]
        self.statements = [each for each in inside if isinstance(each, ast.stmt)]
        self.expressions = [each for each in inside if isinstance(each, ast.expr)]
        declared = {
            name
            for each in self.statements
            if isinstance(each, ast.Global)
            for name in each.names
        }
        bound = {
            each.id
            for each in _inside(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        self.bound = (bound | {*self.parameters}) - declared

    def key(self, name: str) -> Key:
        """Return the key of a name in this scope."""
        own = self.is_module or name in self.bound
        return (self.id if own and not self.is_module else self.file, name)


class Sources:
    """The user's files that occur in stacks, parsed once each."""

    def __init__(self) -> None:
        self._scopes = dict[str, list[Scope]]()

    def scopes(self, file: str) -> list[Scope]:
        """Return the scopes of a file, its module last; none if it cannot be parsed."""
        if file not in self._scopes:
            self._scopes[file] = [*_scopes_of(file)]
        return self._scopes[file]

    def at(self, place: Place) -> Scope | None:
        """Return the scope of a line."""
        for each in self.scopes(place.file):
            if each.is_module or _covers(each.node, place.line):
                return each
        return None

    def function(self, file: str, name: str) -> Scope | None:
        """Return the function of a file that has a name."""
        others = [each for each in self._scopes if each != file]
        scopes = (s for f in (file, *others) for s in self.scopes(f))
        return next((s for s in scopes if s.name and s.name == name), None)


def _scopes_of(file: str) -> Iterator[Scope]:
    lines = linecache.getlines(file)
    if not lines or len(lines) > _MOST_LINES:
        return
    try:
        tree = parsed("".join(lines))
    except ValueError:
        return
    below: list[ast.AST] = [tree]
    while below:
        for node in ast.iter_child_nodes(below.pop()):
            if isinstance(node, _FUNCTIONS):
                yield Scope(file, node)
            elif isinstance(node, ast.stmt | ast.excepthandler):
                below.append(node)
    yield Scope(file, tree)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, in the order of the source; of a module, no functions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not (
            isinstance(node, ast.Module | ast.ClassDef)
            and isinstance(child, _FUNCTIONS)
        ):
            yield from _inside(child)


def _parameters(node: ast.AST) -> list[str]:
    if not isinstance(node, _FUNCTIONS):
        return []
    args = node.args
    return [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _covers(node: ast.AST, line: int) -> bool:
    end = getattr(node, "end_lineno", None)
    return end is not None and getattr(node, "lineno", 0) <= line <= end


def path_to(scope: Scope, line: int) -> list[ast.AST]:
    """Return the statements and handlers around a line, the outermost first."""
    path, node = list[ast.AST](), scope.node
    while True:
        below = [
            each
            for each in ast.iter_child_nodes(node)
            if isinstance(each, ast.stmt | ast.excepthandler | ast.match_case)
            and _covers_part(each, line)
        ]
        if not below:
            return path
        node = below[0]
        path.append(node)


def _covers_part(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_covers(each, line) for each in node.body)
    return _covers(node, line)


def is_in(body: Iterable[ast.AST], line: int) -> bool:
    return any(_covers(each, line) for each in body)


def own_expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions of a statement itself, without those of statements below it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def last_line(node: ast.AST) -> int:
    """Return the last line of a statement."""
    return getattr(node, "end_lineno", None) or 0


def name_of(node: ast.AST | None) -> str:
    """Return the name that an expression ends with (`errors` of `self.errors`), or nothing."""
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def base_of(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    return node


def calls_of(node: ast.AST, name: str) -> Iterator[ast.Call]:
    for expression in own_expressions(node):
        for each in ast.walk(expression):
            if isinstance(each, ast.Call) and name:
                called = name_of(each.func)
                if called == name:
                    yield each


def arguments_of(called: Scope, call: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    """Yield the parameters of a function with what a call passes for them."""
    names = called.parameters
    if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    yield from zip(names, call.args, strict=False)
    for each in call.keywords:
        if each.arg is not None:
            yield each.arg, each.value
