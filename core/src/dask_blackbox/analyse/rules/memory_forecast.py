"""Will the memory of this job's workers meet their limit soon, if it goes on so?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.forecast import NEAR, TERMINATED_AT, Forecast, forecast_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.analyse.words import counted, size
from dask_blackbox.finding import Evidence, Finding

__all__ = ["MEMORY_FORECAST"]


def _ask(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded" or case.deaths:
        return
    told = forecast_of(case.history.good, sketch_of(case))
    if told is None:
        return
    near = told.near >= MEMORY_FORECAST.threshold(case, "near-runs")
    soon = (
        told.runs_left is not None
        and told.runs_left <= MEMORY_FORECAST.threshold(case, "runs-ahead")
        and told.peak < NEAR * told.limit
    )
    if not near and not soon:
        return
    yield MEMORY_FORECAST.found(
        _title(told, near=near),
        cause=_cause(told, near=near),
        remedy=(
            f"Give each worker about {size(told.needed)}"
            + (f" ({told.ahead} runs ahead at this growth)" if told.growth else "")
            + ", run fewer tasks at once, or make the pieces smaller."
        ),
        confidence="medium",
        severity="warning",
        evidence=(
            Evidence(
                text=f"This run's peak: {size(told.peak)} of {size(told.limit)} "
                f"({told.peak / told.limit:.0%})",
                source="metrics",
            ),
        ),
    )


def _title(told: Forecast, *, near: bool) -> str:
    if near:
        return f"Within 5 % of the memory limit for {counted(told.near, 'run')}"
    runs = counted(told.runs_left or 0, "run")
    return f"At this growth, memory meets the limit in about {runs}"


def _cause(told: Forecast, *, near: bool) -> str:
    parts = []
    if near:
        parts.append(
            f"The last {counted(told.near, 'good run')} had workers with {NEAR:.0%} of "
            f"their limit or more; at {TERMINATED_AT:.0%} they are terminated."
        )
    if told.growth:
        parts.append(
            f"Over {counted(told.runs, 'good run')}, the peak has grown by "
            f"{told.growth:.1%} a run, to {size(told.peak)} of {size(told.limit)}."
        )
    if told.runs_left is not None and told.runs_left > 0:
        days = told.days_left or 0
        when = f", in {days:.0f} days" if days >= 1.5 else ""  # noqa: PLR2004
        parts.append(
            f"It meets {size(TERMINATED_AT * told.limit)} in about "
            f"{counted(told.runs_left, 'run')}{when}."
        )
    return " ".join(parts)


MEMORY_FORECAST = Rule(
    slug="memory-forecast",
    title="Memory will meet the limit soon",
    question="Will the workers' memory meet their limit soon, if the job goes on so?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={"near-runs": 3, "runs-ahead": 14},
    page=Page(
        detects=(
            "Runs that end well come nearer and nearer to the memory limit of their workers, "
            "or have been within 5 % of the end for several runs."
        ),
        evidence=(
            "The peak memory in the sketches of the last 60 good runs. Growth is the median "
            "of all slopes between two runs; it counts from 8 runs on, and where it is no "
            "noise by Kendall's test (once in 2,000). Fires where the limit is met within "
            "`memory-forecast.runs-ahead` (14) runs, or where `memory-forecast.near-runs` (3) "
            "runs in a row reached 90 % of the limit; workers are terminated at 95 %."
        ),
        remedy="Give workers more before it is needed: the finding says how much.",
        before="peaks: 5.9, 6.2, 6.6, 7.0, 7.3 GiB of 8 GiB",
        after='LocalCluster(memory_limit="11.4 GiB")',
    ),
)
