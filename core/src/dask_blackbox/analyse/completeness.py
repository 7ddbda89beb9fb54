"""What a recording lacks, by source, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.capsules import lost_capsules
from dask_blackbox.analyse.words import counted, short
from dask_blackbox.manifest import SPOOL, Ending
from dask_blackbox.run import RunTables

__all__ = ["completeness_of", "missing_from"]

_BEHIND = 30.0
_SOURCES = 20


def missing_from(run: RunTables) -> dict[str, list[str]]:
    """Return what the recording lacks: sentences by source; empty if it is complete."""
    missing: dict[str, list[str]] = {}
    for source, sentence in (
        *_said_at_the_end(run.ending),
        *_silence(run),
        *(
            ("store", f"{name} {_damage(short(why, 160))}")
            for name, why in run.damaged.items()
            if run.ending is None or name not in run.ending.lost_segments
        ),
        *_given_up(run),
        *_gaps_in_logs(run),
        *lost_capsules(run),
    ):
        missing.setdefault(source, []).append(sentence)
    return missing


def _damage(why: str) -> str:
    return why[3:] if why.startswith("it is not there") else f"is damaged: {why}"


def _said_at_the_end(ending: Ending | None) -> Iterator[tuple[str, str]]:
    if ending is None:
        yield "recorder", "nobody was left to say how the run ended"
        return
    if ending.state == "lost":
        yield (
            "recorder",
            "nobody was left to say how the run ended; it was finished later",
        )
    for source, account in ending.sources.items():
        if account.error:
            could_not = "keep everything" if source == SPOOL else "be recorded"
            yield source, f"could not {could_not}: {short(account.error, 200)}"
        lost = sum(last - first + 1 for first, last in account.gaps)
        if lost:
            yield source, f"{counted(lost, 'batch', 'batches')} never came"
        for kind, number in account.dropped.items():
            if number:
                yield source, f"{counted(number, f'{kind} row')} dropped"
    for segment, why in ending.lost_segments.items():
        yield "store", f"{segment} could not be read back: {short(why, 120)}"


def _silence(run: RunTables) -> Iterator[tuple[str, str]]:
    frames = (run.events, run.tasks, run.logs, run.metrics)
    if run.ending is not None and not run.ending.sources and not any(map(len, frames)):
        yield "recorder", "nothing came, from the cluster or from the driver"


def _given_up(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield what capture itself had to give up, each kind once."""
    told = dict.fromkeys(
        (
            fact["subject"] or "capture",
            f"{fact.get('doing') or 'capture'} failed: {short(str(fact.get('error')), 160)}",
        )
        for fact in run.details("capture-failed")
    )
    yield from list(told)[:20]


def _gaps_in_logs(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield how many log lines never came: processes number theirs without gaps.

    What a process said before its first line here is nobody's loss: it may have been
    said to an earlier recording.
    """
    lines = run.logs.filter(pl.col("seq").is_not_null()).group_by("source", "pid")
    counted_lines = lines.agg(
        lost=pl.col("seq").max() - pl.col("seq").min() + 1 - pl.col("seq").n_unique(),
    )
    by_source = counted_lines.group_by("source").agg(pl.col("lost").clip(0).sum())
    gaps = by_source.filter(pl.col("lost") > 0).sort("lost", "source", descending=True)
    for source, lost in gaps.head(_SOURCES).iter_rows():
        yield source, f"{counted(lost, 'log line')} lost"
    others = gaps.slice(_SOURCES)
    if len(others):
        lost = counted(int(others["lost"].sum()), "log line")
        yield (
            "logs",
            f"{lost} of {counted(len(others), 'other process', 'other processes')} lost",
        )


def completeness_of(
    run: RunTables, *, recorded: bool = True, reason: str | None = None
) -> dict[str, Any]:
    """Return the card's account of its recording.

    Args:
        run: The recording.
        recorded: Whether it is in the store.
        reason: Why not, if not.
    """
    missing = missing_from(run)
    account: dict[str, Any] = {
        "recorded": recorded,
        "complete": recorded and not missing,
    }
    if reason is not None:
        account["reason"] = reason
    if run.ending is not None and run.ending.store_behind > _BEHIND:
        # Not missing: it has come by now. But whoever looked meanwhile did not see it.
        account["behind"] = round(run.ending.store_behind, 1)
    if missing:
        account["missing"] = missing
    return account
