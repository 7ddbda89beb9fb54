"""Where core time went: too little, too much or uneven work."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator

import polars as pl

from dask_blackbox.analyse.case import Case, subject_of
from dask_blackbox.analyse.core_seconds import (
    Curve,
    computed_by_prefix,
    evidence_of_prefixes,
)
from dask_blackbox.analyse.facts.worker_exit_sources import limits_at_once
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.task_activity import MANY_EDGES
from dask_blackbox.events import GraphUpdated, SchedulerLoad, TaskTimedOut
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import counted, duration, quoted_key, short, size, were
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED
from dask_blackbox.tables.schemas import Row

# tiny-tasks

_GOOD_TASK = 0.2  # seconds: what handing it out costs is a hundredth of it

_ASSIGNED = 0.002  # seconds of each thread, on a host that is free


@documented("tiny-tasks")
def TINY_TASKS(case: Case) -> Iterator[Finding]:
    loads = case.loads
    tiny = TINY_TASKS.threshold(case, "seconds_a_task")
    number = int(loads.total("number"))
    cost = cost_of_tiny_tasks(case)
    if not cost:
        return
    share = loads.share(cost)
    by_prefix = (
        computed_by_prefix(loads)
        .filter(pl.col("compute") < tiny * pl.col("number"))
        .sort("number", descending=True)
    )
    if not len(by_prefix):
        return
    first = by_prefix.row(0, named=True)
    name, mean = short(str(first["prefix"]), 40), first["compute"] / first["number"]
    batch = max(2, round(_GOOD_TASK / max(mean, 1e-4)))
    threads = max(1, round(loads.threads.highest))
    batch = max(2, min(batch, math.ceil(first["number"] / (4 * threads))))
    yield TINY_TASKS.found(
        f"{first['number']:,} tasks of '{name}' computed for {duration(mean)} each, "
        f"and scheduling them left {duration(cost)} of core time idle",
        cause=(
            f"{counted(number, 'task')} computed {duration(loads.compute)} in total, "
            f"{duration(loads.compute / number)} each; those of '{name}' "
            f"{duration(mean)}. Scheduling and sending a task takes about a "
            "millisecond, whatever the task does."
            f" While tasks waited, threads were idle for "
            f"{duration(cost)}, {share:.0%} of the available core time." + _asked(case)
        ),
        remedy=(
            f"{_join(case)}Batch about {batch:,} tasks of '{name}' into one (of "
            f"{duration(batch * mean)} each): {math.ceil(first['number'] / batch):,} "
            f"tasks instead of {first['number']:,}. For frames and arrays, use larger "
            "partitions and chunks: about 100 MiB each. For futures, submit a function "
            "that takes a list."
        ),
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=share),
        evidence=evidence_of_prefixes(by_prefix),
    )


def cost_of_tiny_tasks(case: Case) -> float:
    """Return the core-seconds that idled because tasks are tiny; 0: not worth reporting."""
    loads, threshold = case.loads, TINY_TASKS.threshold
    if int(loads.total("number")) < threshold(case, "tasks"):
        return 0.0
    crowded = pl.col("compute") < threshold(case, "seconds_a_task") * pl.col("number")
    cost = loads.total("overhead", crowded)
    others = threshold(case, "others")
    if any(host.others > others for host in case.task_activity.hosts):
        # Threads waited for a core then, too, and so did the scheduler.
        number_then = loads.total("number", crowded)
        cost = min(cost, _ASSIGNED * number_then * loads.threads.highest)
    worth = case.worth_reporting(cost, loads.share(cost), threshold(case, "share"))
    return cost if worth else 0.0


def _many(case: Case) -> bool:
    edges, tasks = case.task_activity.edges
    return edges >= MANY_EDGES * max(tasks, 1)


def _asked(case: Case) -> str:
    """Return that tasks have very many inputs, if they do: that is handed out, too."""
    edges, tasks = case.task_activity.edges
    if not _many(case):
        return ""
    return (
        f" They have {edges:,} dependencies, {edges / tasks:.0f} each, which are sent "
        "with them."
    )


def _join(case: Case) -> str:
    if not _many(case):
        return ""
    return "Join their common inputs in an intermediate task, so that each depends on one result. "


# straggler

_LOOKED_AT = 200

_ON_BUSY_HOSTS = 2.0

_LONGER = 2.0

_OVERLAP, _LITTLE = 0.5, 0.1  # seconds; share of a step's own time


@documented("straggler")
def STRAGGLER(case: Case) -> Iterator[Finding]:
    # Where others keep a host busy, any task may take long: it waits for a core.
    noise = _ON_BUSY_HOSTS if case.task_activity.busy else 1.0
    found = _found(case, _long_tasks(case), _reported, noise)
    found = found or _found(case, _alone(case), _reported_alone, 1.0)
    if found is not None:
        yield found


def _found(
    case: Case, long: pl.DataFrame, reported: Callable[..., Finding], noise: float
) -> Finding | None:
    """Return the finding on some tasks, if what idled beside them is worth one."""
    if not len(long):
        return None
    loads = case.loads
    spans = list(long.select("begun", "ended").iter_rows())
    idle = _idle_during(case, spans)
    rows = [
        row | {"idle": i}
        for row, i in zip(long.iter_rows(named=True), idle, strict=True)
    ]
    rows.sort(key=lambda row: -row["idle"])
    first = rows[0]
    cost = sum(_idle_during(case, _united(spans)))
    share = loads.share(cost)
    least = STRAGGLER.threshold(case, "share")
    if not case.worth_reporting(cost / noise, share, least):
        return None
    same = [row for row in rows if row["idle"] > first["idle"] / 2]
    return reported(case, first, same, Cost(amount=cost, share=share))


def _reported_alone(case: Case, first: Row, same: list[Row], cost: Cost) -> Finding:
    loads, name = case.loads, short(first["prefix"], 40)
    threads = max(1, round(loads.threads.highest))
    window = max(loads.end - loads.begin, 1e-9)
    return STRAGGLER.found(
        f"A task of '{name}' ran alone for {duration(first['alone'])} of "
        f"{duration(window)}, while {threads - 1} of {threads} threads had no task",
        cause=(
            f"{quoted_key(first['key'])} on {case.name_of(first['worker'])} computed "
            f"for {duration(first['compute'])}, {duration(first['alone'])} of it while "
            "no other task ran. Meanwhile, threads without a task were idle for "
            f"{duration(cost.amount)}, {cost.share or 0:.0%} of the core time."
        ),
        remedy=(
            f"Split the work of '{name}' into pieces that run in parallel (more "
            "partitions, `split_out=…`, a tree of smaller reductions), or submit "
            "independent work before it finishes. If it cannot be split, fewer threads "
            f"would finish in the same time.{_of_compressed_files(first['key'])}"
        ),
        confidence="high",
        subject=subject_of(first),
        cost=cost,
        evidence=_evidence(same),
    )


_READS_TEXT = bounded(r"file_to_blocks|read[-_]?(?:text|csv|json|block)")


def _of_compressed_files(key: str) -> str:
    """Return a sentence on files that a task cannot read in parts, if it reads text."""
    if _READS_TEXT.search(key) is None:
        return ""
    return (
        " If it reads one compressed file (`.gz`, `.zip`): that is one piece, whatever "
        "`blocksize=` it is read with. Store it as several files, uncompressed or as Parquet."
    )


def _evidence(rows: list[Row]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            text=f"{short(row['key'], 80)} on {row['worker']}: "
            f"{duration(row['compute'])}, {duration(row['idle'])} of core time idle",
            source="tasks",
            at=row["begun"],
        )
        for row in rows[:5]
    )


def _alone(case: Case) -> pl.DataFrame:
    """Return the task that ran longest while no other did, if that was most of the run.

    One that took no longer than its like is what is left over of a division: three tasks
    on two threads.  Column `alone`: for how many seconds.
    """
    loads = case.loads
    one = loads.running.steps.with_columns(until=pl.col("at").shift(-1)).filter(
        pl.col("level").is_between(0.5, 1.5) & pl.col("until").is_not_null()
    )
    share = STRAGGLER.threshold(case, "alone") * (loads.end - loads.begin)
    least = max(share, STRAGGLER.threshold(case, "seconds"))
    # None was alone for longer than it took.
    long = _within_limits(case).filter(pl.col("ended") - pl.col("begun") >= least)
    if not len(long):
        return long
    like = loads.tasks.group_by("prefix", maintain_order=True).agg(
        like=pl.col("compute").median(), number=pl.len()
    )
    longer = (pl.col("number") == 1) | (pl.col("compute") >= _LONGER * pl.col("like"))
    long = long.join(like, on="prefix", maintain_order="left").filter(longer)
    long = long.filter(~_is_last_step(case, long))
    single = Curve.of_spans(one["at"], one["until"])
    for each in ("begun", "ended"):
        long = long.sort(each, maintain_order=True)
        long = long.with_columns(single.area(long[each]).alias(f"single {each}"))
    return (
        long.with_columns(alone=pl.col("single ended") - pl.col("single begun"))
        .filter(pl.col("alone") >= least)
        .sort("alone", descending=True)
        .head(1)
    )


def _is_last_step(case: Case, tasks: pl.DataFrame) -> pl.Series:
    """Return which tasks took the results of all others, which had ended: a reduction's end.

    Nothing could run beside such a task, and only what hands its result on runs after it.
    """
    others = case.loads.tasks.select("begun", "ended", "compute")
    graphs = case.run.of(GraphUpdated)
    with_inputs = {name for g in graphs for name, of in g.inputs.items() if of}
    found = []
    for prefix, begun, ended in tasks.select("prefix", "begun", "ended").iter_rows():
        later = others.filter(pl.col("ended") > begun + _OVERLAP)
        after = later.filter(pl.col("begun") >= ended)
        alone = len(later) - len(after) <= 1  # itself
        rest = float(after["compute"].sum() or 0.0)
        little = rest <= _LITTLE * (ended - begun)
        found.append(prefix in with_inputs and alone and little)
    return pl.Series(found, dtype=pl.Boolean)


def _reported(case: Case, first: Row, same: list[Row], cost: Cost) -> Finding:
    name, times = (
        short(first["prefix"], 40),
        first["compute"] / max(first["median"], 1e-6),
    )
    larger = (first["nbytes"] or 0) / max(first["usual"] or 0, 1)
    weight = (
        f" Its result had {size(first['nbytes'])}, {larger:.0f} times as much."
        if larger >= 2  # noqa: PLR2004
        else ""
    )
    slow = _slow_worker(case, first["worker"], first["prefix"])
    pieces = max(2, math.ceil(first["compute"] / max(2 * first["median"], 1e-3)))
    return STRAGGLER.found(
        f"A task of '{name}' took {duration(first['compute'])}, {times:.0f} times as "
        "long as similar tasks, and "
        f"{duration(cost.amount)} of core time waited for it",
        cause=(
            f"{quoted_key(first['key'])} on {case.name_of(first['worker'])} computed "
            f"for {duration(first['compute'])}; half of the {first['number']:,} tasks "
            f"of '{name}' took {duration(first['median'])} or less.{weight}{slow} "
            "While such tasks ran, threads without a task were idle for "
            f"{duration(cost.amount)}, {cost.share or 0:.0%} of the available core "
            "time."
        ),
        remedy=(
            f"Look at the host of {case.name_of(first['worker'])}: it is slower than the "
            "others, or busy with something else; a worker on another host avoids the wait."
            if slow
            else (
                f"Split its input into about {min(pieces, 1000):,} pieces: repartition "
                f"by size (`repartition(partition_size=…)`), add a random part to a key that "
                f"too many rows share, or submit the longest tasks first."
            )
        ),
        confidence="high",
        subject=subject_of(first),
        cost=cost,
        evidence=_evidence(same),
    )


def _long_tasks(case: Case) -> pl.DataFrame:
    """Return the executions that took far longer than their prefix's median."""
    tasks = _within_limits(case).filter(FINISHED)
    bar = pl.col("compute") >= STRAGGLER.threshold(case, "seconds")
    # Most runs have few tasks that are long at all: only their prefixes are looked at.
    prefixes = tasks.filter(bar)["prefix"].unique()
    tasks = tasks.filter(pl.col("prefix").is_in(prefixes.implode()))
    usual = tasks.group_by("prefix", maintain_order=True).agg(
        number=pl.len(),
        median=pl.col("compute").median(),
        usual=pl.col("nbytes").median(),
    )
    factor = STRAGGLER.threshold(case, "times")
    begun = tasks.group_by("worker", "prefix", maintain_order=True).agg(
        begins=pl.col("begun").min()
    )
    long = (
        tasks.filter(bar)
        .join(usual, on="prefix", maintain_order="left")
        .filter(
            (pl.col("number") >= STRAGGLER.threshold(case, "siblings"))
            & (pl.col("compute") >= factor * pl.col("median"))
        )
        .join(begun, on=["worker", "prefix"], nulls_equal=True, maintain_order="left")
        .with_columns(first=pl.col("begun") <= pl.col("begins"))
    )
    # Where a worker's first task of a kind is long on most workers, it is what comes once:
    # imports, a model that is loaded, code that is compiled.
    everywhere = tasks.group_by("prefix", maintain_order=True).agg(
        everywhere=pl.col("worker").n_unique()
    )
    once = (
        long.filter("first")
        .group_by("prefix", maintain_order=True)
        .agg(warm=pl.col("worker").n_unique())
        .join(everywhere, on="prefix")
        .filter((pl.col("warm") > 1) & (pl.col("warm") * 2 >= pl.col("everywhere")))
    )
    return (
        long.filter(
            ~(pl.col("first") & pl.col("prefix").is_in(once["prefix"].to_list()))
        )
        .sort("compute", descending=True)
        .head(_LOOKED_AT)
    )


