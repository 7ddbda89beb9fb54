"""How long a run would have taken with fewer or more workers: its executions, run again.

Each execution keeps the time that it took, waits for the input that it waited for, and gets
the first thread that is free.  A graph that the driver sent when nothing was left to do is
sent when as much has been done; one that it sent right after an execution follows that.
The model is trusted as far as it gives the recorded duration with the recorded workers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from statistics import median
from typing import NamedTuple

import msgspec
import polars as pl

from dask_blackbox.analyse.core_seconds import Loads
from dask_blackbox.analyse.facts.critical_path import NO_INPUT, last_inputs_of
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import threads_of, worker_exits_of
from dask_blackbox.analyse.run_state import seconds_of
from dask_blackbox.analyse.worker_memory import peaks_of
from dask_blackbox.events import GraphUpdated, ProcessLoad
from dask_blackbox.run_tables import RunTables, epoch

__all__ = ["ClusterSize", "ClusterSizes", "cluster_sizes_of"]

TIMES = (0.5, 1.0, 2.0, 4.0)
"""Numbers of workers, relative to those of the run."""

MOST_OFF = 0.1
"""Share of the duration by which the model may miss the run that it is made of."""

MOST_EXECUTIONS = 200_000
_SOON = 0.1
_MEMORY_IN_USE = 0.8

_END, _READY, _GRAPH, _JOIN = range(4)


class ClusterSize(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would take with another number of workers.

    Attributes:
        times: Number of workers, relative to the run's.
        workers: How many that is.
        threads: Their threads.
        seconds: How long the run would take.
        thread_seconds: Seconds that all threads would be there.
        memory_gib_seconds: GiB of their memory limits, times the seconds; null: a worker
            has no limit.
        short_of_memory: All that the workers held at their peaks would hardly fit.
        more_than_cores: All workers were on one machine, which has fewer cores than
            these have threads.
    """

    times: float
    workers: int
    threads: int
    seconds: float
    thread_seconds: float
    memory_gib_seconds: float | None = None
    short_of_memory: bool = False
    more_than_cores: bool = False


