"""Data that was lost, empty or mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.differences import differences
from dask_blackbox.analyse.changes.ranking import Rarities
from dask_blackbox.analyse.death_texts import evidence_of, name_of
from dask_blackbox.analyse.facts.missing_data import (
    LOST,
    PIECE,
    MissingData,
    RefusedGraph,
    missing_data,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.facts.worker_exit import WorkerExit, without_moment
from dask_blackbox.analyse.mapped_instances import good_run_for
from dask_blackbox.analyse.offers import several_workers
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.side_effects import (
    UNIQUE_KEYS,
    reused_keys_of,
    sentence_on_reused,
)
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import KEY_HAS_TWO_TASKS
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.analyse.sketching.prefix_sketches import inputs_of, prefixes_of
from dask_blackbox.events import (
    ClusterRestarted,
    DriverClosing,
    GraphFailed,
    GraphUpdated,
    SchedulerInfo,
    WorkerAdded,
    WorkerClosing,
    WorkerRemoved,
)
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    capital,
    code_line,
    counted,
    listed,
    quoted,
    quoted_key,
    short,
    size,
    were,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED
from dask_blackbox.sketch import Sketch
from dask_blackbox.tables.schemas import Row

# data-lost


@documented("data-lost")
def DATA_LOST(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None:
        return
    match = case.search_exception(LOST)
    if not match:
        return
    losses = [death for death in case.deaths if death.lost_scattered]
    key, missing = match["key"], missing_data(case.run, match["key"])
    if losses:
        yield _lost_finding(case, key, losses)
    elif left := _removals_with_data(case, key, missing):
        yield _closed_worker_finding(case, key, left)
    elif missing is not None:
        yield _released_finding(case, key, missing)
    else:
        yield _lost_finding(case, key, losses)


def _lost_finding(case: Case, key: str, losses: list[WorkerExit]) -> Finding:
    lost = sorted({key for death in losses for key in death.lost_scattered})
    who, worker, proof = "", None, tuple[Evidence, ...]()
    if losses:
        last = losses[-1]
        worker, proof = last.address, evidence_of(case, (last,))
        died, running = "died", dict.fromkeys(map(case.prefix_of, last.executing))
        if running:
            died += f" while it was executing {quoted(running)}"
        because = case.cause_of(last).because
        who = f"{capital(name_of(case, last))} held it and {died}: {because}. "
    what = quoted(lost) if lost else quoted_key(key)
    return DATA_LOST.found(
        f"Data that could not be recomputed was lost: {what}",
        cause=(
            f"{quoted_key(key)} was requested, but its data was gone. {who}Scattered "
            "data lives on the workers that received it, and Dask cannot recompute it."
        ),
        remedy=(
            "Load the data in a task instead of scattering it, so that Dask can "
            f"recompute it. {_BROADCAST if several_workers(case) else ''}"
            f"{_and_fix(case, losses)}"
        ),
        confidence="high" if losses else "medium",
        subject=Subject(key=next(iter(lost), key), worker=worker),
        evidence=(
            *case.exception_evidence(),
            *(_held(death, name_of(case, death)) for death in losses[-3:]),
            *proof,
        ),
    )


_KEEPS_COPIES = " `client.scatter(…, broadcast=True)` keeps a copy on every worker."
_BROADCAST = "Or use `client.scatter(…, broadcast=True)`, so that losing one worker does not matter. "


def _held(lost: WorkerExit | WorkerRemoved, who: str) -> Evidence:
    text = f"{capital(who)} held {quoted(lost.lost_scattered)}."
    return Evidence(text=text, source="events", at=lost.at)


def _and_fix(case: Case, losses: list[WorkerExit]) -> str:
    """Return what else to do; the cause of the worker's death comes first."""
    slug = case.cause_of(losses[-1]).slug if losses else "unknown"
    if slug == "unknown":
        return "Keep a reference to futures that are still needed."
    return f"Also fix the cause of the worker's death: `dask blackbox rules {slug}`."


