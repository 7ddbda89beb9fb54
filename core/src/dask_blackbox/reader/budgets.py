"""Whether a run stayed within limits: of its own, and against the good runs before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Literal

import msgspec

from dask_blackbox.card_data import CardData
from dask_blackbox.formatting import count, counted, duration, size
from dask_blackbox.layout import SketchName

LEAST_RUNS = 3
"""Good runs without which a ratio is not checked."""

_MOST_RUNS = 10

Verdict = Literal["kept", "exceeded", "unknown"]


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The limits; None: not checked.

    Attributes:
        slowdown: Its duration, divided by the median of the good runs before it.
        growth: The same of its peak memory.
        seconds: Its duration.
        memory: Bytes of the worker that had the most.
        compute: Seconds that its tasks computed, over all threads.
        deaths: Workers that died.
    """

    slowdown: float | None = None
    growth: float | None = None
    seconds: float | None = None
    memory: float | None = None
    compute: float | None = None
    deaths: int | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One of the limits, and the run.

    Attributes:
        name: Which, as in `Budgets`, or `state`.
        verdict: `unknown`: the recording, or the history, lacks what it needs.
        value: What was found, in the limit's unit; None: not known.
        limit: The limit; None of `state`.
        text: The same in a sentence.
    """

    name: str
    verdict: Verdict
    value: float | None = None
    limit: float | None = None
    text: str


def checked(
    card: CardData, before: Sequence[SketchName], budgets: Budgets
) -> list[Checked]:
    """Return what became of each limit, that the run succeeded first.

    Args:
        before: The runs of the job before it, the newest first.
    """
    return [_state(card), *_absolute(card, budgets), *_relative(card, before, budgets)]


def _state(card: CardData) -> Checked:
    good = card.state == "succeeded"
    return Checked(
        name="state",
        verdict="kept" if good else "exceeded",
        text="the run succeeded" if good else f"the run {card.state}: {card.headline}",
    )


def _absolute(card: CardData, budgets: Budgets) -> Iterator[Checked]:
    rows: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
        ("seconds", "duration", "duration", duration),
        ("memory", "peak_memory", "peak memory of a worker", size),
        ("compute", "compute_seconds", "time that tasks computed", duration),
        ("deaths", "deaths", "workers that died:", count),
    )
    for name, measure, noun, shown in rows:
        limit = getattr(budgets, name)
        if limit is None:
            continue
        value = card.numbers.get(measure)
        if value is None:
            yield Checked(
                name=name,
                verdict="unknown",
                limit=limit,
                text=f"{noun} is not known of this run",
            )
            continue
        yield Checked(
            name=name,
            verdict=_verdict(value, limit),
            value=value,
            limit=limit,
            text=f"{noun} {shown(value)}; the limit is {shown(limit)}",
        )


def _relative(
    card: CardData, before: Sequence[SketchName], budgets: Budgets
) -> Iterator[Checked]:
    rows: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
        ("slowdown", "duration", "duration", duration),
        ("growth", "peak_memory", "peak memory of a worker", size),
    )
    good = [each for each in before if each.state == "succeeded"]
    for name, measure, noun, shown in rows:
        limit = getattr(budgets, name)
        if limit is None:
            continue
        values = [v for each in good if (v := getattr(each, measure)) is not None]
        usual = values[:_MOST_RUNS]
        now = card.numbers.get(measure)
        if now is None or len(usual) < LEAST_RUNS or not (middle := median(usual)):
            lacks = (
                "is not known of this run"
                if now is None
                else f"was not compared: {counted(len(usual), 'good run')} before this one, "
                f"and {LEAST_RUNS} are needed"
            )
            yield Checked(
                name=name, verdict="unknown", limit=limit, text=f"{noun} {lacks}"
            )
            continue
        ratio = now / middle
        yield Checked(
            name=name,
            verdict=_verdict(ratio, limit),
            value=ratio,
            limit=limit,
            text=f"{noun} {shown(now)} is {ratio:.2f} times the median of "
            f"{counted(len(usual), 'good run')} ({shown(middle)}); the limit is {limit:g}",
        )


def _verdict(value: float, limit: float) -> Verdict:
    return "kept" if value <= limit else "exceeded"
