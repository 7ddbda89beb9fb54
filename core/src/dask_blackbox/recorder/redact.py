"""Redaction of everything that a recorder writes, before it is written anywhere.

A driver sends the values that it masks by its own connection, and uses them on a cluster whose
rows come by another one: rows wait until the values are known.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import json
import logging
import pkgutil
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

import msgspec

from dask_blackbox.capture.executions import short_key
from dask_blackbox.capture.redaction import (
    BLANK,
    PemState,
    Redaction,
    is_secret_name,
    maskable_values,
)
from dask_blackbox.cpu_limit import CpuLimitExceeded, cpu_limit
from dask_blackbox.events import COLUMNS
from dask_blackbox.guard import guard
from dask_blackbox.manifest import DriverException, Manifest
from dask_blackbox.patterns import bounded_text
from dask_blackbox.protocol.messages import Answer, Reply

# Under these names lie settings and arguments, where a plain `key` is a secret too;
# elsewhere it is the key of a task.
_SETTINGS = ("config", "parameters")
_KEYS = ("key", "prefix", "group", "subject", "cause", "typename")
_KEY_FIELDS = frozenset(
    ("key", "keys", "task", "tasks", "processing", "lost_scattered", "groups", "prefix", "cause")
)  # fmt: skip
"""Fields of events that name tasks."""
_TEXTS = ("message", "traceback", "exception", "detail", "logger", "source", "worker")

# Dask prints a failed task with its arguments: data that was not requested.
_ARGUMENTS = re.compile(
    # Each begins where none begins within it, so that the time grows as the text.
    r"(?s)(Compute Failed\n(?:(?!Compute Failed\n).)*?\n(?:Task|args): [^\n(]*)\(.*?(?=\nException: |$)"
)

_INVENTORIES = (
    "packages",
    "modules",
    "prefixes",
    "new",
    "code",
    "code_without_values",
    "functions",
    "libraries",
    "parts",
    "sources",
    "values",
)
# What lies in these is text, and not the particulars of a package or a function.
_TEXTS_BY_NAME = ("sources", "values")
# What differs between the keys of one group: Dask's tokens, numbers of partitions.
_NUMBERS = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=, )\d+|(?<=-)\d+$"
)
_REMEMBERED, _MOST_STREAMS = 10_000, 2_000
_REPEATED = 200
"""Characters of texts that are remembered: addresses and names come again and again."""
NOT_CHECKED = "[not checked for secrets in time, left out]"
_SHORT, _LEAST = 2_000, 0.02
"""Characters that our own patterns check at once; CPU seconds that each text has."""


class Redactor:
    """Blanks out what looks like a secret.

    Args:
        patterns: Regular expressions of the user's, on top of ours.
        values: Secrets that are known, to blank out wherever they occur.
        limit: Seconds of CPU time for one text; None: no limit, as in a host's process.

    Attributes:
        left_out: How many texts have been left out, because checking them took longer.

    Raises:
        re.error: if a pattern of the user's is none.
    """

    def __init__(
        self,
        patterns: Iterable[str] = (),
        *,
        values: Iterable[str] = (),
        limit: float | None = None,
    ) -> None:
        self.left_out = 0
        self._limit = limit
        self._patterns = [re.compile(each) for each in patterns]
        self._redaction = Redaction(
            [each.pattern for each in self._patterns],
            shapes=scanner_shapes(),
            values=maskable_values(values),
        )
        self._plain_groups: OrderedDict[str, bool] = OrderedDict()
        self._plain_texts: dict[str, str] = {}
        self._plain_names: dict[str, str] = {}
        self._streams: OrderedDict[tuple[object, ...], PemState] = OrderedDict()

    def mask(self, values: Iterable[str]) -> None:
        """Blank out more values from now on."""
        self._redaction.mask(maskable_values(values))
        self._plain_groups.clear()
        self._plain_texts.clear()
        self._plain_names.clear()

    def text(self, text: str) -> str:
        """Return `text` without secrets, and such that any encoding can hold it."""
        return self._remembered(
            self._plain_texts,
            text,
            lambda: self._checked(lambda: self._redaction.text(_prepared(text)), text),
        )

    @staticmethod
    def _remembered(known: dict[str, str], text: str, clean: Callable[[], str]) -> str:
        """Return a text without secrets; a short one is checked once as long as it is known."""
        found = known.get(text)
        if found is None:
            found = clean()
            if len(text) <= _REPEATED and found is not NOT_CHECKED:
                if len(known) >= _REMEMBERED:
                    known.clear()
                known[text] = found
        return found

    def _checked(self, clean: Callable[[], str], text: str) -> str:
        """Return a text without secrets, or a note in its place if that takes too long.

        Each text that is left out shortens the time for the next ones, so that many of
        them cannot keep the recorder from its work either.
        """
        if self._limit is None or (len(text) < _SHORT and not self._patterns):
            return clean()
        try:
            with cpu_limit(max(_LEAST, self._limit / (1 + self.left_out))):
                return clean()
        except CpuLimitExceeded:
            self.left_out += 1
            logger.warning(
                "%d texts were left out: checking them for secrets took too long",
                self.left_out,
            )
            return NOT_CHECKED

    def pairs(self, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield each line of one source, in order, and the same without secrets."""
        state = PemState()
        for line in lines:
            text = line.rstrip("\r\n")
            yield text, self._checked(partial(state.line, text, self._redaction), text)

    def rules_for(self, text: str) -> list[str]:
        """Return which rules blank out something in a text."""
        found: list[str] = []

        def look() -> str:
            found.extend(self._redaction.rules_for(text))
            return text

        self._checked(look, text)
        return found

    def key(self, key: str) -> str:
        """Return the key, prefix or group of a task without secrets.

        There are millions of keys, and those of one group differ in numbers only.
        """
        key = short_key(key)
        group = _NUMBERS.sub("", key)
        plain = self._plain_groups.get(group)
        if plain is None:
            plain = self._plain_groups[group] = self.text(group) == group
            if len(self._plain_groups) > _REMEMBERED:
                self._plain_groups.popitem(last=False)
        named = any(pattern.search(key) for pattern in self._patterns)
        return key if plain and not named else self.text(key)

    def value(self, value: object, name: str = "", *, settings: bool = False) -> object:
        """Return a JSON value without secrets; `name` is the key that it stands under."""
        settings = settings or name in _SETTINGS
        if isinstance(value, dict):
            return self._dict(value, name, settings=settings)
        if isinstance(value, list | tuple):
            if name == "argv":
                return self._words([str(each) for each in value])
            return self._list(value, name, settings=settings)
        if name in _KEY_FIELDS:
            value = _with_short_keys(value)
        if value is None or isinstance(value, bool):
            return value
        if value and (is_secret_name(name) or (settings and name == "key")):
            return BLANK
        return self.text(value) if isinstance(value, str) else value

    def _dict(
        self, values: dict[object, object], name: str, *, settings: bool
    ) -> dict[object, object]:
        if name in _INVENTORIES and not settings:
            each = self.value if name in _TEXTS_BY_NAME else self._listed
            return {self._listed(short_key(str(k))): each(v) for k, v in values.items()}
        return {
            self.text(short_key(str(k))): self.value(v, str(k), settings=settings)
            for k, v in values.items()
        }

    def _listed(self, value: object) -> object:
        """Return what is listed of packages, modules or functions: no names of secrets."""
        if isinstance(value, str):
            return self._remembered(
                self._plain_names,
                value,
                lambda: self._redaction.text(_prepared(value), names=False),
            )
        if isinstance(value, dict):
            return {self._listed(k): self._listed(v) for k, v in value.items()}
        return self.value(value)

    def _list(
        self, values: Sequence[object], name: str, *, settings: bool
    ) -> list[object]:
        texts = [each for each in values if isinstance(each, str)]
        if values and len(texts) == len(values):
            if is_secret_name(name):
                return [BLANK if each else each for each in texts]
            return [*self._redaction.lines([_prepared(each) for each in texts])]
        return [self.value(each, name, settings=settings) for each in values]

    def _words(self, words: list[str]) -> list[str]:
        """Return the words of a command without secrets: `--password` names the next one."""
        named = [
            False,
            *(w.startswith("-") and "=" not in w and is_secret_name(w) for w in words),
        ]
        return [
            BLANK if secret and not word.startswith("-") else self.text(word)
            for word, secret in zip(words, named, strict=False)
        ]

    def exception(self, raised: DriverException) -> DriverException:
        """Return an exception of the driver without secrets."""
        return msgspec.structs.replace(
            raised,
            message=self.text(raised.message),
            traceback=self.text(raised.traceback),
            handled=tuple(self.text(each) for each in raised.handled),
            found={name: self.text(value) for name, value in raised.found.items()},
            key=None if raised.key is None else self.key(raised.key),
        )

    def manifest(self, manifest: Manifest) -> Manifest:
        """Return a manifest whose host's particulars hold no secrets.

        The run's identifiers stay even if a password is the same word: readers look
        for it, and the recording's own address holds it.
        """
        host = {
            name: value
            if isinstance(value, str) and (name == "kind" or name.endswith("_id"))
            else self.value(value, name)
            for name, value in manifest.host.items()
        }
        return msgspec.structs.replace(manifest, host=host)

    def rows(
        self, kind: str, rows: Sequence[Sequence[object]]
    ) -> Sequence[Sequence[object]]:
        """Return rows of a kind without secrets in any of their texts."""
        columns = COLUMNS.get(kind, ())
        keys = [i for i, name in enumerate(columns) if name in _KEYS]
        texts = [i for i, name in enumerate(columns) if name in _TEXTS]
        if kind == "metric":
            return rows
        cleaned = []
        for row in rows:
            fields = list(row)
            for i in keys:
                if i < len(fields) and isinstance(text := fields[i], str):
                    fields[i] = self.key(text)
            for i in texts:
                if i < len(fields) and isinstance(text := fields[i], str):
                    fields[i] = self._field(kind, columns[i], text, fields)
            cleaned.append(fields)
        return cleaned

    def _field(self, kind: str, column: str, text: str, fields: list[object]) -> str:
        if column in ("source", "worker"):  # an address; a name that the user gave
            return self.key(text)
        if column == "detail":
            try:
                return json.dumps(self._detail(json.loads(text)))
            except ValueError:
                return self.text(text)
        if kind == "log" and column == "message":
            stream = self._stream(fields)
            return self._checked(
                lambda: stream.line(_prepared(text), self._redaction), text
            )
        return self.text(text)

    def _detail(self, detail: object) -> object:
        """Return an event's fields without secrets: their names are ours, and stay."""
        if not isinstance(detail, dict):
            return self.value(detail)
        return {name: self.value(value, name) for name, value in detail.items()}

    def _stream(self, fields: list[object]) -> PemState:
        """Return what is known of the lines before, from the same process and logger."""
        of = dict(zip(COLUMNS["log"], fields, strict=False))
        stream = (of.get("source"), of.get("pid"), of.get("logger"), of.get("key"))
        state = self._streams.pop(stream, None) or PemState()
        self._streams[stream] = state
        if len(self._streams) > _MOST_STREAMS:
            self._streams.popitem(last=False)
        return state


