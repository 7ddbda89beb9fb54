"""Log lines of a run: choosing them, saying why none was left, and printing them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import polars as pl
from dask.utils import parse_timedelta

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import plain
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables.schemas import Row

_LEVELS = {"WARN": logging.WARNING, "FATAL": logging.CRITICAL}


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines are wanted; None: all.

    Attributes:
        worker: A worker's address or name, or a part that fits one only.
        level: The least level, by name or number.
        since: ISO time (UTC where it has no zone), `+10s` after the run's start, or
            `-30s` (or `30s`) before its end.
        until: As `since`.
        pattern: A regular expression that the message contains.
        role: scheduler, worker, nanny or driver.
        task: Task key, or a part of it.
    """

    worker: str | None = None
    level: str | None = None
    since: str | None = None
    until: str | None = None
    pattern: str | None = None
    role: str | None = None
    task: str | None = None


_Step = tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]


def chosen_lines(run: RunTables, query: LogQuery) -> tuple[pl.DataFrame, str | None]:
    """Return the lines that fit, by time, and why there are none if there are none.

    Raises:
        ConfigurationError: if the query has a part that cannot be understood.
    """
    lines = run.logs
    if lines.is_empty():
        return lines, "this recording has no log lines"
    reported = [f"{lines.height} lines are recorded"]
    for what, narrowed in _steps(run, query):
        left = narrowed(lines)
        if left.is_empty():
            reported.append(f"none of them {what}{_instead(lines, what)}")
            return left, "; ".join(reported)
        reported.append(f"{left.height} of them {what}")
        lines = left
    return lines.sort("at", maintain_order=True), None


def _steps(run: RunTables, query: LogQuery) -> Iterator[_Step]:
    if query.role:
        yield f"come from a {query.role}", _keeping(pl.col("role") == query.role)
    if query.worker:
        addresses = _addresses(run, query.worker)
        yield (
            f"come from worker {query.worker}",
            _keeping(pl.col("source").is_in(addresses)),
        )
    if query.task:
        yield f"belong to task {query.task}", _task_filter(query.task)
    if query.since:
        at = _moment(run, "since", query.since)
        yield f"are from {_clock(at)} on", _keeping(pl.col("at") >= at)
    if query.until:
        at = _moment(run, "until", query.until)
        yield f"are from before {_clock(at)}", _keeping(pl.col("at") <= at)
    if query.level:
        least = _level(query.level)
        yield (
            f"have level {level_name(least)} or higher",
            _keeping(pl.col("level") >= least),
        )
    if query.pattern:
        yield f"match {query.pattern!r}", _matching(query.pattern)


