"""A run as spans: the run, its prefixes of tasks, and the tasks that failed."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.card_data import CardData, TraceSpan
from dask_blackbox.formatting import plain, short
from dask_blackbox.report.wording import full_headline
from dask_blackbox.run_tables import RunTables

__all__ = ["trace_spans"]

_MOST_PREFIXES = 100
_MOST_FAILURES = 50
_LONGEST = 4_000
_RESULT = {
    "succeeded": "success",
    "failed": "failure",
    "aborted": "cancellation",
    "lost": "error",
}
"""OpenTelemetry's `cicd.pipeline.result`, by the state of a run."""


def trace_spans(run: RunTables, card: CardData) -> tuple[TraceSpan, ...]:
    """Return the spans of a run that has ended, the run's first."""
    started = run.manifest.started
    stopped = started + max(0.0, float(card.numbers.get("duration", 0.0)))
    prefixes = _prefixes(run)
    whole = TraceSpan(
        name=card.job,
        start=started,
        stop=stopped,
        attributes=_of_run(card, len(prefixes)),
        error="" if card.state == "succeeded" else full_headline(card),
    )
    shown = list(prefixes.head(_MOST_PREFIXES).iter_rows(named=True))
    number_of = {each["prefix"]: n for n, each in enumerate(shown, 1)}
    spans = [
        TraceSpan(
            name=plain(str(each["prefix"])),
            start=each["start"].timestamp(),
            stop=each["stop"].timestamp(),
            parent=0,
            attributes={"dask.tasks": each["tasks"], "dask.compute_s": each["seconds"]},
        )
        for each in shown
    ]
    return (whole, *spans, *_failures(run, number_of))


def _of_run(card: CardData, prefixes: int) -> dict[str, str | int | float]:
    found: dict[str, str | int | float] = {
        "cicd.pipeline.name": card.job,
        "cicd.pipeline.run.id": card.run_id,
        "cicd.pipeline.result": _RESULT.get(card.state, card.state),
        "dask.job": card.job,
        "dask.run_id": card.run_id,
        "dask.attempt": card.attempt,
        "dask.state": card.state,
    }
    for name in ("tasks", "task_failures", "worker_deaths", "peak_memory"):
        if isinstance(value := card.numbers.get(name), int | float):
            found[f"dask.{name}"] = value
    if card.verdict is not None:
        found["dask.verdict"] = card.verdict.rule
        found["dask.confidence"] = card.verdict.confidence
        found["dask.retry_advice"] = card.verdict.retry_advice
    if prefixes > _MOST_PREFIXES:
        found["dask.prefixes_left_out"] = prefixes - _MOST_PREFIXES
    return found


def _prefixes(run: RunTables) -> pl.DataFrame:
    """Return the prefixes of tasks, those that computed most first."""
    timed = run.tasks.filter(
        pl.col("start").is_not_null() & pl.col("stop").is_not_null()
    )
    return (
        timed.group_by("prefix", maintain_order=True)
        .agg(
            pl.col("start").min(),
            pl.col("stop").max(),
            pl.len().alias("tasks"),
            pl.col("compute").sum().alias("seconds"),
        )
        .sort("seconds", descending=True, maintain_order=True)
    )


def _failures(run: RunTables, number_of: dict[str, int]) -> Iterator[TraceSpan]:
    """Yield the first failures of tasks, each as long as its execution, where that is known."""
    if not len(run.errors):
        return
    keys = run.errors.get_column("key").to_list()
    starts = run.tasks.filter(
        pl.col("key").is_in(keys) & pl.col("start").is_not_null()
    ).select("key", "start")
    started = dict(starts.iter_rows())
    for each in run.errors.head(_MOST_FAILURES).iter_rows(named=True):
        stop = each["at"].timestamp()
        start = started.get(each["key"])
        kind, message = str(each["exception"] or ""), str(each["message"] or "")
        yield TraceSpan(
            name=plain(str(each["key"])),
            start=stop if start is None else min(start.timestamp(), stop),
            stop=stop,
            parent=number_of.get(each["prefix"], 0),
            attributes={"dask.key": each["key"], "dask.worker": each["worker"] or ""},
            error=short(f"{kind.rpartition('.')[2]}: {message}", 200),
            exception=(
                kind,
                short(message, _LONGEST),
                str(each["traceback"] or "")[-_LONGEST:],
            ),
        )
