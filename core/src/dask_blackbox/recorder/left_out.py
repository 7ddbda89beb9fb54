"""Classes of data that the user wants in no recording, removed before anything is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from pathlib import PurePath

import msgspec

from dask_blackbox.events import COLUMNS
from dask_blackbox.manifest import (
    ARGUMENTS,
    LOG_LINES,
    SOURCE_PATHS,
    DriverException,
    Manifest,
)
from dask_blackbox.patterns import bounded

NOTHING_LEFT = "[left out]"

_EVENTS = {
    LOG_LINES: ("driver-warning", "unit-log"),
    ARGUMENTS: ("task-files", "data-named"),
}
"""Kinds of events that consist of a class of data."""
_ARGUMENT_FIELDS = ("argv", "parameters")
_PATH_FIELDS = ("code_folder", "cwd", "file", "filename", "path", "unguarded")
_TEXT_COLUMNS = ("message", "traceback", "exception")
_QUOTED_FILE = bounded(r'(?<=File ")[^"\n]{1,4000}(?=")')
# A run of letters that paths consist of; whether it is one is looked at afterwards.
_WORD = bounded(r"[\w.…~+@%/-]{4,4000}")
_DONE = bounded(r"source-[0-9a-f]{8}(?:\.\w{1,5})?$")
_SOURCE = (".py", ".pyc", ".pyi", ".pyw", ".pyx", ".ipynb")
_INSTALLED = ("site-packages/", "dist-packages/")


class LeftOut:
    """Removes classes of data from rows and documents.

    Args:
        classes: Of `dask_blackbox.manifest.LEAVABLE`.
    """

    def __init__(self, classes: Collection[str]) -> None:
        self.classes = tuple(classes)
        self._lines = LOG_LINES in classes
        self._arguments = ARGUMENTS in classes
        self._paths = SOURCE_PATHS in classes
        self._events = {kind for each in classes for kind in _EVENTS.get(each, ())}

    def __bool__(self) -> bool:
        return bool(self.classes)

    def event(self, now: float) -> list[object]:
        """Return the row of an event that says what is left out."""
        detail = json.dumps({"classes": self.classes})
        return [now, "data-left-out", "recorder", detail]

    def rows(
        self, kind: str, rows: Sequence[Sequence[object]]
    ) -> Sequence[Sequence[object]]:
        """Return the rows of a kind without what is left out."""
        if kind == "log" and self._lines:
            return []
        if kind == "event":
            return [self._event(row) for row in rows if row[1] not in self._events]
        if not self._paths:
            return rows
        columns = COLUMNS.get(kind, ())
        texts = [i for i, name in enumerate(columns) if name in _TEXT_COLUMNS]
        return [self._with_texts(row, texts) for row in rows] if texts else rows

    def _event(self, row: Sequence[object]) -> Sequence[object]:
        *before, detail = row
        if not isinstance(detail, str):
            return row
        try:
            return [*before, json.dumps(self._value(json.loads(detail)))]
        except ValueError:
            return [*before, self._text(detail)]

    def _with_texts(self, row: Sequence[object], texts: list[int]) -> list[object]:
        return [
            self._text(cell) if i in texts and isinstance(cell, str) else cell
            for i, cell in enumerate(row)
        ]

    def _value(self, value: object, name: str = "") -> object:
        if self._arguments and name in _ARGUMENT_FIELDS:
            value = _without_arguments(value)
        if self._paths and name in _PATH_FIELDS and isinstance(value, str):
            return _without_path(value)
        if isinstance(value, dict):
            return {self._text(k): self._value(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self._value(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if not self._paths:
            return text
        text = _QUOTED_FILE.sub(lambda found: _without_path(found[0]), text)
        return _WORD.sub(lambda found: _without_source_path(found[0]), text)

    def exception(self, raised: DriverException) -> DriverException:
        """Return what ended the driver's work without what is left out."""
        if not self._paths:
            return raised
        cleaned = self._value(msgspec.to_builtins(raised))
        return msgspec.convert(cleaned, DriverException)

    def manifest(self, manifest: Manifest) -> Manifest:
        """Return a manifest without what is left out."""
        if not self._paths:
            return manifest
        host = {
            name: self._text(value) if isinstance(value, str) else value
            for name, value in manifest.host.items()
        }
        return msgspec.structs.replace(manifest, host=host)


def _without_arguments(value: object) -> object:
    """Return a command without its arguments; of parameters, nothing."""
    if isinstance(value, list) and value:
        return [value[0], *([NOTHING_LEFT] if len(value) > 1 else [])]
    return None


def _without_source_path(word: str) -> str:
    path = word.rstrip(".-")
    if not path.endswith(_SOURCE):
        return word
    return _without_path(path) + word[len(path) :]


def _without_path(path: str) -> str:
    """Return what a source file is called instead of its path.

    Files of installed packages keep the part that is the same everywhere.  The name of a
    file of the user's is made of a digest: two files have two names, in each run the same.
    """
    for installed in _INSTALLED:
        _, found, inside = path.rpartition(installed)
        if found:
            return f"…/{installed}{inside}"
    if path.startswith("<") or not path:  # no file: `<string>`
        return path
    head, colon, line = path.rpartition(":")
    if colon and line.isdigit():
        return f"{_without_path(head)}:{line}"
    if _DONE.match(path):
        return path
    digest = hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:8]
    return f"source-{digest}{PurePath(path).suffix}"
