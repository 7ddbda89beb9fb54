"""Did the cluster wait for the driver to want something?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["DRIVER_BOUND"]


def _ask(case: Case) -> Iterator[Finding]:
    loads = case.loads
    if not len(loads.graphs) or case.state == "running":
        return
    if case.failed or case.run.details("stall"):
        return  # something was wanted, and did not come
    waste = _waste(case)
    if waste is None:
        return
    between = sum(b - a for a, b in loads.pauses if loads.begin < b <= loads.end)
    longest = sorted(loads.pauses, key=lambda span: span[0] - span[1])
    first = max(loads.begin - loads.started, 0.0)
    last = max(loads.stopped - loads.end, 0.0)
    graphs = len(loads.graphs)
    yield DRIVER_BOUND.found(
        f"The cluster waited {duration(waste.paused)} of {duration(waste.whole)} for the "
        "driver",
        cause=(
            f"In {duration(waste.paused)}, {waste.paused / waste.whole:.0%} of the run, "
            f"nothing computed because the driver had asked for nothing: {duration(first)} "
            f"before the first graph, {duration(between)} between the "
            f"{counted(graphs, 'graph')} that it sent one after the other, {duration(last)} "
            f"after the last task. {duration(waste.cost)} of core time was there for "
            f"nothing.{_meanwhile(case, waste)}"
        ),
        remedy=_remedy(between, first + last, idle=waste.idle),
        # Whether a driver is meant to wait, nobody can see.
        confidence="medium" if waste.idle else "high",
        cost=Cost(amount=waste.cost, share=waste.cost / max(loads.all_capacity, 1e-9)),
        evidence=tuple(
            Evidence(
                text=f"nothing computed for {duration(end - begin)}",
                source="tasks",
                at=begin,
            )
            for begin, end in longest[:5]
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Waste:
    """How long the cluster waited, of how long it was there, and for what a driver.

    Attributes:
        paused: Seconds that all of it waited, but for those that the driver had no core.
        whole: Seconds that all of it was there.
        cost: Core-seconds of `paused`.
        idle: The driver, too, did nothing meanwhile, as far as that is known.
    """

    paused: float
    whole: float
    cost: float
    idle: bool


def _waste(case: Case) -> _Waste | None:
    """Return what it cost to wait for the driver, if that is worth a word."""
    loads, threshold, driver = case.loads, DRIVER_BOUND.threshold, case.tolls.driver
    cost = sum(loads.threads.between(a, b) for a, b in loads.pauses)
    # Where there are no workers (yet, or any more), none of them waits.
    all_of_them = max(loads.threads.highest, 1e-9)
    whole, paused = loads.all_capacity / all_of_them, cost / all_of_them
    if driver is not None:
        # What others took from it on its host is no doing of its own.
        fair = max(1 - driver.delayed / max(paused, 1e-9), 0.0)
        cost, paused = cost * fair, paused * fair
    long = paused >= threshold(case, "long")
    if paused < threshold(case, "seconds"):
        return None
    if case.tolls.busy and not long:
        return (
            None  # whoever takes the cores from the workers takes them from the driver
        )
    if paused < threshold(case, "share" if long else "most") * whole:
        return None
    if loads.compute < threshold(case, "computed"):
        # Hardly used: the driver's own business, unless it comes back again and again.
        between = sum(b - a for a, b in loads.pauses if loads.begin < b <= loads.end)
        again = len(loads.graphs) >= threshold(case, "graphs")
        if not again or between < threshold(case, "share") * whole:
            return None
    idle = driver is not None and driver.cpu < threshold(case, "idle") * paused
    return _Waste(paused=paused, whole=whole, cost=cost, idle=idle)


def _meanwhile(case: Case, waste: _Waste) -> str:
    """Say what the driver did meanwhile, where that is known."""
    driver = case.tolls.driver
    if driver is None:
        return ""
    said = f" Its main thread was on a core for {duration(driver.cpu)} in all"
    if waste.idle:
        said += ": it waited itself, for a person, a file, a service, or in a sleep"
    if driver.delayed >= 1:
        said += (
            f"; {duration(driver.delayed)} that it waited for a core that others had "
            "are not counted"
        )
    return f"{said}."


def _remedy(between: float, beside: float, *, idle: bool) -> str:
    if idle:
        return (
            "If that waiting is meant, let the cluster go meanwhile: "
            "`cluster.adapt(minimum=0, …)` sends workers home while nobody asks, or start "
            "it when there is work, and close it before the waiting begins. If the driver "
            "fetches something, fetch it in tasks."
        )
    return (
        "Do that work in tasks, or send what is independent together: one "
        "`dask.compute(a, b, c)` rather than three `.compute()`; keep results on the "
        "cluster with `.persist()` rather than fetching and working on them here. "
        + (
            "What happens before the first graph or after the last task can happen "
            "without a cluster: start it later, close it sooner."
            if beside > between
            else f"At most {duration(between)} can be won between the graphs."
        )
    )


DRIVER_BOUND = Rule(
    slug="driver-bound",
    title="The cluster waited for the driver",
    question="Did the cluster wait for the driver to want something?",
    severity="notice",
    ask=_ask,
    thresholds={
        "seconds": 8,
        "long": 15,
        "share": 0.5,
        "most": 0.7,
        "computed": 5,
        "graphs": 5,
        "idle": 0.2,
    },
    page=Page(
        detects=(
            "Most of the time no task was wanted: the driver was busy with its own Python, or "
            "waited for something else, between one computation and the next."
        ),
        evidence=(
            "The times in which no task computed, each up to the moment at which the next graph "
            "reached the scheduler; the time before the first graph, and after the last task; "
            "each as far as there were workers that waited. "
            "Silent below `driver-bound.seconds`, below `driver-bound.share` of the run "
            "(`driver-bound.most` where it is less than `driver-bound.long` seconds, and never where others have most of a "
            "host's cores), and on a "
            "cluster that computed less than `driver-bound.computed` seconds, unless most of the "
            "run was between `driver-bound.graphs` graphs or more. Where the driver's system tells "
            "(Linux), the time that its main thread waited for a core is not counted, and a driver "
            "that was on one for less than `driver-bound.idle` of the pauses waited itself."
        ),
        remedy="Send work together; do it in tasks; start the cluster when it is needed.",
        before="for day in days:\n    report(load(day).sum().compute())",
        after="sums = dask.compute(*[load(day).sum() for day in days])",
    ),
)
