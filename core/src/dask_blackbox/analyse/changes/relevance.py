"""What a change has to do with the verdict: is it named there, does it fit its kind?"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from dask_blackbox.analyse.changes.differences import Difference
from dask_blackbox.analyse.sketching import normal_prefix
from dask_blackbox.finding import Finding

__all__ = ["Accused", "Relevance", "relevance_of"]

_NAMED = 1.0
_FITS = 0.5

_IMPORTED_AS = {
    "beautifulsoup4": "bs4",
    "opencv-python": "cv2",
    "pillow": "pil",
    "protobuf": "google/protobuf",
    "psycopg2-binary": "psycopg2",
    "pyarrow": "pyarrow",
    "python-dateutil": "dateutil",
    "pyyaml": "yaml",
    "scikit-image": "skimage",
    "scikit-learn": "sklearn",
}
"""Distributions whose modules are called otherwise."""

_FITTING: dict[str, set[str | tuple[str, str]]] = {
    "memory": {
        "input-size",
        "code",
        "graph-shape",
        ("cluster-shape", "memory limit"),
        ("cluster-shape", "threads per worker"),
    },
    "data": {"input-size", "parameters"},
    "code": {"code", "package", "python", "parameters"},
    "environment": {"package", "python", "host"},
    "transient": {"cluster-shape", "host"},
}
"""Kinds of changes that fit a verdict, by its retry advice."""


class Accused(NamedTuple):
    """A failed run's verdict, and the traceback behind it, if there is one."""

    verdict: Finding | None = None
    traceback: str = ""
    prefix: str | None = None


class Relevance(NamedTuple):
    """How much a change has to do with the verdict, and in which way."""

    weight: float = 0.0
    why: str | None = None


def relevance_of(change: Difference, accused: Accused) -> Relevance:
    """Return what a change has to do with a verdict."""
    verdict = accused.verdict
    if verdict is None:
        return Relevance()
    said = f"{verdict.title}\n{verdict.cause}\n{accused.traceback}"
    if change.kind == "package" and _names_package(said, _package(change)):
        return Relevance(_NAMED, "the failure names it")
    if change.kind == "code" and _names_code(change, accused):
        return Relevance(_NAMED, "the failure went through it")
    if (
        change.kind in ("parameters", "dask-config")
        and change.after
        and _is_word(change.after)
        and change.after in said
    ):
        return Relevance(_NAMED, "the failure names its value")
    fitting = _FITTING.get(verdict.retry_advice, set())
    name = change.what.partition(" (")[0]
    if change.kind in fitting or (change.kind, name) in fitting:
        return Relevance(_FITS, f"it fits {verdict.rule}")
    return Relevance()


def _package(change: Difference) -> str:
    return change.what.partition(" (")[0]


def _names_package(said: str, package: str) -> bool:
    module = _IMPORTED_AS.get(package, package.replace("-", "_"))
    escaped = re.escape(module)
    patterns = (
        rf"(?:site|dist)-packages/{escaped}(?:/|\.py|\.cpython)",
        rf"No module named '{escaped.replace('/', '.')}(?:\.|')",
        rf"cannot import name '[^']*' from '{escaped.replace('/', '.')}(?:\.|')",
        rf"module '{escaped.replace('/', '.')}(?:\.[^']*)?' has no attribute",
    )
    return any(re.search(pattern, said, re.IGNORECASE) for pattern in patterns)


def _names_code(change: Difference, accused: Accused) -> bool:
    kind, _, name = change.what.partition(" ")
    if kind == "prefix":
        return accused.prefix is not None and normal_prefix(accused.prefix) == name
    if kind == "module":
        file = f"{PurePath(name.replace('.', '/')).name}.py"
        return (
            re.search(rf'[/"]{re.escape(file)}"?,? line', accused.traceback) is not None
        )
    if kind == "callable":
        function = name.rpartition(".")[2]
        return bool(function) and f" in {function}\n" in f"{accused.traceback}\n"
    return False


def _is_word(value: str) -> bool:
    """Say whether a value is long enough that its place in a message is no chance."""
    return len(value) > 4 and not value.isdigit()  # noqa: PLR2004
