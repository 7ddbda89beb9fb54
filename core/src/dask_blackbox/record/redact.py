"""Blanking out secrets, before anything is written anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dask_blackbox.capture.secrecy import BLANK, Secrecy, secret_name
from dask_blackbox.events import COLUMNS
from dask_blackbox.manifest import DriverException, Manifest

__all__ = ["Redactor"]

# Under these names lie settings and arguments, where a plain `key` is a secret too;
# elsewhere it is the key of a task.
_SETTINGS = ("config", "parameters")
_TEXT_COLUMNS = {
    kind: tuple(
        i
        for i, name in enumerate(columns)
        if name in ("message", "traceback", "detail")
    )
    for kind, columns in COLUMNS.items()
}


# Dask prints a failed task with its arguments: data, which nobody has asked us to keep.
_ARGUMENTS = re.compile(
    r"(?s)(Compute Failed\n.*?\n(?:Task|args): +[^\n(]*)\(.*?(?=\nException: |$)"
)

_INVENTORIES = ("packages", "modules", "prefixes", "new", "code", "functions", "parts")


class Redactor:
    """Blanks out what looks like a secret.

    Args:
        patterns: Regular expressions of the user's, on top of ours.

    Raises:
        re.error: if a pattern of the user's is none.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._secrecy = Secrecy(patterns)

    def text(self, text: str) -> str:
        """Return `text` without secrets, and such that any encoding can hold it."""
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
        if "Compute Failed\n" in text:
            text = _ARGUMENTS.sub(r"\1(…)", text)
        return self._secrecy.text(text)

    def value(self, value: Any, name: str = "", *, settings: bool = False) -> Any:
        """Return a JSON value without secrets; `name` is the key that it stands under."""
        settings = settings or name in _SETTINGS
        if isinstance(value, dict) and name in _INVENTORIES and not settings:
            # Keys are names of packages, modules and prefixes: `tokenizers` is no secret.
            return {self.text(str(k)): self.value(v) for k, v in value.items()}
        if isinstance(value, dict):
            return {
                str(k): self.value(v, str(k), settings=settings)
                for k, v in value.items()
            }
        if isinstance(value, list | tuple) and name == "argv":
            return self._words([str(each) for each in value])
        if isinstance(value, list | tuple):
            return [self.value(each, name, settings=settings) for each in value]
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        secret = secret_name(name) or (settings and name == "key")
        if plain and value and secret:
            return BLANK
        return self.text(value) if isinstance(value, str) else value

    def _words(self, words: list[str]) -> list[str]:
        """Return the words of a command without secrets: `--password` names the next one."""
        named = [False, *(w.startswith("-") and secret_name(w) for w in words)]
        return [
            BLANK if secret and not word.startswith("-") else self.text(word)
            for word, secret in zip(words, named, strict=False)
        ]

    def exception(self, told: DriverException) -> DriverException:
        """Return an exception of the driver without secrets."""
        return msgspec.structs.replace(
            told,
            message=self.text(told.message),
            traceback=self.text(told.traceback),
            handled=tuple(self.text(each) for each in told.handled),
            found={name: self.text(value) for name, value in told.found.items()},
        )

    def manifest(self, manifest: Manifest) -> Manifest:
        """Return a manifest whose host's particulars hold no secrets."""
        return msgspec.structs.replace(manifest, host=self.value(manifest.host))

    def rows(self, kind: str, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return rows of a kind without secrets in their texts."""
        columns = _TEXT_COLUMNS.get(kind)
        if not columns:
            return rows
        cleaned = []
        for row in rows:
            fields = list(row)
            for i in columns:
                if i < len(fields) and isinstance(fields[i], str):
                    fields[i] = self._field(kind, fields[i])
            cleaned.append(fields)
        return cleaned

    def _field(self, kind: str, text: str) -> str:
        if kind == "event":
            try:
                return json.dumps(self.value(json.loads(text)))
            except ValueError:
                pass
        return self.text(text)
