"""Text made of a pattern's own parts, and how a pattern's CPU time grows with it.

A pattern is slow on text that it nearly matches: many repetitions of what one of its
repeats accepts, after all that comes before that repeat, and an end that fails.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import pkgutil
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined] # no public parser exists
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

SHORT, MEDIUM, LONG = 1_000, 4_000, 32_000
_STOP = 1.0
"""CPU seconds after which a match is stopped, and counts as not linear."""
_NEGLIGIBLE = 0.001
_SUSPECT = 0.0005
"""CPU seconds for MEDIUM from which on LONG is tried in any case."""
_MOST_GROWTH = 24
"""Between the 8 of linear growth from MEDIUM to LONG and the 64 of quadratic growth."""
_MOST_MEDIUM, _MOST_LONG = 60, 12
"""How many texts of a pattern are tried with MEDIUM, and with LONG: the slowest."""

_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_ALPHABET = [
    *" \n\t\rabnxzABNXZ059_-./\\\"'|:=,;(){}[]<>@#%&*+!?$~^`…é\x00",
]
_RUNS = (
    *(" ", "\n", "\t", "\\", "-", ".", "/", "_", "a", "A", "0", "|", '"', "'", "(", "[", "{"),
    *("<", ":", "=", ",", "x-", "a ", "a.", "a/", "a\n", " \n", "\n\n ", "\\n", '\\"', "a=", "a: "),
    *("://a:b", "a,", "0.", "0 ", "--a ", "/a", "a b\n", "<a>", "a='", "\r\n"),
)  # fmt: skip


class _Stopped(BaseException):
    """A match took too long."""


@dataclass(frozen=True)
class Growth:
    """The worst text of a pattern.

    Attributes:
        text: What the text begins with.
        seconds: CPU seconds with the texts of rising length, as far as it was tried.
    """

    text: str
    seconds: tuple[float, ...]


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def growth_of(pattern: re.Pattern[str], use: str) -> Growth | None:
    """Return a text on which a pattern's time grows faster than the text; None: no such text.

    Args:
        use: `match` or `fullmatch` for a pattern that is used only so, else `finditer`.
    """
    apply = _USES[use]
    slowest = list(texts_for(pattern))
    times: dict[int, list[float]] = {}
    for length, most in ((SHORT, _MOST_MEDIUM), (MEDIUM, _MOST_LONG)):
        timed: list[tuple[float, Callable[[int], str]]] = []
        for text in slowest:
            seconds = _seconds(pattern, apply, text(length))
            if length == SHORT and seconds >= _STOP:  # a millisecond for each character
                return Growth(text(60)[:120], (seconds,))
            timed.append((seconds, text))
        timed.sort(key=itemgetter(0), reverse=True)
        slowest = [text for _, text in timed[:most]]
        for seconds, text in timed[:most]:
            times.setdefault(id(text), []).append(seconds)
    for text in slowest:
        short, medium = times[id(text)]
        if medium < _SUSPECT and medium < _MOST_GROWTH / 3 * short + _NEGLIGIBLE / 20:
            continue
        for _ in range(3):  # the machine may be busy: the least counts
            long = _seconds(pattern, apply, text(LONG)) if medium < _STOP else _STOP
            if long < _STOP and long < _MOST_GROWTH * medium + _NEGLIGIBLE:
                break
            medium = min(medium, _seconds(pattern, apply, text(MEDIUM)))
        else:
            return Growth(text(60)[:120], (short, medium, long))
    return None


def _seconds(
    pattern: re.Pattern[str], apply: Callable[[re.Pattern[str], str], object], text: str
) -> float:
    begun = time.thread_time()
    try:
        with _stopped_after(_STOP):
            apply(pattern, text)
    except _Stopped:
        return max(_STOP, time.thread_time() - begun)
    return time.thread_time() - begun


def _all(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


_USES: dict[str, Callable[[re.Pattern[str], str], object]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "finditer": _all,
}


def texts_for(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Yield makers of texts, by length, that a pattern may be slow on."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    seen: set[tuple[str, str, str]] = set()
    for parts in (*_parts(tree), *(("", run, "") for run in _RUNS)):
        for tail in ("", "\x00", "\n!"):
            known = (parts[0], parts[1], parts[2] + tail)
            if parts[1] and known not in seen:
                seen.add(known)
                yield _maker(*known)


def _maker(head: str, pump: str, tail: str) -> Callable[[int], str]:
    return lambda length: (
        head + pump * max(1, (length - len(head) - len(tail)) // len(pump)) + tail
    )


def _parts(tree: Any) -> Iterator[tuple[str, str, str]]:
    letters = _letters(tree)
    for seed in range(2):
        source = _Source(random.Random(seed), letters)
        whole = source.of(tree)
        for text in (whole, whole[:-1], whole + " ", whole[:-1] + "\n"):
            yield "", text, ""
        for head, body, rest in _repeats(tree, source):
            pump = source.of(body)
            yield head, pump, ""
            yield "", head + pump, ""
            yield head, pump, rest[:-1]
            for other in {source.of(body) for _ in range(2)}:
                yield head, pump + other, ""
    source = _Source(random.Random(99), letters)
    heads = {head for head, _, _ in _repeats(tree, source)}
    for head in sorted(heads)[:12]:
        for letter in letters:
            yield head, letter, ""
    for letter in letters:
        yield "", letter, ""


def _repeats(
    tree: Any, source: _Source, head: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Yield each repeat: a text for all before it, its body, and a text for all after it."""
    items = list(tree)
    for number, (op, argument) in enumerate(items):
        after = source.of(items[number + 1 :])
        if op in _REPEATS:
            _, high, body = argument
            if high > 8:
                yield head, body, after
            yield from _repeats(body, source, head)
        elif op is ops.BRANCH:
            for each in argument[1]:
                yield from _repeats(each, source, head)
        elif op is ops.SUBPATTERN:
            yield from _repeats(argument[3], source, head)
        elif op is ops.ATOMIC_GROUP:
            yield from _repeats(argument, source, head)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _repeats(argument[1], source, head)
        head += source.of([(op, argument)])


