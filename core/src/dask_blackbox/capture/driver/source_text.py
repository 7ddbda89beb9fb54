"""The source text of functions, methods and constants of a module, where a user wants it kept.

`blackbox.capture.source` turns it on.  What is recorded passes the recorder's redaction;
here it is only bounded.
"""

from __future__ import annotations

import ast
from typing import Any

_LONGEST = 4_000  # characters of one of them
_DEEPEST = 3  # of classes in classes
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources_of(text: str) -> dict[str, str]:
    """Return the source of each function, method and constant, named as in `parts_of`.

    Args:
        text: Of the module.
    """
    found: dict[str, str] = {}
    lines = text.splitlines()
    for name, node in _named(ast.parse(text).body, "", 0):
        first = min([node.lineno, *(each.lineno for each in _decorators(node))])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        # Of a name that is set more than once, all of it counts.
        found[name] = "\n".join(filter(None, (found.get(name), source)))[:_LONGEST]
    return found


def _decorators(node: object) -> list[Any]:
    return getattr(node, "decorator_list", [])


def _named(body: list[Any], inside: str, depth: int) -> Any:
    """Yield name and node of what a body defines; conditions and `try` count as its body."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield f"{inside}{node.name}", node
        elif isinstance(node, ast.ClassDef) and depth < _DEEPEST:
            yield from _named(node.body, f"{inside}{node.name}.", depth + 1)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for each in targets:
                if isinstance(each, ast.Name):
                    yield f"{inside}{each.id}", node
        else:
            for held in ("body", "orelse", "finalbody"):
                yield from _named(getattr(node, held, []), inside, depth)
            for handler in getattr(node, "handlers", []):
                yield from _named(handler.body, inside, depth)