def _removals_with_data(
    case: Case, key: str, missing: MissingData | None
) -> list[WorkerRemoved]:
    """Return the removals that lost scattered data although no worker died.

    Of a task that had never been computed, no result was lost: its own inputs were.
    """
    if missing is not None and not missing.logged:
        missing = None
    gone, at = (missing.key, missing.at) if missing else (key, 0.0)
    removed = [fact for fact in case.run.of(WorkerRemoved) if fact.lost_scattered]
    exact = [fact for fact in removed if {key, gone} & {*fact.lost_scattered}]
    computed = (case.run.tasks["key"] == gone).any()
    if exact or missing is None or computed or not _may_have_been_here(case, gone):
        return exact[-1:]
    return [fact for fact in removed if fact.at <= at + CLOCKS]


def _closed_worker_finding(
    case: Case, key: str, removed: list[WorkerRemoved]
) -> Finding:
    """Return that workers were restarted, retired or closed with the only copies."""
    worker = removed[-1].subject
    lost = sorted({key for fact in removed for key in fact.lost_scattered})
    reasons = {each.subject: each.reason for each in case.run.of(WorkerClosing)}
    holders = dict.fromkeys(case.name_of(fact.subject) for fact in removed)
    reason = without_moment(reasons.get(worker) or "")
    why = f"which {were(len(holders))} closed on purpose ({short(reason, 60)})"
    return DATA_LOST.found(
        f"Data that could not be recomputed was lost: {quoted(lost)}",
        cause=(
            f"{quoted_key(key)} was requested, but the only copy of {quoted(lost)} "
            f"was on {listed(list(holders))}, {why if reason else 'which left'}. "
            "Scattered data lives on the workers that received it, and Dask cannot "
            "recompute it."
        ),
        remedy=(
            "Scatter again after workers were restarted, or load the data in a task, "
            "so that Dask can recompute it."
            + (_KEEPS_COPIES if several_workers(case) else "")
        ),
        confidence="high",
        subject=case.subject(lost[0], worker),
        evidence=(
            *case.exception_evidence(),
            *(_held(fact, case.name_of(fact.subject)) for fact in removed[-3:]),
        ),
    )


def _released_finding(case: Case, key: str, missing: MissingData) -> Finding:
    """Return that the requested data was not there, although no worker died with it."""
    gone, at = missing.key, missing.at
    if missing.refused is not None:
        text = _refused(case, missing.refused)
    elif not _may_have_been_here(case, gone):
        text = _never_computed(case, gone)
    elif (clusters := _other_cluster(case, gone)) is not None:
        text = _of_other_cluster(case, gone, *clusters)
    else:
        text = _released(case, gone, at)
    return DATA_LOST.found(
        f"{quoted_key(gone, 60)} was {text.title}",
        cause=f"{quoted_key(key)} {'' if missing.logged else 'probably '}needs "
        f"{quoted_key(gone)}, which {text.cause}",
        remedy=text.remedy,
        confidence=text.sure if missing.logged else "medium",
        subject=case.subject(gone),
        evidence=(
            _requested(case, key, missing),
            *case.exception_evidence(),
        ),
    )


def _requested(case: Case, key: str, missing: MissingData) -> Evidence:
    if not missing.logged:
        text = f"A client requested {key} after one graph had been refused."
        return Evidence(text=text, source="events", at=missing.at)
    return Evidence(
        text=f"A client requested {key} while {missing.key} was missing.",
        source="logs",
        at=missing.at,
        see=case.show_command("logs", "--role", "scheduler", "--filter", "lost data"),
    )


class _Missing(NamedTuple):
    """Why requested data was not there, in words that follow its key."""

    title: str
    cause: str
    remedy: str
    sure: Confidence


def _refused(case: Case, graph: RefusedGraph) -> _Missing:
    """Return that the graph that was to make the requested data had been refused."""
    reason = short(graph.reason, 300).rstrip(".")
    why = f": {reason}" if reason else "; its reason is not recorded"
    return _Missing(
        "needed, but the scheduler had refused its graph",
        "was never computed: the scheduler had refused the graph that was to make it"
        f"{why}. Dask cancels what depends on it.{_requested_at(case)}",
        "Find why the scheduler refused that graph: `future.exception()` of a future of it "
        "returns its exception.",
        "high",
    )


