"""Could the scheduler not keep up with handing out tasks?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.tolls import MANY_EDGES
from dask_blackbox.analyse.words import counted, duration, quoted
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["SCHEDULER_OVERLOADED"]

_GOOD_TASK = 0.2
_LARGE = 0.2  # seconds to take in a graph
_GAP = 2.5  # seconds, or times as long as usual, between two samples


@dataclass(frozen=True, kw_only=True)
class _Overload:
    """When the scheduler was at its limit, and what it cost.

    Attributes:
        cost: Core-seconds that idled.
        share: Of all that were there.
        busy: The samples then, as in `Loads.slices`.
        graphs: Seconds that it took in graphs; 0 if that is not where the cost is.
    """

    cost: float
    share: float
    busy: pl.DataFrame
    graphs: float = 0.0

    @property
    def seconds(self) -> float:
        return float(self.busy["seconds"].sum() or 0.0)

    @property
    def number(self) -> int:
        return int(self.busy["number"].sum() or 0)

    @property
    def a_task(self) -> float:
        """Seconds of the scheduler for each task that ended."""
        return self.seconds / max(self.number, 1)


def _ask(case: Case) -> Iterator[Finding]:
    loads, threshold = case.loads, SCHEDULER_OVERLOADED.threshold
    if len(loads.tasks) < threshold(case, "tasks"):
        return
    others = threshold(case, "others")
    if any(host.others > others for host in case.tolls.hosts):
        return  # nobody had a core there, the scheduler neither
    found = _overload(case)
    if found is None:
        return
    slow = found.a_task >= threshold(case, "seconds_a_task")
    computed = float(found.busy["compute"].sum() or 0.0)
    tiny = computed < threshold(case, "tiny") * max(found.number, 1)
    if tiny and not slow and not found.graphs:
        return  # that is why, and `tiny-tasks` tells of it
    threads = max(1, round(loads.threads.highest))
    yield SCHEDULER_OVERLOADED.found(
        f"The scheduler was the bottleneck: {duration(found.cost)} of core time idled "
        "while it worked",
        cause=_cause(case, found, threads) + (_reasons(case) if slow else ""),
        remedy=_remedy(case, found, threads, slow=slow),
        confidence="medium",
        cost=Cost(amount=found.cost, share=found.share),
        evidence=tuple(
            Evidence(
                text=f"scheduler at {row['cpu']:.0f} % of a core, a turn of its event loop "
                f"took {duration(row['turn'])}, {row['number']:,} tasks ended in "
                f"{duration(row['seconds'])}",
                source="metrics",
                at=row["begin"],
            )
            for row in found.busy.sort("overhead", descending=True)
            .head(4)
            .iter_rows(named=True)
        ),
    )


def _overload(case: Case) -> _Overload | None:
    """Return what the scheduler's limit cost, if that is worth a word."""
    loads, threshold = case.loads, SCHEDULER_OVERLOADED.threshold
    usual = float(loads.slices["seconds"].median() or 0.0)  # type: ignore[arg-type]
    gap = max(_GAP, _GAP * usual)  # it answered nobody, us neither
    busy = loads.slices.filter(
        (pl.col("cpu") >= threshold(case, "cpu"))
        | (pl.col("turn") >= threshold(case, "turn"))
        | (pl.col("seconds") >= gap)
    )
    cost = float(busy["overhead"].sum() or 0.0)
    found = _Overload(cost=cost, share=loads.share(cost), busy=busy)
    graphs = case.tolls.graphs
    idle = max(loads.all_capacity - loads.compute, 0.0)
    building = min(graphs * loads.threads.highest, idle)
    large = graphs >= _LARGE * len(loads.graphs)  # small ones wait for each other
    if large and building > cost and graphs >= threshold(case, "graph_seconds"):
        share = building / max(loads.all_capacity, 1e-9)
        found = _Overload(cost=building, share=share, busy=busy, graphs=graphs)
    if found.cost < threshold(case, "core_seconds") or not loads.matters(found.cost):
        return None
    return found if found.share >= threshold(case, "share") else None