def _over_limits(case: Case) -> list[str]:
    """Return the tasks that their host ended at a limit of their own.

    To Dask they finished; how long they took is what the finding on the limit says.
    """
    return [each.subject for each in case.run.of(TaskTimedOut)]


def _within_limits(case: Case) -> pl.DataFrame:
    """Return the executions of all other tasks, as far as they ended by themselves."""
    return case.loads.tasks.filter(~pl.col("key").is_in(_over_limits(case)))


def _idle_during(case: Case, spans: list[tuple[float, float]]) -> list[float]:
    """Return how many thread-seconds had no task in each of some spans of time."""
    lacking = case.loads.lacking.steps
    at, area = lacking["at"].to_list(), lacking["area"].to_list()
    level = lacking["level"].to_list()

    def until(moment: float) -> float:
        n = bisect_right(at, moment) - 1
        return 0.0 if n < 0 else float(area[n] + level[n] * (moment - at[n]))

    return [until(end) - until(begun) for begun, end in spans]


def _united(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the same times, none of them twice."""
    united: list[tuple[float, float]] = []
    for begun, end in sorted(spans):
        if united and begun <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((begun, end))
    return united


def _slow_worker(case: Case, worker: str, prefix: str) -> str:
    """Return whether the worker was slow with all that it did, not with that task only."""
    typical = (
        case.loads.tasks.filter(pl.col("prefix") == prefix)
        .group_by("worker", maintain_order=True)
        .agg(median=pl.col("compute").median(), number=pl.len())
        .filter(pl.col("number") >= 3)  # noqa: PLR2004
    )
    own = typical.filter(pl.col("worker") == worker)["median"]
    others = typical.filter(pl.col("worker") != worker)["median"]
    if not len(own) or not len(others):
        return ""
    ratio = float(own[0]) / max(float(others.median() or 0.0), 1e-6)  # type: ignore[arg-type]
    if ratio < 2:  # noqa: PLR2004
        return ""
    return f" That worker took {ratio:.1f} times as long as others for all such tasks."


@documented("workers-idle")
def WORKERS_IDLE(case: Case) -> Iterator[Finding]:
    loads = case.loads
    cost = loads.total("lack")
    share = loads.share(cost)
    if not case.worth_reporting(cost, share, WORKERS_IDLE.threshold(case, "share")):
        return
    if loads.total("overhead") > loads.total("busy"):
        # Tasks were there for longer than any are known to have computed: they were
        # cancelled while they ran, or never ended.
        return
    computed = float(loads.executions["compute"].sum())
    over_limit = loads.executions.filter(pl.col("key").is_in(_over_limits(case)))
    if float(over_limit["compute"].sum()) > computed / 2:
        return  # most of it was time of tasks that their host ended for taking so long
    window = max(loads.end - loads.begin, 1e-9)
    average = computed / window
    threads = max(1, round(loads.threads.highest))
    enough = max(1, math.ceil(average * 1.25))
    prefixes = computed_by_prefix(loads).sort("compute", descending=True)
    first = prefixes.row(0, named=True)
    name = short(str(first["prefix"]), 40)
    unused = case.run.workers.filter(
        ~pl.col("address").is_in(loads.tasks["worker"].drop_nulls().unique().to_list())
    )["address"].n_unique()
    yield WORKERS_IDLE.found(
        f"On average {average:.1f} of {counted(threads, 'thread')} computed: {share:.0%} "
        "of the core time was idle",
        cause=(
            f"From the first task to the last, {duration(window)}, {average:.1f} of "
            f"{counted(threads, 'thread')} computed on average; there were no tasks "
            f"for the others: {duration(cost)} of core time, {share:.0%}. Most of the "
            f"computing was {counted(first['number'], 'task')} of '{name}' "
            f"({duration(first['compute'])})."
            + (
                f" {counted(unused, 'worker')} never computed anything."
                if unused
                else ""
            )
        ),
        remedy=_remedy_workers_idle(case, first, threads)
        + (
            f" If that is impossible, {counted(enough, 'thread')} would finish it in the same "
            "time."
            if enough < threads
            else ""
        ),
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=share),
        evidence=evidence_of_prefixes(prefixes),
    )


def _remedy_workers_idle(case: Case, first: Row, threads: int) -> str:
    """Return what would give all threads work: more pieces only where there were few."""
    prefix = str(first["prefix"])
    name, wanted = short(prefix, 40), 2 * threads
    if first["number"] < wanted:
        return (
            f"Split the work into more pieces: '{name}' into {wanted:,} or more (partitions, "
            "chunks, inputs), twice the number of threads, and don't make each step wait for "
            "the previous one."
        )
    own = case.loads.executions.filter(pl.col("prefix") == prefix).sort("compute")
    longest = own.row(-1, named=True)
    if longest["compute"] >= first["compute"] / 2:
        return (
            f"{quoted_key(longest['key'], 60)} alone computed for "
            f"{duration(longest['compute'])}: find what is different about its input, and split "
            f"that piece. More pieces of the others do not help."
        )
    return (
        f"There were {first['number']:,} tasks of '{name}', enough for {counted(threads, 'thread')}, "
        "but not at the same time: submit them together, and don't make each step, or the "
        "driver, wait for the previous one."
    )


# recomputed-work

_FITS = 0.5


@documented("recomputed-work")
def RECOMPUTED_WORK(case: Case) -> Iterator[Finding]:
    again = _again(case)
    cost = float(again["lost"].sum() or 0.0)
    whole = case.loads.compute
    least = RECOMPUTED_WORK.threshold(case, "share")
    if not whole or not case.worth_reporting(cost, cost / whole, least):
        return
    by_prefix = (
        again.group_by("prefix", maintain_order=True)
        .agg(
            keys=pl.len(),
            times=pl.col("times").max(),
            lost=pl.col("lost").sum(),
            nbytes=pl.col("nbytes").sum(),
        )
        .sort("lost", descending=True)
    )
    first = by_prefix.row(0, named=True)
    name, held = short(str(first["prefix"]), 40), int(first["nbytes"] or 0)
    lost_workers = len(case.deaths)
    limits = sum(each.memory_limit or 0 for each in limits_at_once(case.run))
    if lost_workers:
        why = (
            f"{counted(lost_workers, 'worker')} died with results that were still "
            "needed."
        )
        remedy = (
            "The other findings say why workers died. Until that is fixed, write "
            f"expensive results to storage: '{name}' returned {size(held)} in total."
        )
    else:
        why = (
            "No worker died: their results were released after each computation, and "
            "the next one requested the same keys."
        )
        remedy = _keep(name, held, limits)
    yield RECOMPUTED_WORK.found(
        f"{duration(cost)} of compute time was spent on repeated work, most of it by '{name}'",
        cause=(
            f"{counted(len(again), 'task')} {were(len(again))} computed again, '{name}' "
            f"up to {first['times']} times: {duration(cost)} of {duration(whole)} "
            f"({cost / whole:.0%}) was wasted. {why}"
        ),
        remedy=remedy,
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"'{short(str(row['prefix']), 60)}': {counted(row['keys'], 'task')}, up "
                f"to {row['times']} times, {duration(row['lost'])} wasted",
                source="tasks",
            )
            for row in by_prefix.head(5).iter_rows(named=True)
        ),
    )


def _again(case: Case) -> pl.DataFrame:
    """Return the keys that were computed more than once: `times`, `lost`, `nbytes`."""
    return (
        case.run.tasks.filter(FINISHED)
        # Numbers are compared sooner than keys, and most keys are there once.
        .filter(pl.col("key").hash().is_duplicated())
        .group_by("key", "prefix", maintain_order=True)
        .agg(
            times=pl.len(),
            # What the last execution took had to be, whenever it was done.
            lost=pl.col("compute").sum() - pl.col("compute").last(),
            nbytes=pl.col("nbytes").last(),
        )
        .filter(pl.col("times") > 1)
    )


def _keep(name: str, held: int, memory: int) -> str:
    if memory and held > _FITS * memory:
        return (
            f"Ask for everything at once, `dask.compute(a, b, c)`, so that '{name}' is "
            f"computed once for all of them; its results ({size(held)}) are too large "
            f"to be kept during other work in {size(memory)}."
        )
    return (
        f"Keep the results of '{name}' with `.persist()`: {size(held)} in total"
        + (f", of {size(memory)} that the workers have" if memory else "")
        + "; or ask for everything at once, `dask.compute(a, b, c)`."
    )


# stealing-churn

# Seconds of the scheduler, the victim and the thief for a request, measured.
_A_REQUEST = 0.001

_ONCE = 1.0


@documented("stealing-churn")
def STEALING_CHURN(case: Case) -> Iterator[Finding]:
    samples = case.run.of(SchedulerLoad)
    if len(samples) < 2:  # noqa: PLR2004
        return
    first, last = samples[0], samples[-1]
    requests = (last.steal_requests or 0) - (first.steal_requests or 0)
    tasks = len(case.loads.tasks)
    if requests < STEALING_CHURN.threshold(case, "requests"):
        return
    often = STEALING_CHURN.threshold(case, "a_task")
    if _workers_joined_late(case):
        often = max(often, _ONCE)  # that is what stealing is for
    if requests < often * tasks:
        return
    transfer = float(case.loads.tasks["transfer"].sum() or 0.0)
    # As many of the transfers as of the tasks were for stealing.
    stolen = requests if last.stolen is None else last.stolen
    moving = transfer * min(stolen / max(tasks, 1), 1.0)
    cost = requests * _A_REQUEST + min(moving, case.loads.total("overhead"))
    share = case.loads.share(cost)
    if share < STEALING_CHURN.threshold(case, "share"):
        return
    mean = case.loads.compute / max(tasks, 1)
    yield STEALING_CHURN.found(
        f"{requests:,} attempts to move {counted(tasks, 'task')} from worker to worker",
        cause=(
            f"The scheduler asked workers {requests:,} times to hand a task to another "
            f"worker, {requests / max(tasks, 1):.1f} times for each of "
            f"{counted(tasks, 'task')}, and {stolen:,} were moved. A task takes "
            f"{duration(mean)} on average. Each request contacts the worker and moves "
            f"the task's inputs: transfers took {duration(transfer)}, about "
            f"{duration(moving)} of it for moved tasks. This happens when the inputs of "
            "many short tasks are on few workers, and more so when Dask misjudges "
            "their duration (half a second for each new name) or the size of their "
            "inputs."
        ),
        remedy=(
            "Put the inputs where the tasks will run before you submit the tasks: "
            "create them on all workers (no `workers=`), or call `client.rebalance()`. "
            "For an input that all tasks need, use `client.replicate` or "
            "`client.scatter(…, broadcast=True)`. Batch tasks that take less than "
            f"{duration(0.1)}. At most {duration(cost)} of core time can be saved. "
            "Without stealing (`distributed.scheduler.work-stealing` is false) tasks "
            "stay with their data, which is even slower if all data is on one worker."
        ),
        confidence="medium",
        cost=Cost(amount=cost, share=share),
        evidence=(
            Evidence(
                text=f"{requests:,} requests to steal, {stolen:,} granted",
                source="events",
            ),
            Evidence(
                text=f"{counted(tasks, 'task')}, {duration(transfer)} of transfers",
                source="tasks",
            ),
        ),
    )


def _workers_joined_late(case: Case) -> bool:
    """Return whether workers came while tasks were there already."""
    begun = case.loads.begin
    joined = case.run.workers["joined"].drop_nulls().dt.epoch("us") / 1e6
    return bool((joined > begun).any())