def _keeping(condition: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda lines: lines.filter(condition)


def _task_filter(task: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def narrowed(lines: pl.DataFrame) -> pl.DataFrame:
        exact = lines.filter(pl.col("key") == task)
        if not exact.is_empty():
            return exact
        return lines.filter(pl.col("key").str.contains(task, literal=True))

    return narrowed


def _matching(pattern: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    # Python's dialect, not polars': it is the one that people know.
    try:
        found = re.compile(pattern).search
    except re.error as error:
        raise ConfigurationError(
            f"{pattern!r} is not a regular expression ({error}); "
            f"for the plain text give {re.escape(pattern)!r}"
        ) from error
    return lambda lines: lines.filter(
        pl.Series([found(text or "") is not None for text in lines["message"]])
    )


def _instead(lines: pl.DataFrame, what: str) -> str:
    """Return what there is instead, in the words of a hint."""
    if what.startswith("are from"):
        first, last = lines["at"].min(), lines["at"].max()
        return f": they are from {_clock(first)} to {_clock(last)}"
    if what.endswith("or higher"):
        return f": the highest is {level_name(int(lines['level'].max() or 0))}"  # type: ignore[arg-type]
    if what.startswith("come from"):
        roles = ", ".join(sorted(lines["role"].drop_nulls().unique()))
        sources = lines["source"].n_unique()
        return f": they come from {sources} sources ({roles})"
    return ""


def _addresses(run: RunTables, wanted: str) -> list[str]:
    """Return the addresses of the worker `wanted`, its nanny's included."""
    workers = run.workers.select("address", "name", "nanny").rows()
    known = [*workers, *((s, None, None) for s in run.logs["source"].unique())]
    for fits in (
        lambda word: word == wanted,
        lambda word: word is not None and wanted in word,
    ):
        found = [row for row in known if any(fits(word) for word in row[:2])]
        # One worker may have come several times, under one name and many addresses.
        if len({name or address for address, name, _ in found} - _covered(found)) > 1:
            listed = ", ".join(sorted({address for address, *_ in found})[:5])
            raise ConfigurationError(
                f"--worker {wanted} matches several workers ({listed}, …); give a "
                "longer part"
            )
        if found:
            return [part for a, _, nanny in found for part in (a, nanny) if part]
    names = ", ".join(sorted({str(name or address) for address, name, _ in workers}))
    raise ConfigurationError(
        f"no worker {wanted} in this recording; there were: {names or 'none'}"
    )


def _covered(rows: list[tuple[str, str | None, str | None]]) -> set[str]:
    """Return the bare addresses that a row with a name speaks for."""
    return {address for address, name, _ in rows if name}


def _moment(run: RunTables, option: str, text: str) -> datetime:
    relative = re.fullmatch(r"([+-]?)(\d.*)", text)
    if relative and not re.match(r"\d{4}-", text):
        sign, length = relative.groups()
        try:
            seconds = float(parse_timedelta(length))
        except (KeyError, ValueError) as error:
            raise _bad_moment(option, text) from error
        away = timedelta(seconds=seconds)
        start = datetime.fromtimestamp(run.manifest.started, UTC)
        return start + away if sign == "+" else _end(run) - away
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _bad_moment(option, text) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bad_moment(option: str, text: str) -> ConfigurationError:
    return ConfigurationError(
        f"--{option} {text} is not a time; give one like 2026-11-21T03:00:07 (UTC), "
        "+10s (after the run's start) or -30s (before its end)"
    )


def _end(run: RunTables) -> datetime:
    if run.ending is not None:
        return datetime.fromtimestamp(run.ending.ended, UTC)
    last = run.logs["at"].max()
    if not isinstance(last, datetime):
        return datetime.fromtimestamp(run.manifest.started, UTC)
    return last


def _level(text: str) -> int:
    name = text.upper()
    known = logging.getLevelNamesMapping() | _LEVELS
    if name in known:
        return known[name]
    if text.isdigit():
        return int(text)
    raise ConfigurationError(
        f"--level {text} is not a level; give DEBUG, INFO, WARNING, ERROR or CRITICAL"
    )


def level_name(level: int | None) -> str:
    """Return a level's name: `WARNING`, or `Level 25`."""
    return logging.getLevelName(level or 0)


def _clock(at: Any) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def as_text(row: Row) -> str:
    """Return a line as `time source LEVEL logger message`, its further lines indented."""
    # A log line must not drive the reader's terminal.
    message = plain(str(row["message"] or "")).rstrip("\n")
    source = plain(str(row["source"]))
    if row["role"] == "nanny" and source != "nanny":
        source = f"nanny {source}"
    head = f"{_clock(row['at'])} {source:<9} {level_name(row['level']):<8} {row['logger']}: "
    return head + message.replace("\n", "\n    ")


def as_json(row: Row) -> str:
    """Return a line as one JSON object, in one line."""
    return json.dumps(
        row | {"at": _clock(row["at"]), "level": level_name(row["level"])},
        ensure_ascii=False,
    )


def as_row(row: Row) -> dict[str, object]:
    """Return a line with the fields that people read, each as text."""
    texts = {
        name: str(row[name] or "") for name in ("role", "source", "logger", "message")
    }
    at, level = _clock(row["at"]), level_name(row["level"])
    return {"at": at, "level": level, "key": row["key"], **texts}
