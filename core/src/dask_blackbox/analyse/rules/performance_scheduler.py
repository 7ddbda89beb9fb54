"""Where the scheduler was the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.rules.performance_work import cost_of_tiny_tasks
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    EVENT_LOOP_UNRESPONSIVE,
    LARGE_GRAPH_SENT,
)
from dask_blackbox.analyse.task_activity import MANY_EDGES
from dask_blackbox.events import DriverWarning, GraphUpdated, SchedulerLoad
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    counted,
    duration,
    listed,
    quoted,
    quoted_key,
    size,
    time_argument,
)
from dask_blackbox.tables.schemas import Row

# scheduler-overloaded

_GOOD_TASK = 0.2

_RECEIVING = 0.5  # share of its busy time in which a scheduler received graphs

_USUAL = 0.002  # seconds that it takes for each task

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


@documented("scheduler-overloaded")
def SCHEDULER_OVERLOADED(case: Case) -> Iterator[Finding]:
    loads, threshold = case.loads, SCHEDULER_OVERLOADED.threshold
    if len(loads.tasks) < threshold(case, "tasks"):
        return
    others = threshold(case, "others")
    if any(host.others > others for host in case.task_activity.hosts):
        return  # no process had a core there, including the scheduler
    found = _overload(case)
    if found is None:
        return
    slow = found.a_task >= threshold(case, "seconds_a_task")
    computed = float(found.busy["compute"].sum() or 0.0)
    tiny = computed < threshold(case, "tiny") * max(found.number, 1)
    if tiny and not slow and not found.graphs:
        return  # that is why, and `tiny-tasks` reports it
    if tiny and _receives(case, found) and cost_of_tiny_tasks(case):
        return  # the same: to receive them took no longer than so many tasks take
    threads = max(1, round(loads.threads.highest))
    yield SCHEDULER_OVERLOADED.found(
        f"The scheduler was the bottleneck: {duration(found.cost)} of core time was "
        "idle while it was busy",
        cause=_cause(case, found, threads) + (_reasons(case, found) if slow else ""),
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
    gap = max(_GAP, _GAP * usual)  # it answered no request, including ours
    busy = loads.slices.filter(
        (pl.col("cpu") >= threshold(case, "cpu"))
        | (pl.col("turn") >= threshold(case, "turn"))
        | (pl.col("seconds") >= gap)
    )
    cost = float(busy["overhead"].sum() or 0.0)
    found = _Overload(cost=cost, share=loads.share(cost), busy=busy)
    graphs = case.task_activity.graphs
    idle = max(loads.all_capacity - loads.compute, 0.0)
    building = min(graphs * loads.threads.highest, idle)
    large = graphs >= _LARGE * len(loads.graphs)  # small ones wait for each other
    if large and building > cost and graphs >= threshold(case, "graph_seconds"):
        share = building / max(loads.all_capacity, 1e-9)
        found = _Overload(cost=building, share=share, busy=busy, graphs=graphs)
    worth = case.worth_reporting(found.cost, found.share, threshold(case, "share"))
    return found if worth else None


def _cause(case: Case, found: _Overload, threads: int) -> str:
    loads = case.loads
    window = max(loads.end - loads.begin, 1e-9)
    rate = found.number / max(found.seconds, 1e-9)
    return (
        f"The scheduler's process was at its limit for {duration(found.seconds)} of "
        f"{duration(window)} and assigned {rate:,.0f} tasks a second in that time; "
        f"{counted(threads, 'thread')} waited for it while tasks were ready. It "
        f"received {counted(len(loads.graphs), 'graph')} of "
        f"{counted(len(loads.tasks), 'task')} in {duration(case.task_activity.graphs)}."
    )


def _receives(case: Case, found: _Overload) -> bool:
    """Return whether graphs of many tasks, and nothing else, kept it busy for much of that time."""
    took = case.task_activity.graphs
    quick = took <= _USUAL * case.task_activity.edges[1]
    return quick and took >= _RECEIVING * found.seconds > 0


def _reasons(case: Case, found: _Overload) -> str:
    """Return what else than the number of tasks may make a scheduler slow, as far as known."""
    text = ""
    if not _receives(case, found):
        text = (
            " That is far more than the usual one or two milliseconds per task: something "
            "else keeps it busy."
        )
    edges, tasks = case.task_activity.edges
    if edges >= MANY_EDGES * max(tasks, 1):
        text += (
            f" Its tasks have {edges:,} dependencies, {edges / tasks:.0f} each, which "
            "the scheduler checks whenever a task finishes."
        )
    if plugins := _plugins(case):
        text += f" Third-party plugins on it: {quoted(plugins)}."
    return text


def _remedy(case: Case, found: _Overload, threads: int, *, slow: bool) -> str:
    tasks = len(case.loads.tasks)
    fewer = (
        f"{threads} threads stay busy if a task computes for "
        f"{duration(max(_GOOD_TASK, threads / 500))} or more (here: "
        f"{duration(case.loads.compute / max(tasks, 1))}): fuse or batch tasks, make "
        "partitions larger, and avoid graphs in which everything depends on everything. "
        "Give the scheduler its own core."
    )
    if not slow:
        return fewer
    edges, asked = case.task_activity.edges
    if edges >= MANY_EDGES * max(asked, 1):
        return (
            f"Add a step that first joins the {edges / asked:.0f} inputs into one, so "
            "that each task depends on one input: "
            f"{asked:,} edges instead of {edges:,}. " + fewer
        )
    if plugins := _plugins(case):
        return (
            f"Remove {quoted(plugins)}, or move its work to a thread: the scheduler "
            f"waits for each call of a plugin. {duration(found.cost)} of core time can "
            "be saved at most."
        )
    if _receives(case, found):
        return fewer
    return (
        "Check what else runs in the scheduler's process: the driver's threads if they "
        "share a process (`LocalCluster`), preloads, `run_on_scheduler`, a dashboard "
        "with many viewers. In its own process (`dask scheduler`), "
        f"{duration(found.cost)} of core time can be saved at most."
    )


def _plugins(case: Case) -> list[str]:
    return sorted(
        {name for each in case.run.of(SchedulerLoad) for name in each.plugins}
    )


# event-loop-blocked

# Where others have the cores, a loop is blocked for seconds with nothing wrong.
_STARVED = 20

# Our thread in the worker shows it: how often it got a core late.
_ON_TIME = 0.2

_COMPUTED = 0.6

_WAITED = 0.8


@documented("event-loop-blocked")
def EVENT_LOOP_BLOCKED(case: Case) -> Iterator[Finding]:
    blocks = _blocks(case)
    worst = EVENT_LOOP_BLOCKED.threshold(case, "seconds")
    starved = _starved(case)
    whole = max(case.loads.stopped - case.loads.started, 1e-9)
    long = [
        block
        for block in blocks
        if block["seconds"]
        >= (worst * _STARVED if starved and not _held(case, block) else worst)
    ]
    by_process: dict[tuple[str, int], float] = {}
    for block in long:
        process = (block["who"], block["pid"])
        by_process[process] = by_process.get(process, 0.0) + block["seconds"]
    lost = max(by_process.values(), default=0.0)
    if not long or lost < EVENT_LOOP_BLOCKED.threshold(case, "share") * whole:
        return
    yield _reported(case, long, Cost(amount=lost, unit="seconds", share=lost / whole))


_TTL = 300.0  # seconds after which the scheduler removes a worker, unless configured

_IN_SCHEDULER = (
    "Find what else ran in the scheduler's process then: a plugin, a preload, "
    "`run_on_scheduler`, or the driver's own code where they share a process (`LocalCluster`); "
    "a scheduler in its own process (`dask scheduler`) is not blocked by the driver."
)


def _remedy_event_loop_blocked(case: Case, long: list[Row], first: Row) -> str:
    if first["who"] == "Scheduler":
        return _IN_SCHEDULER
    first_tasks = len(long) > 1 and _in_first_tasks(case, long)
    text = (
        (_LOADS if first_tasks else "")
        + f"{'split' if first_tasks else 'Split'} that call into shorter ones, or run it in its "
        "own process (`subprocess`, a worker with a ProcessPoolExecutor), or in code that "
        "releases the GIL."
    )
    if first["seconds"] < _TTL / 2:
        return text
    return (
        f"{text} The scheduler removes a worker that is blocked for {duration(_TTL)}: if the "
        "call must take that long, raise `distributed.scheduler.worker-ttl: "
        f"{time_argument(max(2 * _TTL, 10 * first['seconds']))}`."
    )


def _reported(case: Case, long: list[Row], cost: Cost) -> Finding:
    worst = EVENT_LOOP_BLOCKED.threshold(case, "seconds")
    first = max(long, key=lambda block: block["seconds"])
    key = _executing(case, first)
    ran = (
        f" {quoted_key(key)} was running there."
        if key and first["who"] == "Worker"
        else ""
    )
    who = {(b["who"], b["pid"]) for b in long}
    roles = listed(
        [
            counted(sum(each == role for each, _ in who), role.lower())
            for role in ("Scheduler", "Worker", "Nanny")
            if any(each == role for each, _ in who)
        ]
    )
    loops = (
        f"The event loop of {roles} was"
        if len(who) == 1
        else f"The event loops of {roles} were"
    )
    return EVENT_LOOP_BLOCKED.found(
        f"A {first['who'].lower()}'s event loop was blocked for "
        f"{duration(first['seconds'])}",
        cause=(
            f"{loops} blocked {counted(len(long), 'time')} for {duration(worst)} or "
            f"more, and for {duration(cost.amount)} in total in the worst process "
            f"({cost.share or 0:.0%} of the run).{ran} One long call held "
            "the GIL, or very large data was moved. A blocked process sends no "
            "results, no data and no heartbeats."
        ),
        remedy=_remedy_event_loop_blocked(case, long, first),
        confidence="high",
        subject=Subject(
            key=key, worker=first["source"] if "://" in first["source"] else None
        ),
        cost=cost,
        evidence=tuple(
            Evidence(
                text=f"{block['source']} (pid {block['pid']}): event loop unresponsive for "
                f"{duration(block['seconds'])}",
                source="logs",
                at=block["at"],
            )
            for block in sorted(long, key=lambda block: -block["seconds"])[:5]
        ),
    )


_LOADS = (
    "Each worker was blocked once, in its first task: if that loads a library, have workers load "
    "it as they start (`--preload`, `distributed.worker.preload`). Otherwise: "
)


def _in_first_tasks(case: Case, blocks: list[Row]) -> bool:
    """Return whether each process was blocked once, and that in the first task of its worker."""
    tasks = case.loads.tasks.sort("begun")
    workers = [block["source"] for block in blocks if block["who"] == "Worker"]
    if len(workers) < len(blocks) or len({*workers}) < len(workers):
        return False
    first = {
        w: next(iter(tasks.filter(pl.col("worker") == w)["key"]), None) for w in workers
    }
    return all(_executing(case, block) == first[block["source"]] for block in blocks)


def _blocks(case: Case) -> list[Row]:
    """Return when event loops were blocked; of several roles in a process, only one."""
    lines = lines_of(case.run, EVENT_LOOP_UNRESPONSIVE)
    found: list[dict[str, object]] = []
    newest: dict[int | None, Row] = {}  # of each process; lines come by time
    for line in lines.iter_rows(named=True):
        match = EVENT_LOOP_UNRESPONSIVE.match(line["message"])
        if match is None:
            continue
        seconds = float(match[2]) / (1000 if match[3] == "ms" else 1)
        block = {
            "who": match[1], "seconds": seconds, "pid": line["pid"],
            "source": line["source"], "at": line["at"].timestamp(),
        }  # fmt: skip
        # The roles that share a process (LocalCluster) share its loop, and each complains.
        same = newest.get(line["pid"])
        if same is not None and abs(same["at"] - block["at"]) < 1:
            same["seconds"] = max(same["seconds"], seconds)
            if match[1] == "Scheduler":  # the one that matters most
                same |= {"who": match[1], "source": line["source"]}
            continue
        newest[line["pid"]] = block
        found.append(block)
    return found


def _executing(case: Case, block: Row) -> str | None:
    """Return the longest task that a worker ran while its loop was blocked."""
    begun, ended = block["at"] - block["seconds"], block["at"]
    ran = case.loads.tasks.filter(
        (pl.col("worker") == block["source"])
        & (pl.col("begun") < ended)
        & (pl.col("ended") > begun)
    ).sort("compute")
    return str(ran["key"][-1]) if len(ran) else None


def _held(case: Case, block: Row) -> bool:
    """Return whether the GIL was held: that process got its cores, but for such moments."""
    sums = case.task_activity.of_worker(block["source"])
    on_time = sums["late_wakeups"] <= _ON_TIME * sums["wakeups"]
    if not on_time and sums["cpu"] < _COMPUTED * sums["seconds"]:
        return _is_a_task(case, block)  # else it got no core, then or ever
    return bool(sums["late_seconds"] >= _WAITED * block["seconds"])


def _is_a_task(case: Case, block: Row) -> bool:
    """Return whether a loop was blocked from the beginning to the end of one task, no longer.

    A process that gets no core is late at any moment, also between tasks.
    """
    begun, ended = block["at"] - block["seconds"], block["at"]
    slack = max(_SLACK * block["seconds"], 0.1)
    ran = case.loads.tasks.filter(
        (pl.col("worker") == block["source"])
        & ((pl.col("begun") - begun).abs() < slack)
        & ((pl.col("ended") - ended).abs() < slack)
    )
    return len(ran) == 1


_SLACK = 0.02  # share of a block by which a task may be shorter or longer


def _starved(case: Case) -> bool:
    """Return whether others had taken the host's cores, as far as known: then all is blocked."""
    most = EVENT_LOOP_BLOCKED.threshold(case, "others")
    hosts = case.task_activity.hosts
    return not hosts or any(host.others > most for host in hosts)