class _Source:
    """Makes texts that parts of a pattern accept, as far as look-around does not matter."""

    def __init__(self, chance: random.Random, letters: list[str]) -> None:
        self._chance = chance
        self._letters = letters
        self._groups: dict[int, str] = {}

    def of(self, items: Any) -> str:
        return "".join(self._item(op, argument) for op, argument in items)

    def _item(self, op: Any, argument: Any) -> str:  # noqa: PLR0911 - one return for each kind of node
        if op is ops.LITERAL:
            return chr(argument)
        if op in (ops.NOT_LITERAL, ops.ANY, ops.IN):
            return self._letter(op, argument)
        if op is ops.BRANCH:
            return self.of(self._chance.choice(argument[1]))
        if op is ops.SUBPATTERN:
            text = self.of(argument[3])
            self._groups[argument[0]] = text
            return text
        if op is ops.ATOMIC_GROUP:
            return self.of(argument)
        if op in _REPEATS:
            low, high, body = argument
            times = self._chance.randint(low, min(high, low + 1))
            return "".join(self.of(body) for _ in range(times))
        if op is ops.GROUPREF:
            return self._groups.get(argument, "")
        return ""

    def _letter(self, op: Any, argument: Any) -> str:
        fitting = [each for each in self._letters if _accepts(op, argument, each)]
        if not fitting:
            fitting = [each for each in _ALPHABET if _accepts(op, argument, each)]
        return self._chance.choice(fitting or ["x"])


def _letters(tree: Any) -> list[str]:
    """Return one letter of each kind that the classes of a pattern distinguish."""
    classes: list[tuple[Any, Any]] = []
    _collect(tree, classes)
    kinds: dict[tuple[bool, ...], str] = {}
    for letter in (*_ALPHABET, *(chr(arg) for op, arg in classes if op is ops.LITERAL)):
        kinds.setdefault(tuple(_accepts(*each, letter) for each in classes), letter)
    return list(kinds.values())


def _collect(tree: Any, into: list[tuple[Any, Any]]) -> None:
    for op, argument in tree:
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN):
            into.append((op, argument))
        elif op in _REPEATS:
            _collect(argument[2], into)
        elif op is ops.BRANCH:
            for each in argument[1]:
                _collect(each, into)
        elif op is ops.SUBPATTERN:
            _collect(argument[3], into)
        elif op is ops.ATOMIC_GROUP:
            _collect(argument, into)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            _collect(argument[1], into)


def _accepts(op: Any, argument: Any, letter: str) -> bool:
    if op is ops.LITERAL:
        return chr(argument) == letter
    if op is ops.NOT_LITERAL:
        return chr(argument) != letter
    if op is ops.ANY:
        return letter != "\n"
    negated = argument[0][0] is ops.NEGATE
    return negated != any(_holds(kind, given, letter) for kind, given in argument)


_CATEGORIES = {
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
}


def _holds(op: Any, argument: Any, letter: str) -> bool:
    if op is ops.LITERAL:
        return chr(argument) == letter
    if op is ops.RANGE:
        return bool(argument[0] <= ord(letter) <= argument[1])
    if op is ops.CATEGORY:
        return re.match(_CATEGORIES[argument], letter) is not None
    return False


# Finding the patterns


@dataclass(frozen=True)
class Found:
    """A pattern of a package.

    Attributes:
        where: The module, and its name there.
        use: The argument of `growth_of`.
    """

    where: str
    pattern: re.Pattern[str]
    use: str