def _with_short_keys(value: object) -> object:
    if isinstance(value, str):
        return short_key(value)
    if isinstance(value, list):
        return [short_key(each) if isinstance(each, str) else each for each in value]
    return value


def exception_in_host(
    raised: DriverException, patterns: Sequence[str], values: Iterable[str]
) -> DriverException:
    """Return an exception without secrets, in the process of a host that nothing may hold up.

    How long the user's patterns take is not known, and nothing can stop them here: if
    there are some, the texts are left out.
    """
    if not patterns:
        return Redactor(values=values).exception(raised)
    return msgspec.structs.replace(
        raised, message=NOT_CHECKED, traceback="", handled=(), found={}, key=None
    )


def _prepared(text: str) -> str:
    """Return a text that any encoding can hold, without the arguments of tasks."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if "Compute Failed\n" in text:
        text = _ARGUMENTS.sub(r"\1(…)", text)
    return text


# What these detect are no secrets (addresses), or is covered with fewer false positives
# by names (`password=…`) and by the user part of URLs.
_OTHERWISE = ("base", "basic_auth", "high_entropy_strings", "ip_public", "keyword")
_ASSIGNMENT = (
    "(?:=|:|:=|=>"  # part of the rules for what is assigned to a vendor's names
)


@cache
def scanner_shapes() -> tuple[str, ...]:
    """Return the rules of the installed scanner; none where it cannot be read."""
    found: list[str] = []
    with guard("the rules of the secret scanner"):
        found.extend(_rules())
    return tuple(dict.fromkeys(map(bounded_text, found)))


def _rules() -> Iterator[str]:
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    for module in pkgutil.iter_modules(plugins.__path__):
        if module.name in _OTHERWISE:
            continue
        found = importlib.import_module(f"{plugins.__name__}.{module.name}")
        for value in vars(found).values():
            is_detector = isinstance(value, type) and issubclass(
                value, RegexBasedDetector
            )
            if is_detector and value.__module__ == found.__name__:
                yield from _rules_of(value)


def _rules_of(detector: type) -> Iterator[str]:
    for rule in getattr(detector, "denylist", ()):
        if isinstance(rule, re.Pattern) and _ASSIGNMENT not in rule.pattern:
            flags = "i" if rule.flags & re.IGNORECASE else ""
            flags += "x" if rule.flags & re.VERBOSE else ""
            yield f"(?{flags}:{rule.pattern})" if flags else rule.pattern


logger = logging.getLogger("dask_blackbox.recorder")

_LONGEST_WAIT = 10.0
"""Seconds: the threads of a driver that is stopped, or in a long call of C, do not answer."""


class MaskConfirmations:
    """Asks drivers whether all values that they have masked by now have been sent.

    Args:
        longest_wait: Seconds to wait for an answer.
    """

    def __init__(self, longest_wait: float = _LONGEST_WAIT) -> None:
        self._longest_wait = longest_wait
        self._numbers = itertools.count(1)
        self._drivers: set[Answer] = set()
        self._late: set[Answer] = set()
        self._waiting: dict[int, tuple[set[Answer], asyncio.Event]] = {}

    def connected(self, driver: Answer) -> None:
        """Include a connection in later questions."""
        self._drivers.add(driver)

    def left(self, driver: Answer) -> None:
        """Exclude a connection that is closed."""
        self._drivers.discard(driver)
        self._late.discard(driver)
        for number in list(self._waiting):
            self.confirmed(driver, number)

    def confirmed(self, driver: Answer, number: int) -> None:
        """Handle an answer."""
        self._late.discard(driver)
        if number in self._waiting:
            missing, all_sent = self._waiting[number]
            missing.discard(driver)
            if not missing:
                all_sent.set()

    def is_late(self, driver: Answer) -> bool:
        """Return whether rows have been written without an answer of this driver."""
        return driver in self._late

    async def wait(self) -> None:
        """Return when all values that drivers have masked by now are known.

        One that has not answered in time is not waited for again until it does.
        """
        number = next(self._numbers)
        missing = self._drivers - self._late
        if not missing:
            return
        all_sent = asyncio.Event()
        self._waiting[number] = missing, all_sent
        try:
            for driver in [*missing]:
                with contextlib.suppress(OSError):
                    driver(Reply(what="masks", number=number))
            async with asyncio.timeout(self._longest_wait):
                await all_sent.wait()
        except TimeoutError:
            logger.warning(
                "a driver has not confirmed for %g s which values it masks",
                self._longest_wait,
            )
            self._late |= missing & self._drivers
        finally:
            del self._waiting[number]
