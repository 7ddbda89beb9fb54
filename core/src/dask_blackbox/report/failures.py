"""Exceptions of tasks, retried attempts included, grouped by kind."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from dask_blackbox.formatting import plain
from dask_blackbox.run_tables import RunTables

_MOST_ATTEMPTS = 20
_LONGEST = 12_000
_DIGITS = r"0x[0-9a-fA-F]+|\d+"


class Attempt(NamedTuple):
    """One execution that failed; `at` in epoch seconds."""

    at: float
    key: str
    worker: str
    outcome: str


class FailureGroup(NamedTuple):
    """Failures with the same exception in the same prefix that differ in numbers only.

    Attributes:
        outcomes: How many of them ended how (`erred`, `retried`, `killed`).
        attempts: The first of them.
        omitted: How many more there are.
    """

    exception: str
    message: str
    prefix: str
    traceback: str
    cause: str
    outcomes: dict[str, int]
    first: float
    last: float
    attempts: list[Attempt]
    omitted: int


def failure_groups(run: RunTables) -> list[FailureGroup]:
    """Return the groups, those that ended tasks permanently first, then by time."""
    if run.errors.height == 0:
        return []
    alike = run.errors.with_columns(
        pl.col("exception").fill_null(""),
        pl.col("message").fill_null(""),
        (pl.col("at").dt.epoch("us") / 1e6).fill_null(0.0).alias("at"),
    ).with_columns(
        # What one failure inherits from another is no failure of its own.
        pl.col("cause").is_not_null().alias("inherited"),
        pl.col("message")
        .str.replace_all(_DIGITS, "#")
        .str.slice(0, 300)
        .alias("alike"),
    )
    groups = [
        _group(part.sort("at"))
        for _, part in alike.group_by(
            "exception", "prefix", "alike", "inherited", maintain_order=True
        )
    ]
    return sorted(
        groups,
        key=lambda group: (
            "erred" not in group.outcomes,
            bool(group.cause),
            group.first,
        ),
    )


def _group(part: pl.DataFrame) -> FailureGroup:
    first = part.row(0, named=True)
    outcomes = part["outcome"].value_counts(sort=True)
    attempts = part.head(_MOST_ATTEMPTS).select("at", "key", "worker", "outcome")
    traceback = plain(first["traceback"] or "")
    if len(traceback) > _LONGEST:
        half = _LONGEST // 2
        gone = len(traceback) - 2 * half
        traceback = f"{traceback[:half]}\n… {gone} characters …\n{traceback[-half:]}"
    return FailureGroup(
        exception=plain(first["exception"]),
        message=plain(first["message"]),
        prefix=plain(first["prefix"] or ""),
        traceback=traceback,
        cause=plain(first["cause"] or ""),
        outcomes={str(word): number for word, number in outcomes.iter_rows()},
        first=first["at"],
        last=float(str(part["at"].max())),
        attempts=[_attempt(row) for row in attempts.iter_rows()],
        omitted=max(0, part.height - _MOST_ATTEMPTS),
    )


def _attempt(row: tuple[Any, ...]) -> Attempt:
    at, *texts = row
    return Attempt(at, *(plain(text or "") for text in texts))