# large-graph

_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9,
    "kiB": 2**10, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip

# So many tasks, of so few bytes each, are a graph of tasks.
_MANY = 5_000

_PER_TASK = 10_000


@documented("large-graph")
def LARGE_GRAPH(case: Case) -> Iterator[Finding]:
    sent = [each for each in map(_of, case.run.of(DriverWarning)) if each]
    total = sum(bytes_ for bytes_, _ in sent)
    if total < LARGE_GRAPH.threshold(case, "bytes"):
        return
    largest, warning = max(sent, key=lambda each: each[0])
    took = case.task_activity.graphs
    graphs = len(case.loads.graphs)
    reported = (
        f" The scheduler needed {duration(took)} to receive {counted(graphs, 'graph')}."
        if took >= 1
        else ""
    )
    grave = total >= LARGE_GRAPH.threshold(case, "grave_bytes")
    inside, remedy = _inside(case, largest, several=len(sent) > 1)
    sizes = (
        f"a graph of {size(largest)}"
        if len(sent) == 1
        else f"{len(sent):,} graphs of up to {size(largest)}"
    )
    yield LARGE_GRAPH.found(
        f"The driver sent {size(total)} of graph to the scheduler",
        cause=(
            f"The scheduler had to deserialize and keep in memory {sizes}: "
            f"{inside}.{reported} Dask warned at {warning.filename}:{warning.lineno}."
        ),
        remedy=remedy,
        confidence="high",
        severity="warning" if grave else "notice",
        cost=Cost(amount=total, unit="bytes"),
        evidence=tuple(
            Evidence(
                text=f"Sending large graph of size {size(bytes_)} "
                f"({each.filename}:{each.lineno})",
                source="driver",
                at=each.at,
            )
            for bytes_, each in sorted(sent, key=lambda pair: -pair[0])[:5]
        ),
    )