def _released(case: Case, gone: str, at: float) -> _Missing:
    several = len({each.subject for each in case.run.of(SchedulerInfo)}) > 1
    why, remedy = _why_released(case, short(case.prefix_of(gone), 40), at)
    return _Missing(
        "needed but had already been released",
        f"the scheduler no longer knew: {why}. No worker that held "
        f"scattered data died.{_requested_at(case)}",
        remedy + (_ONE_OF_SEVERAL if several else ""),
        "medium" if several else "high",
    )


_ONE_OF_SEVERAL = (
    " This run used several clusters: check that each future is passed to its own "
    "client."
)


def _other_cluster(case: Case, gone: str) -> tuple[str, str] | None:
    """Return the cluster that computed a key and the one that was asked for it, if they differ."""
    clusters = {each.subject: each.scheduler for each in case.run.of(WorkerAdded)}
    tasks = case.run.tasks
    workers = tasks.filter(tasks["key"] == gone)["worker"].to_list()
    computed = {clusters.get(worker) for worker in workers} - {None}
    asked = [each.scheduler for each in case.run.of(GraphFailed) if each.scheduler]
    if not computed or not asked or asked[-1] in computed:
        return None
    return str(next(iter(computed))), asked[-1]


def _of_other_cluster(case: Case, gone: str, computed: str, asked: str) -> _Missing:
    """Return that a future was passed to the client of a cluster that does not have it."""
    return _Missing(
        "passed to another cluster than the one that computed it",
        f"the cluster at {computed} had computed; it was submitted to the cluster at "
        f"{asked}, which does not know that key and cancelled the task."
        f"{_requested_at(case)}",
        f"Submit tasks that need '{short(case.prefix_of(gone), 40)}' with the client that "
        "created its future, pass the result (`future.result()`), or write the result to "
        "storage for the other cluster.",
        "high",
    )


def _requested_at(case: Case) -> str:
    """Return a sentence on where the driver asked for what was gone, if that is known."""
    place = code_line(case.exception, " It was requested at ")
    return f"{place} in {case.exception.function}." if case.exception and place else ""


def _why_released(case: Case, prefix: str, at: float) -> tuple[str, str]:
    """Return what had released a result that was asked for later, and what helps against that.

    A reference to its future helps only where the last one had gone.
    """
    if any(each.at <= at + CLOCKS for each in case.run.of(ClusterRestarted)):
        return (
            "`client.restart()` had dropped all results before, persisted ones included",
            (
                f"Fetch what is still needed of '{prefix}' before `client.restart()`, or write it "
                "to storage; or submit it again after that call. Its futures are of no use then, "
                "kept or not."
            ),
        )
    closed = [
        each
        for each in case.run.of(DriverClosing)
        if each.what.startswith("Client")
        and each.file
        and each.at <= at + CLOCKS
        # What a driver closes while it handles an exception is a consequence of it.
        and not each.handling
    ]
    if closed:
        return (
            (
                "a client that had requested it had been closed at "
                f"{code_line(closed[-1])}, which released its futures"
            ),
            (
                f"Keep that client open until the tasks that need '{prefix}' are done, and submit "
                "them with it; or pass on the result (`future.result()`) instead of the future."
            ),
        )
    return (
        "its last future had been released (deleted, out of scope, cancelled)",
        (
            f"Keep a reference to the future of '{prefix}' for as long as other tasks need it, "
            "and pass futures as arguments instead of their keys. Or compute the dependent tasks "
            "in one graph."
        ),
    )


def _may_have_been_here(case: Case, key: str) -> bool:
    """Return whether a key may have been on this cluster; of scattered data it is unknown."""
    if not bounded(PIECE).fullmatch(key):
        return True
    prefix = case.prefix_of(key)
    graphs = case.run.of(GraphUpdated)
    return any(prefix in graph.prefixes for graph in graphs) or bool(
        (case.run.tasks["prefix"] == prefix).any()
    )


