"""One row of the catalogue: a line or message that somebody else's code prints."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Literal

import polars as pl

from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

Source = Literal[
    "cuda",
    "dask",
    "databases",
    "distributed",
    "fsspec",
    "hdf5",
    "kernel",
    "mpi",
    "network",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "python",
    "s3",
    "sklearn",
    "tls",
    "xarray",
    "xgboost",
    "zarr",
]


@dataclass(frozen=True)
class Signature:
    r"""The pattern of a line that other software prints.

    Attributes:
        pattern: A regular expression that finds it, with named groups; one that polars
            understands too (no look-around, no back-references).
        example: A line as it is printed.
        source: Who prints it.
        since: A version from which on it is printed so, if the oldest supported one does not.
        until: The first version that does not, if the newest one does not.
    """

    pattern: str
    example: str
    source: Source = "distributed"
    since: str | None = None
    until: str | None = None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return bounded(self.pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """Return where a text has this line, or None."""
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the same if the text begins with it."""
        return self._compiled.match(text)

    def all(self, text: str) -> list[re.Match[str]]:
        """Return every place where a text has this line."""
        return list(self._compiled.finditer(text))


def any_of(text: str, *signatures: Signature) -> re.Match[str] | None:
    """Return where a text has one of these lines, the first row first, or None."""
    return next(filter(None, (each.search(text) for each in signatures)), None)


def printed_by(*signatures: Signature) -> pl.Expr:
    """Return which rows of `logs` have one of these lines, as a condition of a filter."""
    return pl.col("message").str.contains(
        "|".join(f"(?:{_without_names(each.pattern)})" for each in signatures)
    )


def lines_of(
    run: RunTables, *signatures: Signature, by: Collection[str] = ()
) -> pl.DataFrame:
    """Return the log lines that have one of these lines, by time.

    Args:
        by: Roles of the processes that wrote them; empty: any.
    """
    # Most runs have none of these lines, and to compile the patterns takes a millisecond.
    lines = run.logs.filter(pl.col("role").is_in(by)) if by else run.logs
    texts = [_texts_in(each.pattern) for each in signatures]
    if all(texts) and len(lines):
        one = pl.col("message").str.contains_any([*chain.from_iterable(texts)])
        lines = lines.filter(one)
    if lines.is_empty():
        return lines
    return lines.filter(printed_by(*signatures)).sort("at", maintain_order=True)


_TOKEN = re.compile(
    r"(?P<flags>\(\?[a-z]{1,9}\))|(?P<open>\((?:\?(?:P<\w{1,80}>|:))?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<class>\[\^?\]?(?:\\.|[^\]\\]){0,200}\])|(?P<optional>(?:[*?]|\{[\d,]{1,20}\})\??)"
    r"|(?P<other>[+^$.]|\\[A-Za-z])|\\?(?P<text>.)",
    re.DOTALL,
)


@cache
def _texts_in(pattern: str) -> tuple[str, ...]:
    """Return texts of which all matches of a pattern have one; none if that is not known.

    Of each alternative that is the longest text outside of groups.
    """
    found, text, depth = [""], "", 0
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        depth += (kind == "open") - (kind == "close")
        if kind == "text" and not depth:
            text += token["text"]
            continue
        found[-1] = max(found[-1], text[:-1] if kind == "optional" else text, key=len)
        text = ""
        if kind == "or" and not depth:
            found.append("")
        elif kind == "flags" and set("ix") & set(token["flags"]):
            return ()
    found[-1] = max(found[-1], text, key=len)
    return tuple(found) if all(found) else ()


def _without_names(pattern: str) -> str:
    """Return a pattern without names of its groups, so that it can be joined to others."""
    return bounded(r"\(\?P<\w+>").sub("(", pattern)
