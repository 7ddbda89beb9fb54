"""Log lines of a run: searching them, printing them, and choosing those of the report."""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import polars as pl

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import (
    command,
    count,
    counted,
    plain,
    refuse_bare_number,
    run_argument,
    utc,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.report.workers import WorkerProcess
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
    sentences = [f"{lines.height} lines are recorded"]
    for what, narrowed in _steps(run, query):
        left = narrowed(lines)
        if left.is_empty():
            sentences.append(f"none of them {what}{_instead(lines, what)}")
            return left, "; ".join(sentences)
        sentences.append(f"{left.height} of them {what}")
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
        yield f"are from {_clock(at)} or later", _keeping(pl.col("at") >= at)
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
        found = bounded(pattern).search
    except re.error as error:
        raise ConfigurationError(
            f"{pattern!r} is not a regular expression ({error}); "
            f"for the plain text give {shlex.quote(re.escape(pattern))}"
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
    found = [row for row in known if wanted in row[:2]]
    if not found:
        found = [row for row in known if any(wanted in (x or "") for x in row[:2])]
    if not found:
        names = sorted({str(name or source) for source, name, _ in workers})
        raise ConfigurationError(
            f"no worker {wanted} in this recording; there were: "
            f"{', '.join(names) or 'none'}"
        )
    _check_one(found, wanted)
    return [*filter(None, chain.from_iterable((a, nanny) for a, _, nanny in found))]


def _check_one(
    found: Sequence[tuple[str, str | None, str | None]], wanted: str
) -> None:
    """Raise ConfigurationError if these are several workers.

    One worker may have come several times, under one name and many addresses.
    """
    covered = {address for address, name, _ in found if name}
    if len({name or address for address, name, _ in found} - covered) > 1:
        listed = ", ".join(sorted({address for address, *_ in found})[:5])
        raise ConfigurationError(
            f"--worker {wanted} matches several workers ({listed}, …); give a longer part"
        )


def _moment(run: RunTables, option: str, text: str) -> datetime:
    # Not above: a recorder that writes a report needs no Dask.
    from dask.utils import parse_timedelta

    relative = bounded(r"([+-]?)(\d.*)").fullmatch(text)
    if relative and not bounded(r"\d{4}-").match(text):
        sign, length = relative.groups()
        refuse_bare_number(text, f"--{option}")
        try:
            seconds = float(parse_timedelta(length))
        except (KeyError, ValueError) as error:
            raise _bad_moment(option, text) from error
        away = timedelta(seconds=seconds)
        start = utc(run.manifest.started)
        return start + away if sign == "+" else _end(run) - away
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _bad_moment(option, text) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bad_moment(option: str, text: str) -> ConfigurationError:
    return ConfigurationError(
        f"--{option} {text!r} is not a time; give one like 2026-11-21T03:00:07 (UTC), "
        "+10s (after the run's start) or -30s (before its end)"
    )


def _end(run: RunTables) -> datetime:
    if run.ending is not None:
        return utc(run.ending.ended)
    last = run.logs["at"].max()
    if not isinstance(last, datetime):
        return utc(run.manifest.started)
    return last


def _level(text: str) -> int:
    name = text.upper()
    known = logging.getLevelNamesMapping() | _LEVELS
    if name in known:
        return known[name]
    if text.isdigit():
        return int(text)
    raise ConfigurationError(
        f"--level {text!r} is not a level; give DEBUG, INFO, WARNING, ERROR or CRITICAL"
    )


def level_name(level: int | None) -> str:
    """Return a level's name: `WARNING`, or `Level 25`."""
    return logging.getLevelName(level or 0)


def _clock(at: Any) -> str:
    if at is None:  # of a damaged line
        return "unknown time"
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


_WARNING = 30
_LONGEST = 6_000
_BEFORE_A_DEATH = 40
_MOST_BYTES = 1_500_000


class LogLine(NamedTuple):
    """One line: `at` in epoch seconds, `level` numeric."""

    at: float
    role: str
    source: str
    logger: str
    level: int
    message: str
    key: str


class LogLines(NamedTuple):
    """The chosen lines by time, and the sentence that says how they were chosen."""

    lines: list[LogLine]
    summary: str
    total: int


def loglines_of(
    run: RunTables, processes: list[WorkerProcess], *, limit: int
) -> LogLines:
    """Choose at most `limit` lines: warnings and worse, last lines, then the newest."""
    logs = run.logs
    total = logs.height
    if total == 0:
        return LogLines([], "No log line was recorded.", 0)
    if total <= limit:
        lines = _lines(logs)
        return _within_bytes(lines, f"All {counted(total, 'log line')}.", total)
    numbered = logs.with_row_index("row").sort("at", maintain_order=True)
    grave = numbered.filter(pl.col("level") >= _WARNING)["row"]
    chosen, text = _important_lines(grave, limit)
    last = _last_lines(numbered, processes)
    chosen.update(row for row in last if len(chosen) < limit)
    for row in reversed(numbered["row"].to_list()):
        if len(chosen) >= limit:
            break
        chosen.add(row)
    picked = numbered.filter(pl.col("row").is_in(list(chosen)))
    sentence = (
        f"Showing {count(picked.height)} of {counted(total, 'log line')}: {text}"
        f"{', the last lines of workers that died' if last else ''}, then the newest. "
        f"`{_searching(run)}` searches them all."
    )
    return _within_bytes(_lines(picked), sentence, total)


def _searching(run: RunTables) -> str:
    manifest = run.manifest
    name = run_argument(run.url, manifest.job, manifest.run_id, manifest.attempt)
    return command("logs", name)


def _important_lines(grave: pl.Series, limit: int) -> tuple[set[int], str]:
    if grave.len() <= limit * 3 // 4:
        return set(grave.to_list()), "all failures and warnings"
    # The first ones say what went wrong, the last ones how it ended.
    head, tail = limit // 4, limit // 2
    chosen = {*grave.head(head).to_list(), *grave.tail(tail).to_list()}
    text = (
        f"the first {count(head)} and last {count(tail)} of "
        f"{count(grave.len())} failures and warnings"
    )
    return chosen, text


def _last_lines(numbered: pl.DataFrame, processes: list[WorkerProcess]) -> list[int]:
    rows: list[int] = []
    dead = [process.address for process in processes if process.fate == "died"]
    if dead:
        own = numbered.filter(pl.col("source").is_in(dead))
        for _, part in own.group_by("source", maintain_order=True):
            rows += part["row"].tail(_BEFORE_A_DEATH).to_list()
    return rows


def _lines(logs: pl.DataFrame) -> list[LogLine]:
    rows = logs.select(
        pl.col("at").dt.epoch("us") / 1e6,
        *(pl.col(name).fill_null("") for name in ("role", "source", "logger")),
        pl.col("level").fill_null(20),
        pl.col("message").fill_null(""),
        pl.col("key").fill_null(""),
    ).sort("at", maintain_order=True, nulls_last=True)
    return [_line(row) for row in rows.iter_rows()]


def _line(row: tuple[Any, ...]) -> LogLine:
    at, role, source, logger, level, message, key = row
    message = plain(message).rstrip()
    if len(message) > _LONGEST:
        half = _LONGEST // 2
        gone = len(message) - 2 * half
        message = (
            f"{message[:half]}\n… {count(gone)} more characters …\n{message[-half:]}"
        )
    return LogLine(at or 0.0, role, source, plain(logger), level, message, plain(key))


def _within_bytes(lines: list[LogLine], text: str, total: int) -> LogLines:
    """Omit harmless lines, oldest first, until the rest fits on a page."""
    excess = sum(len(line.message) for line in lines) - _MOST_BYTES
    kept: list[LogLine] = []
    left_out = 0
    for line in lines:
        if excess > 0 and line.level < _WARNING:
            excess -= len(line.message)
            left_out += 1
        else:
            kept.append(line)
    while excess > 0 and kept:
        excess -= len(kept.pop(len(kept) // 2).message)
        left_out += 1
    if left_out:
        text += f" {counted(left_out, 'more line')} left out because they are long."
    return LogLines(kept, text, total)