def _inside(case: Case, largest: float, *, several: bool) -> tuple[str, str]:
    """Return what makes a graph large, and what to do: data inside, or its many tasks."""
    tasks = max((graph.tasks for graph in case.run.of(GraphUpdated)), default=0)
    each = largest / max(tasks, 1)
    if tasks >= _MANY and each <= _PER_TASK:
        inside = f"{'the largest' if several else 'it'} has {tasks:,} tasks of about {size(each)} each"
        remedy = (
            f"Make chunks or partitions larger: a tenth of the tasks make a graph of "
            f"{size(largest / 10)}. Or compute in several steps, with `.persist()` between."
        )
        return inside, remedy
    inside = f"{'they contain' if several else 'it contains'} data instead of tasks"
    remedy = (
        "Load the data in tasks (`dd.read_parquet`, a function given the path), which "
        f"makes this graph of {size(largest)} one of some kilobytes. Send what only "
        "the driver has once: `future = client.scatter(data)`, and pass the future."
    )
    if not case.run.tasks["key"].str.starts_with("(").any():
        return inside, remedy  # futures: the scheduler left nothing out
    inside += f", or many more tasks than the {tasks:,} that were finally needed"
    remedy += (
        " If there is no such data, select what you need (a slice, columns) before the "
        "other steps, or make chunks larger."
    )
    return inside, remedy


def _of(warning: DriverWarning) -> tuple[float, DriverWarning] | None:
    match = LARGE_GRAPH_SENT.search(warning.message or "")
    if match is None:
        return None
    return float(match[1]) * _UNITS.get(match[2], 1), warning