class ClusterSizes(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would take with other numbers of workers.

    Attributes:
        seconds: How long the run took.
        model: How long it takes by the model with the workers that it had.
        sizes: By the number of workers; empty where nothing can be said.
        problem: Why nothing can be said; empty otherwise.
    """

    seconds: float
    model: float | None = None
    sizes: tuple[ClusterSize, ...] = ()
    problem: str = ""


def cluster_sizes_of(run: RunTables) -> ClusterSizes:
    """Return what a run would take with half, twice and four times its workers."""
    seconds, loads = seconds_of(run), Loads(run)
    workers = sorted(worker_exits_of(run), key=lambda each: each.joined)
    problem = _problem(run, loads, workers)
    if problem:
        return ClusterSizes(seconds=seconds, problem=problem)
    plan = _plan_of(run, loads)
    took = loads.end - loads.started
    model = _simulated(plan, _joins(loads, workers, 1.0))
    if abs(model - took) > MOST_OFF * took:
        text = f"the model gives {model:.1f} s until the last task ended, and not {took:.1f} s"
        return ClusterSizes(seconds=seconds, problem=text)
    # What the model leaves out is there with any number of workers.
    rest = seconds - model
    sizes = tuple(
        _size(
            run, workers, times, rest + _simulated(plan, _joins(loads, workers, times))
        )
        for times in TIMES
        if times >= 1 or len(workers) > 1
    )
    return ClusterSizes(seconds=seconds, model=model + (seconds - took), sizes=sizes)


def _problem(run: RunTables, loads: Loads, workers: Sequence[WorkerExit]) -> str:
    ending = run.ending
    if ending is None or ending.state != "succeeded":
        return "the run did not succeed"
    if loads.tasks.is_empty() or not workers:
        return "no task was executed"
    if len(loads.tasks) > MOST_EXECUTIONS:
        return f"it has more than {MOST_EXECUTIONS:,} executions"
    if len(loads.tasks) < len(executions_of(run)):
        return "executions ended with their workers, or have no times"
    if any(each.gone is not None and each.gone < loads.end for each in workers):
        return "workers left before the last task had ended"
    return ""


def _size(
    run: RunTables, workers: Sequence[WorkerExit], times: float, seconds: float
) -> ClusterSize:
    number = _number(workers, times)
    threads = round(sum(map(threads_of, workers)) * number / len(workers))
    limits = [each.memory_limit or 0 for each in workers]
    limit = sum(limits) * number / len(workers)
    held = float(peaks_of(run)["peak"].sum() or 0)
    return ClusterSize(
        times=times,
        workers=number,
        threads=threads,
        seconds=seconds,
        thread_seconds=threads * seconds,
        memory_gib_seconds=limit / 2**30 * seconds if all(limits) else None,
        short_of_memory=all(limits) and held > _MEMORY_IN_USE * limit,
        more_than_cores=threads > _cores_of_one_machine(run, workers),
    )


def _cores_of_one_machine(run: RunTables, workers: Sequence[WorkerExit]) -> float:
    """Return the cores that all workers shared; infinity: each machine added its own."""
    known = [each.cores for each in run.of(ProcessLoad) if each.cores]
    if len({each.host for each in workers}) > 1 or not known:
        return math.inf
    return max(known)


def _number(workers: Sequence[WorkerExit], times: float) -> int:
    return max(1, round(len(workers) * times))


def _joins(loads: Loads, workers: Sequence[WorkerExit], times: float) -> list[float]:
    """Return when each thread is there, in seconds since the run's start."""
    number = _number(workers, times)
    chosen = [workers[n % len(workers)] for n in range(number)]
    return [
        max(each.joined - loads.started, 0.0)
        for each in chosen
        for _ in range(threads_of(each))
    ]


class _Graph(NamedTuple):
    """When a graph is sent: `delay` seconds after the one before and what it waits for.

    Attributes:
        done: So many executions must have ended, of those that ended first.
        follows: Place of the execution whose end it follows; None: of none.
        delay: Seconds; of the first graph, since the run's start.
    """

    done: int
    follows: int | None
    delay: float


class _Plan(NamedTuple):
    """What is to be executed, in the order in which it began.

    Attributes:
        seconds: That each execution has its thread, and until that gets the next one.
        fetch: Seconds from its last input's end to when it can have a thread.
        inputs: Place of the execution that it waits for, or `NO_INPUT`.
        graph: The graph that it waits for, where it waits for no execution.
        ranks: Its place in the order of ends.
        graphs: All graphs, in the order in which they were sent.
    """

    seconds: list[float]
    fetch: list[float]
    inputs: list[int]
    graph: list[int]
    ranks: list[int]
    graphs: list[_Graph]


def _plan_of(run: RunTables, loads: Loads) -> _Plan:
    table = executions_of(run).with_columns(
        row=pl.Series(range(len(executions_of(run)))),
        input=pl.Series(last_inputs_of(run).rows),
    )
    frame = table.sort("begin", "row").select(
        "row",
        "input",
        "prefix",
        "worker",
        "slot",
        "seconds",
        begin=epoch("begin"),
        stop=epoch("stop"),
        fetch=epoch("begin") - epoch("start"),
    )
    place = {row: n for n, row in enumerate(frame["row"])}
    inputs = [place.get(row, NO_INPUT) for row in frame["input"]]
    stops = frame["stop"].to_list()
    by_end = sorted(range(len(stops)), key=stops.__getitem__)
    ranks = [0] * len(stops)
    for rank, n in enumerate(by_end):
        ranks[n] = rank
    sent = sorted(run.of(GraphUpdated), key=lambda each: each.at)
    pause = _pause(frame, inputs)
    return _Plan(
        seconds=[each + pause for each in frame["seconds"]],
        fetch=frame["fetch"].to_list(),
        inputs=inputs,
        graph=list(_graphs_of_roots(frame, inputs, sent)),
        ranks=ranks,
        graphs=list(_graphs(loads, sent, by_end, frame)),
    )


def _pause(frame: pl.DataFrame, inputs: list[int]) -> float:
    """Return for how long a thread usually has nothing between two executions."""
    last: dict[tuple[str, int], float] = {}
    stops, pauses = frame["stop"].to_list(), list[float]()
    columns = frame.select("worker", "slot", "begin", "stop", "fetch")
    for n, (worker, slot, begin, stop, fetch) in enumerate(columns.iter_rows()):
        before = last.get((worker, slot))
        input_ = inputs[n]
        ready = stops[input_] + fetch if input_ != NO_INPUT else 0.0
        if before is not None and ready <= before:
            pauses.append(max(begin - before, 0.0))
        last[worker, slot] = stop
    return median(pauses) if pauses else 0.0


def _graphs_of_roots(
    frame: pl.DataFrame, inputs: list[int], sent: Sequence[GraphUpdated]
) -> Iterator[int]:
    """Yield the graph of each execution: its prefix's first one of which not all have begun."""
    left = defaultdict[str, list[list[int]]](list)
    for number, graph in enumerate(sent):
        for prefix, new in graph.new.items():
            if new.roots:
                left[prefix].append([number, new.roots])
    times = [each.at for each in sent]
    for n, (prefix, begin) in enumerate(frame.select("prefix", "begin").iter_rows()):
        waiting = left.get(prefix)
        if inputs[n] != NO_INPUT or not waiting:
            yield max(0, bisect_right(times, begin) - 1)
            continue
        yield waiting[0][0]
        waiting[0][1] -= 1
        if not waiting[0][1]:
            waiting.pop(0)


def _graphs(
    loads: Loads, sent: Sequence[GraphUpdated], by_end: list[int], frame: pl.DataFrame
) -> Iterator[_Graph]:
    begins, ends = frame["begin"].to_list(), frame["stop"].sort().to_list()
    before = loads.started
    for graph in sent:
        done, begun = bisect_right(ends, graph.at), bisect_left(begins, graph.at)
        last = ends[done - 1] if done else 0.0
        if last > before and done == begun:  # nothing was left to do
            yield _Graph(done, None, graph.at - last)
        elif last > before and graph.at - last <= _SOON:
            yield _Graph(0, by_end[done - 1], graph.at - last)
        else:
            yield _Graph(0, None, max(graph.at - before, 0.0))
        before = graph.at


class _Simulation:
    """Executions on threads, from one moment at which something happens to the next."""

    def __init__(self, plan: _Plan, joins: Sequence[float]) -> None:
        self._plan = plan
        self._at = 0.0
        self._moments: list[tuple[float, int, int]] = [(at, _JOIN, 0) for at in joins]
        heapify(self._moments)
        self._waiting: list[int] = []
        self._free = 0
        self._children = defaultdict[int, list[int]](list)
        self._roots = defaultdict[int, list[int]](list)
        self._ended = bytearray(len(plan.seconds))
        self._ends = 0  # executions that have ended, of those that ended first
        self._next = 0  # the graph that the driver sends next
        self._is_due = False
        for n, input_ in enumerate(plan.inputs):
            if input_ == NO_INPUT:
                self._roots[plan.graph[n]].append(n)
            else:
                self._children[input_].append(n)

    def last_end(self) -> float:
        """Return when the last execution ends, in seconds since the run's start."""
        last = 0.0
        if not self._plan.graphs:  # they were sent before the recording began
            self._release(0)
        self._send_on()
        while self._moments:
            self._at, kind, n = heappop(self._moments)
            if kind == _READY:
                heappush(self._waiting, n)
            elif kind == _GRAPH:
                self._is_due = False
                self._next += 1
                self._release(n)
                self._send_on()
            else:
                self._free += 1
            if kind == _END:
                last = self._at
                self._end(n)
            while self._free and self._waiting:
                self._start(heappop(self._waiting))
        return last

    def _start(self, n: int) -> None:
        self._free -= 1
        heappush(self._moments, (self._at + self._plan.seconds[n], _END, n))

    def _end(self, n: int) -> None:
        for child in self._children.pop(n, ()):
            heappush(self._moments, (self._at + self._plan.fetch[child], _READY, child))
        self._ended[self._plan.ranks[n]] = 1
        while self._ends < len(self._ended) and self._ended[self._ends]:
            self._ends += 1
        self._send_on()

    def _send_on(self) -> None:
        """Send the next graph once what the driver waits for has ended."""
        graphs, ranks = self._plan.graphs, self._plan.ranks
        if self._is_due or self._next >= len(graphs):
            return
        graph = graphs[self._next]
        if graph.done > self._ends:
            return
        if graph.follows is not None and not self._ended[ranks[graph.follows]]:
            return
        self._is_due = True
        heappush(self._moments, (self._at + graph.delay, _GRAPH, self._next))

    def _release(self, graph: int) -> None:
        for n in self._roots.pop(graph, ()):
            heappush(self._moments, (self._at, _READY, n))


def _simulated(plan: _Plan, joins: Sequence[float]) -> float:
    return _Simulation(plan, joins).last_end()
