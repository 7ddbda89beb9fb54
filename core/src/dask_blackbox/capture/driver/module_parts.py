"""What a module is made of, by name: the place of each part, a hash of what it does, its source.

A hash of a whole module says that something in it has changed; this says what: a
function with its defaults and decorators, a method, a constant.  For the hashes, only a
module's compiled code is read, so that nothing is imported, called or parsed.

The source text is recorded where `blackbox.capture.source` is on.  It passes the
recorder's redaction; here it is only bounded.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import types
from typing import Any

from ..bytecode import NO_CODE, code_hash, instruction_bytes

_OPTIMISED = 0x1  # as in `bytecode`: a function's flag
_DEEPEST = 3  # of classes in classes
_DIGITS = 8
_NOT_SAID = NO_CODE | {"__module__", "__qualname__"}
_ENDS = ("STORE_NAME", "STORE_GLOBAL", "POP_TOP")


def parts_of(code: types.CodeType) -> dict[str, tuple[int, str]]:
    """Return the line and a hash of each name that a module defines.

    Args:
        code: Of the module's body.

    Returns:
        `Tax.added` for a method.  Of a name that is set more than once, the last line and
        a hash of all; what is set nowhere (calls, loops) counts to the name after it.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, line, text in _body(code, "", 0):
        before = found[name][1] if name in found else ""
        digest = hashlib.sha256(before.encode() + text).hexdigest()
        found[name] = (line, digest[:_DIGITS])
    return found


def _body(code: types.CodeType, inside: str, depth: int) -> Any:
    """Yield name, line and text of each part of a body: of a module, or of a class."""
    text: list[bytes] = []
    line = 0
    classes: list[types.CodeType] = []
    for each in dis.get_instructions(code):
        held = each.argval
        if type(held) is types.CodeType:
            line = held.co_firstlineno
            if not held.co_flags & _OPTIMISED and depth < _DEEPEST:
                classes.append(held)  # reported by its members
                continue
            text.append(code_hash(held).encode())
        elif each.opname not in _ENDS:
            text.append(instruction_bytes(each))
        elif each.opname == "POP_TOP":
            text.append(b";")
        else:
            if held not in _NOT_SAID:
                yield f"{inside}{held}", line or _line_of(each), b"".join(text)
                for body in classes:
                    yield from _body(body, f"{inside}{held}.", depth + 1)
            text, line, classes = [], 0, []


def _line_of(instruction: object) -> int:
    # (Since Python 3.11; those before tell only of the first instruction of a line.)
    positions = getattr(instruction, "positions", None)
    return getattr(positions, "lineno", None) or 0


_LONGEST = 4_000  # characters of one of them
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