def _never_computed(case: Case, gone: str) -> _Missing:
    """Return that a partition was required that no task had computed."""
    return _Missing(
        "needed, but was never computed on this cluster",
        "the scheduler does not know: no graph of this run had tasks of "
        f"'{short(case.prefix_of(gone), 40)}'. The collection was persisted by another "
        "client, in another session, or under another name, and the graph refers to it as "
        "if it were computed.",
        "Compute with the client that persisted the collection; let others read the data "
        "from files or a table instead of a shared collection.",
        "medium",
    )


# silent-empty-input

_READS = r"(?i)^(?:read|from)[-_]|readparquet|readcsv|fused-?io"

_LITTLE = 10_000  # bytes of a few empty tables

_SOME = 4  # tasks

_RARE = 0.5  # of the runs without such a change

_LONG = 0.05  # seconds of a task that show what it read


@documented("silent-empty-input")
def SILENT_EMPTY_INPUT(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded":
        return
    nothing = _without_a_file(case)
    if nothing is not None:
        yield _empty_input_finding(nothing)
        return
    graphs = case.run.of(GraphUpdated)
    if any(graph.tasks for graph in graphs) or len(case.run.tasks):
        yield from _less_than_ever(case)
    elif case.run.of(WorkerAdded):
        yield from _without_a_task(case)


def _without_a_file(case: Case) -> Row | None:
    """Return a task that is called reading and had nothing to read, if all were such."""
    graphs = case.run.of(GraphUpdated)
    empty = {name for graph in graphs for name in graph.empty_inputs}
    reads = case.run.tasks.filter(pl.col("prefix").str.contains(_READS) & FINISHED)
    if not empty or not set(reads["prefix"].to_list()) <= empty or not len(reads):
        return None
    return reads.row(0, named=True)


def _empty_input_finding(row: Row) -> Finding:
    key, prefix = row["key"], row["prefix"]
    return SILENT_EMPTY_INPUT.found(
        f"'{short(prefix, 40)}' read nothing, and the run succeeded",
        cause=(
            f"The graph reads an empty table without columns ("
            f"{quoted_key(key, 60)}): a path pattern that matches no file gives such a "
            "table instead of an error. Everything computed from it is empty."
        ),
        remedy=(
            "Check the path (date, bucket, spelling) and whether the files had "
            "arrived. Make the run fail next time: `if not ddf.columns.size: raise "
            "FileNotFoundError(path)`, or list the files first."
        ),
        confidence="medium",
        subject=Subject(key=key, prefix=prefix, worker=row["worker"]),
        evidence=(
            Evidence(
                text=f"{key} reads no file; it returned a {row['typename']} of "
                f"{row['nbytes'] or 0:,} bytes.",
                source="tasks",
                at=row["stop"].timestamp(),
            ),
        ),
    )


def _without_a_task(case: Case) -> Iterator[Finding]:
    """Yield that nothing was computed, by a job that always has computed."""
    tasks = [sum(p.planned for p in good.prefixes) for good in case.history.good]
    if len(tasks) < SILENT_EMPTY_INPUT.thresholds["good_runs"] or min(tasks) < _SOME:
        return
    if _parameters_changed(case):
        return
    yield SILENT_EMPTY_INPUT.found(
        f"The run sent no task to the cluster; earlier runs sent at least {min(tasks)}",
        cause=(
            "The run succeeded with workers but sent them no tasks. "
            f"{counted(len(tasks), 'good run')} of this job sent at least "
            f"{counted(min(tasks), 'task')} each: if tasks are created per file or "
            "row, none was found."
        ),
        remedy=(
            "Check whether the input had arrived when the run began, and whether its "
            "path has the date of this run. Make the run fail when it finds no input."
        ),
        confidence="medium",
        evidence=(
            Evidence(
                text="No graph reached the scheduler; earlier good runs sent at least "
                f"{counted(min(tasks), 'task')}.",
                source="events",
            ),
        ),
    )


def _less_than_ever(case: Case) -> Iterator[Finding]:
    """Yield that next to nothing was read, by a job that always reads much."""
    usual = _least_read(case.history.good)
    if usual is None:
        return
    now = inputs_of(prefixes_of(case.run))
    share = SILENT_EMPTY_INPUT.threshold(case, "share_of_usual")
    if now.nbytes is None or now.nbytes > min(
        share * usual, _LITTLE * (now.partitions or 1)
    ):
        return
    if _parameters_changed(case) or _read_as_long(case):
        return
    yield SILENT_EMPTY_INPUT.found(
        f"Only {size(now.nbytes)} was read; earlier runs read at least {size(usual)}",
        cause=(
            f"The read tasks returned {size(now.nbytes)} in "
            f"{counted(now.partitions or 0, 'piece')}. Good runs of this job read at "
            f"least {size(usual)}. The run succeeded on this small input."
        ),
        remedy=(
            "Check whether the input had arrived when the run began, and whether its "
            "path and filters have the date of this run; then rerun it."
        ),
        confidence="medium",
        evidence=(
            Evidence(
                text=f"{size(now.nbytes)} now; {counted(len(case.history.good), 'good run')} "
                f"before, at least {size(usual)} each.",
                source="tasks",
            ),
        ),
    )


def _parameters_changed(case: Case) -> bool:
    """Return whether parameters, or the code that reads, are others than in the last good run.

    What is read and what is kept of it may be one task: then less is what was asked for.
    """
    sketch = sketch_of(case)
    good = good_run_for(case.history, sketch)
    if good is None:
        return False
    readers = {f"prefix {each.name}" for each in sketch.prefixes if each.roots}
    asked = [
        each
        for each in differences(good, sketch)
        if each.kind == "parameters" or (each.kind == "code" and each.what in readers)
    ]
    # A seed or a run's number is another one every night, and asks for nothing.
    rarities = Rarities(case.history.sketches if asked else ())
    return any((rarities.of(each) or 0.0) >= _RARE for each in asked)


def _read_as_long(case: Case) -> bool:
    """Return whether the tasks that read took as long as in the good runs: they had input."""
    now = {each.name: each for each in sketch_of(case).prefixes if each.roots}
    for name, each in now.items():
        before = [
            known.compute / known.tasks
            for good in case.history.good
            for known in good.prefixes
            if known.name == name and known.tasks
        ]
        if before and each.tasks and median(before) >= _LONG:
            return each.compute / each.tasks >= median(before) / 2
    return False


def _least_read(good: tuple[Sketch, ...]) -> int | None:
    """Return the least that a good run read; None if that is little, or not known."""
    read = [each.inputs.nbytes for each in good if each.inputs.nbytes]
    enough = SILENT_EMPTY_INPUT.thresholds["good_runs"]
    if len(read) < enough:
        return None
    least = min(read)
    return least if least >= 2**20 else None


@documented("key-collision")
def KEY_COLLISION(case: Case) -> Iterator[Finding]:
    lines = lines_of(case.run, KEY_HAS_TWO_TASKS, by=["scheduler"])
    keys, evidence = list[str](), list[Evidence]()
    for row in lines.iter_rows(named=True):
        if found := KEY_HAS_TWO_TASKS.search(row["message"]):
            keys.append(found["key"].strip("'\""))
            shows = ("--filter", "Detected different")
            evidence.append(case.line_evidence(row, *shows, longest=400))
    for reused in reused_keys_of(case.run):
        keys.append(reused.key)
        text = f"driver: {sentence_on_reused(reused)}"
        evidence.append(Evidence(text=text, source="driver", at=reused.at))
    if keys:
        yield _same_keys(case, list(dict.fromkeys(keys)), evidence)


def _same_keys(case: Case, keys: list[str], evidence: list[Evidence]) -> Finding:
    wrong = "Tasks that depend on the key may have used the older task's result"
    if case.state == "succeeded":
        wrong = (
            "The run succeeded, but its result contains the older task's result wherever "
            "the newer one was intended"
        )
    return KEY_COLLISION.found(
        f"Different tasks had the same key: {quoted(keys)}",
        cause=(
            f"{counted(len(keys), 'key')} {were(len(keys))} given to another task while "
            f"the result of the first was still held: {quoted(keys)}. Dask keeps the "
            f"first task and ignores the second. {wrong}."
        ),
        remedy=f"{UNIQUE_KEYS} Then recompute this run's result.",
        confidence="high",
        subject=case.subject(keys[0]),
        evidence=tuple(evidence[:3]),
    )