def _cause(case: Case, found: _Overload, threads: int) -> str:
    loads = case.loads
    window = max(loads.end - loads.begin, 1e-9)
    rate = found.number / max(found.seconds, 1e-9)
    return (
        f"The scheduler's process was at its limit for {duration(found.seconds)} of "
        f"{duration(window)}, and handed out {rate:,.0f} tasks a second meanwhile; "
        f"{counted(threads, 'thread')} waited for it with tasks at hand. It took in "
        f"{counted(len(loads.graphs), 'graph')} of {counted(len(loads.tasks), 'task')} in "
        f"{duration(case.tolls.graphs)}."
    )


def _reasons(case: Case) -> str:
    """Return what else than the number of tasks may make a scheduler slow, as far as known."""
    said = (
        " That is far more than the millisecond or two that a task takes it: something "
        "else keeps it busy."
    )
    edges, tasks = case.tolls.edges
    if edges >= MANY_EDGES * max(tasks, 1):
        said += (
            f" Its tasks ask for {edges:,} results of each other, {edges / tasks:.0f} each, "
            "and each of them is looked at when one ends."
        )
    if plugins := _plugins(case):
        said += f" Plugins on it that are not Dask's: {quoted(plugins)}."
    return said


def _remedy(case: Case, found: _Overload, threads: int, *, slow: bool) -> str:
    tasks = len(case.loads.tasks)
    fewer = (
        f"{threads} threads are fed well if a task computes for "
        f"{duration(max(_GOOD_TASK, threads / 500))} or more (here: "
        f"{duration(case.loads.compute / max(tasks, 1))}): fuse or batch tasks, make "
        "partitions larger, and avoid graphs in which everything depends on everything. "
        "Give the scheduler a core of its own."
    )
    if not slow:
        return fewer
    edges, asked = case.tolls.edges
    if edges >= MANY_EDGES * max(asked, 1):
        return (
            f"Put a step between: where {edges / asked:.0f} inputs are first joined into "
            f"one, each task asks for that one, {asked:,} edges instead of {edges:,}. "
            + fewer
        )
    if plugins := _plugins(case):
        return (
            f"Take {quoted(plugins)} off, or let it do its work elsewhere (a queue and a "
            "thread): the scheduler waits for each call of a plugin. "
            f"{duration(found.cost)} of core time can be won at most."
        )
    return (
        "See what else runs in the scheduler's process: threads of the driver where both "
        "share one (`LocalCluster`), preloads, `run_on_scheduler`, a dashboard that many "
        "look at. In a process of its own (`dask scheduler`), "
        f"{duration(found.cost)} of core time can be won at most."
    )


def _plugins(case: Case) -> list[str]:
    told = case.run.details("scheduler-load")
    names = {name for each in told for name in each.get("plugins") or ()}
    return sorted(str(name) for name in names)


SCHEDULER_OVERLOADED = Rule(
    slug="scheduler-overloaded",
    title="The scheduler could not keep up",
    question="Could the scheduler not keep up with handing out tasks?",
    severity="warning",
    ask=_ask,
    thresholds={
        "core_seconds": 5,
        "share": 0.25,
        "cpu": 80,
        "turn": 0.1,
        "graph_seconds": 3,
        "tasks": 200,
        "tiny": 0.02,
        "seconds_a_task": 0.005,
        "others": 0.75,
    },
    page=Page(
        detects=(
            "Workers had threads free and tasks were there, but the scheduler, which is one "
            "process, was busy: too many tasks, too many dependencies, a huge graph, a plugin "
            "or a thread beside it that takes its time."
        ),
        evidence=(
            "Samples of the scheduler's CPU (from `scheduler-overloaded.cpu` percent of a core) "
            "and of its event loop (from `scheduler-overloaded.turn` seconds for a turn, or no "
            "sample at all for seconds), the threads that idled meanwhile although tasks waited, and the time that it took to "
            "read graphs. Silent where tasks computed less than `scheduler-overloaded.tiny` "
            "seconds and took it less than `scheduler-overloaded.seconds_a_task` each, of which "
            "`tiny-tasks` tells; below `scheduler-overloaded.tasks`, "
            "`scheduler-overloaded.core_seconds` and `scheduler-overloaded.share`; and on hosts "
            "of which others have `scheduler-overloaded.others` of the cores."
        ),
        remedy="Fewer, longer tasks; fewer dependencies; nothing else in its process.",
        before="da.ones((100_000, 100_000), chunks=(100, 100)).T.sum().compute()   # 1,000,000 chunks",
        after='da.ones((100_000, 100_000), chunks="128 MiB").T.sum().compute()',
    ),
)
