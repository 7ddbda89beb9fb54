"""What a change has to do with the verdict: is it named there, does it fit its kind?"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from dask_blackbox.analyse.changes.code_hashes import is_hash_of_code
from dask_blackbox.analyse.changes.differences import Difference
from dask_blackbox.analyse.sketching import normal_prefix
from dask_blackbox.finding import Finding
from dask_blackbox.sketch import Sketch

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
"""Distributions whose modules have another name."""

_FITTING: dict[str, set[str | tuple[str, str]]] = {
    "memory": {
        "input-size",
        "parameters",
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


_RAN = ("prefix ", "callable ", "module ", "script")
_VERSIONS = ("git commit", "uncommitted changes", "DAG bundle")


class VerdictContext(NamedTuple):
    """A failed run's verdict, and the traceback behind it, if there is one.

    Attributes:
        verdict: Why it failed.
        traceback: Of the exception behind that.
        prefix: The tasks that it is about.
        code_unchanged: The code of these tasks is known, and is what it was.
        code_known: The code of the job's own modules is known, then and now.
    """

    verdict: Finding | None = None
    traceback: str = ""
    prefix: str | None = None
    code_unchanged: bool = False
    code_known: bool = False

    def between(self, good: Sketch, sketch: Sketch) -> VerdictContext:
        """Return it with what the good run and this one show about the code."""
        old, new = (
            {each.name: each.code for each in run.prefixes} for run in (good, sketch)
        )
        name = normal_prefix(self.prefix or "")
        modules = (
            any(what.startswith("module ") for what in run.facts.get("code", ()))
            for run in (good, sketch)
        )
        return self._replace(
            code_unchanged=is_hash_of_code(old.get(name))
            and old.get(name) == new.get(name),
            code_known=all(modules),
        )


class Relevance(NamedTuple):
    """How much a change has to do with the verdict, and in which way."""

    weight: float = 0.0
    why: str | None = None


def relevance_of(change: Difference, context: VerdictContext) -> Relevance:
    """Return what a change has to do with a verdict."""
    verdict = context.verdict
    if verdict is None:
        return Relevance()
    why = _named(
        change, context, f"{verdict.title}\n{verdict.cause}\n{context.traceback}"
    )
    if why is not None:
        return Relevance(_NAMED, why)
    fitting = _FITTING.get(verdict.retry_advice, set())
    name = change.what.partition(" (")[0]
    if change.kind in fitting or (change.kind, name) in fitting:
        return Relevance(_FITS, f"it fits {verdict.rule}")
    return Relevance()


def _named(change: Difference, context: VerdictContext, text: str) -> str | None:
    """Return how a failure names a change; None if it does not."""
    if change.kind == "package" and _names_package(text, _package(change)):
        return "the failure names it"
    if change.kind == "code" and _names_code(change, context):
        return "the failure went through it"
    if _was_given(change, context):
        return "the tasks that failed were given it"
    settings = change.kind in ("parameters", "dask-config")
    value = change.after
    if settings and value and _is_word(value) and value in text:
        return "the failure names its value"
    return None


def is_of_code(change: Difference) -> bool:
    """Return whether code that ran does something else than before."""
    return change.kind == "code" and change.what.startswith(_RAN)


def is_version(change: Difference) -> bool:
    """Return whether it is a version of a whole repository, whatever ran of it."""
    return change.kind == "code" and change.what in _VERSIONS


def _package(change: Difference) -> str:
    return change.what.partition(" (")[0]


def _was_given(change: Difference, context: VerdictContext) -> bool:
    """Return whether the functions of the tasks that failed were given another value."""
    return (
        context.prefix is not None and normal_prefix(context.prefix) in change.used_by
    )


def modules_of_package(package: str) -> set[str]:
    """Return the top-level modules of a package in lower case, derived from its name."""
    module = _IMPORTED_AS.get(package, package.replace("-", "_"))
    return set() if "/" in module else {module.lower()}


def _names_package(text: str, package: str) -> bool:
    module = _IMPORTED_AS.get(package, package.replace("-", "_"))
    escaped = re.escape(module)
    patterns = (
        rf"(?:site|dist)-packages/{escaped}(?:/|\.py|\.cpython)",
        rf"No module named '{escaped.replace('/', '.')}(?:\.|')",
        rf"cannot import name '[^']*' from '{escaped.replace('/', '.')}(?:\.|')",
        rf"module '{escaped.replace('/', '.')}(?:\.[^']*)?' has no attribute",
    )
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def _names_code(change: Difference, context: VerdictContext) -> bool:
    kind, _, name = change.what.partition(" ")
    if kind == "prefix":
        return context.prefix is not None and normal_prefix(context.prefix) == name
    if kind == "module" and not context.code_unchanged:
        file = f"{PurePath(name.replace('.', '/')).name}.py"
        return (
            re.search(rf'[/"]{re.escape(file)}"?,? line', context.traceback) is not None
        )
    if kind == "callable" and not context.code_unchanged:
        function = name.rpartition(".")[2]
        return bool(function) and f" in {function}\n" in f"{context.traceback}\n"
    return False


def _is_word(value: str) -> bool:
    """Return whether a value is long enough that its place in a message is no chance."""
    return len(value) > 4 and not value.isdigit()  # noqa: PLR2004
