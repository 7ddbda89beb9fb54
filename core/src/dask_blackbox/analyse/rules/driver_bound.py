"""Did the cluster wait for the driver to want something?"""

from __future__ import annotations

from collections.abc import Iterator

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
    between = sum(b - a for a, b in loads.pauses if loads.begin < b <= loads.end)
    cost = sum(loads.threads.between(a, b) for a, b in loads.pauses)
    # Where there are no workers (yet, or any more), none of them waits.
    all_of_them = max(loads.threads.highest, 1e-9)
    whole, paused = loads.all_capacity / all_of_them, cost / all_of_them
    long = paused >= DRIVER_BOUND.threshold(case, "long")
    if paused < DRIVER_BOUND.threshold(case, "seconds"):
        return
    if case.tolls.busy and not long:
        return  # whoever takes the cores from the workers takes them from the driver
    if paused < DRIVER_BOUND.threshold(case, "share" if long else "most") * whole:
        return
    if loads.compute < DRIVER_BOUND.threshold(case, "computed"):
        # Hardly used: the driver's own business, unless it comes back again and again.
        again = len(loads.graphs) >= DRIVER_BOUND.threshold(case, "graphs")
        if not again or between < DRIVER_BOUND.threshold(case, "share") * whole:
            return
    longest = sorted(loads.pauses, key=lambda span: span[0] - span[1])
    first = max(loads.begin - loads.started, 0.0)
    last = max(loads.stopped - loads.end, 0.0)
    graphs = len(loads.graphs)
    yield DRIVER_BOUND.found(
        f"The cluster waited {duration(paused)} of {duration(whole)} for the driver",
        cause=(
            f"In {duration(paused)}, {paused / whole:.0%} of the run, nothing computed "
            f"because the driver had asked for nothing: {duration(first)} before the first "
            f"graph, {duration(between)} between the {counted(graphs, 'graph')} that it "
            f"sent one after the other, {duration(last)} after the last task. "
            f"{duration(cost)} of core time was there for nothing."
        ),
        remedy=(
            "Do that work in tasks, or send what is independent together: one "
            "`dask.compute(a, b, c)` rather than three `.compute()`; keep results on the "
            "cluster with `.persist()` rather than fetching and working on them here. "
            + (
                "What happens before the first graph or after the last task can happen "
                "without a cluster: start it later, close it sooner."
                if first + last > between
                else f"At most {duration(between)} can be won between the graphs."
            )
        ),
        confidence="high",
        cost=Cost(amount=cost, share=cost / max(loads.all_capacity, 1e-9)),
        evidence=tuple(
            Evidence(
                text=f"nothing computed for {duration(end - begin)}",
                source="tasks",
                at=begin,
            )
            for begin, end in longest[:5]
        ),
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
            "run was between `driver-bound.graphs` graphs or more."
        ),
        remedy="Send work together; do it in tasks; start the cluster when it is needed.",
        before="for day in days:\n    report(load(day).sum().compute())",
        after="sums = dask.compute(*[load(day).sum() for day in days])",
    ),
)