def patterns_of(
    package: str, compiled: Callable[[str], re.Pattern[str]]
) -> list[Found]:
    """Return every pattern of a package: those of its modules, and those in its functions.

    Args:
        compiled: How the package compiles texts that it keeps, or has in functions.
    """
    found: dict[tuple[str, int], Found] = {}
    root = importlib.import_module(package)
    sources: list[tuple[str, ast.Module, dict[str, Any], str]] = []
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        if module.__file__ is None:
            continue
        text = Path(module.__file__).read_text("utf-8")
        sources.append((info.name, ast.parse(text), vars(module), text))
    walk = _Walk(package, compiled)
    everything = "\n".join(text for *_, text in sources)
    for name, tree, values, text in sources:
        for variable, value in list(values.items()):
            used_in = text if variable.startswith("_") else everything
            for pattern in walk.of(value):
                found.setdefault(
                    (pattern.pattern, pattern.flags),
                    Found(f"{name}.{variable}", pattern, _use(variable, used_in)),
                )
        for line, pattern_text in _texts_in(tree, values):
            with suppress(re.error, OverflowError):
                pattern = compiled(pattern_text)
                key = pattern.pattern, pattern.flags
                if not {pattern.pattern, pattern_text} & {known for known, _ in found}:
                    found[key] = Found(f"{name}:{line}", pattern, "finditer")
    return list(found.values())


def _use(name: str, source: str) -> str:
    uses = set(re.findall(rf"\b{re.escape(name)}\.(\w+)\b", source))
    if uses == {"match"}:
        return "match"
    return "fullmatch" if uses and uses <= {"match", "fullmatch"} else "finditer"


_REGEX = re.compile(r"\\[wsdbSWD]|\.[*+]|\]\{?[*+]|\[\^|\(\?[:P=!<]")


def _texts_in(tree: ast.Module, values: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the texts in a module that look like regular expressions, and their lines."""
    inside = {
        id(part)
        for n in ast.walk(tree)
        if isinstance(n, ast.JoinedStr)
        for part in ast.walk(n)
        if part is not n
    }
    documentation = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    parts = _named_parts(tree)
    for node in ast.walk(tree):
        if id(node) in inside or id(node) in documentation or id(node) in parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text: object = node.value
        elif isinstance(node, ast.JoinedStr):
            try:
                text = eval(
                    compile(ast.Expression(node), "<pattern>", "eval"), _Names(values)
                )
            except Exception:  # noqa: BLE001 - what only makes sense with real values
                continue
        else:
            continue
        if isinstance(text, str) and len(text) < 5_000 and _REGEX.search(text):
            yield node.lineno, text


def _named_parts(tree: ast.Module) -> set[int]:
    """Return the texts of constants that only form parts of other texts: those are tried."""
    loads = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    ]
    used = {
        id(part)
        for n in ast.walk(tree)
        if isinstance(n, ast.JoinedStr)
        for part in ast.walk(n)
    }
    elsewhere = {n.id for n in loads if id(n) not in used}
    inside = {n.id for n in loads if id(n) in used} - elsewhere
    return {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in inside and target.id[0] == "_"
    }


class _Names(dict[str, Any]):
    """The names of a module; any other one is a word."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return _Word("word")


class _Word(str):
    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return self


class _Walk:
    """Finds compiled patterns in the values of modules."""

    def __init__(
        self, package: str, compiled: Callable[[str], re.Pattern[str]]
    ) -> None:
        self._package = package
        self._compiled = compiled
        self._seen: dict[int, object] = {}

    def of(self, value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
        """Yield the patterns in a value."""
        if (
            depth > 6
            or id(value) in self._seen
            or isinstance(value, str | bytes | int | float | ModuleType)
        ):
            return
        self._seen[id(value)] = value
        if isinstance(value, re.Pattern):
            if isinstance(value.pattern, str):
                yield value
            return
        for part in self._parts(value):
            yield from self.of(part, depth + 1)

    def _parts(self, value: Any) -> list[object]:
        """Return what a value holds, as far as it may be or hold a pattern."""
        parts: list[object] = []
        if isinstance(value, dict):
            parts = [*value, *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            parts = [*value]
        elif isinstance(value, type):
            if value.__module__.startswith(self._package):
                parts = [*vars(value).values()]
        elif type(value).__module__.startswith(self._package):
            parts = self._parts_of_ours(value)
        else:
            for cell in getattr(value, "__closure__", None) or ():
                with suppress(ValueError):
                    parts.append(cell.cell_contents)
        return parts

    def _parts_of_ours(self, value: Any) -> list[object]:
        if type(value).__name__ == "_Pattern":  # it is compiled at its first use
            value.search("")
            return [value.sub.__self__]
        if type(value).__name__ == "Signature":
            return [self._compiled(value.pattern)]
        return [
            getattr(value, each, None)
            for each in dir(value)
            if not each.startswith("__")
        ]
