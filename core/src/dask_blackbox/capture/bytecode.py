"""A hash of what code does, independent of its location and its comments.

The hash covers instructions, constants and used names, but not comments, docstrings, line
numbers, file names or the names of functions.  Bytecode belongs to one minor version of
Python, so a hash includes the version: hashes of two versions cannot be compared.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import types
from typing import Any

DIALECT = f"2py{sys.version_info[0]}{sys.version_info[1]}"
"""What a hash begins with: the version of this way to hash, and that of Python."""

_DIGITS = 12
_DEEPEST = 8
_OPTIMISED = 0x1  # a function's flag; bodies of classes and modules don't have it
NO_CODE = frozenset(("__doc__", "__firstlineno__", "__static_attributes__"))
"""Names of a body whose values are no code."""

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_CONSTANTS = frozenset(dis.hasconst)
_SILENT = frozenset(("NOP", "RESUME", "CACHE", "EXTENDED_ARG", "NOT_TAKEN"))


def signed(text: str, dialect: str = DIALECT) -> str:
    """Return the hash of a text, with the dialect that it is in."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{dialect}.{digest[:_DIGITS]}"


def code_hash(code: types.CodeType, depth: int = 0) -> str:
    """Return a hash of a code object: of a function, or of a class's or module's body."""
    digest = hashlib.sha256()
    parts = _function_parts if code.co_flags & _OPTIMISED else _body_parts
    for part in parts(code, depth):
        digest.update(part)
    return digest.hexdigest()[:16]


def _function_parts(code: types.CodeType, depth: int) -> Any:
    """Yield what a function does; fast, as schedulers ask for it.

    Constants are reported where they are used, so that a docstring, which only takes up a
    place among them, is not.
    """
    arguments = code.co_argcount + code.co_kwonlyargcount
    yield repr((code.co_names, code.co_varnames[:arguments])).encode()
    text, done = code.co_code, 0
    for half, operation in enumerate(text[::2]):
        if operation not in _CONSTANTS:
            continue
        place = begin = 2 * half
        index, bits = text[place + 1], 8
        while begin >= 2 and text[begin - 2] == dis.EXTENDED_ARG:  # noqa: PLR2004
            begin -= 2
            index |= text[begin + 1] << bits
            bits += 8
        yield text[done:begin]
        yield b"%d:" % operation
        if index < len(code.co_consts):
            yield _constant(code.co_consts[index], depth)
        done = place + 2
    yield text[done:]


def _body_parts(code: types.CodeType, depth: int) -> Any:
    """Yield what the body of a class or a module does.

    Its docstring and line number are assigned to names there, which moves all others: so
    names are reported, not their places.
    """
    before: bytes | None = None
    for each in dis.get_instructions(code):
        if each.opname in _SILENT:
            continue
        if each.opname == "STORE_NAME" and each.argval in NO_CODE:
            before = None
            continue
        if before is not None:
            yield before
        before = instruction_bytes(each, depth)
    if before is not None:
        yield before


def instruction_bytes(instruction: dis.Instruction, depth: int = 0) -> bytes:
    """Return what an instruction does, independent of its position; empty if nothing."""
    if instruction.opname in _SILENT:
        return b""
    jumps = instruction.opcode in _JUMPS
    argument = b"" if jumps else _constant(instruction.argval, depth)
    return instruction.opname.encode() + b" " + argument + b";"


def _constant(value: Any, depth: int) -> bytes:
    if type(value) is types.CodeType:
        return code_hash(value, depth + 1).encode() if depth < _DEEPEST else b""
    if type(value) is frozenset:
        return repr(sorted(map(repr, value))).encode("utf-8", "replace")
    return repr(value).encode("utf-8", "replace")
