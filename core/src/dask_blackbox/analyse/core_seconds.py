"""Where the core-seconds of the cluster went: computing, or idle, and why idle.

A thread that is there and computes nothing either has nothing to do because the driver
wants nothing (`driver`), because there are fewer tasks than threads (`lack`), or although
there are tasks enough (`overhead`: scheduling, moving data, reading it back from disk).
The scheduler's samples, one a second, tell how many tasks were wanted.  The time bar of the
report shows the parts, which add up to all thread-seconds.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.facts.critical_path import Chain, last_inputs_of
from dask_blackbox.analyse.facts.executions import counts_of, executions_of
from dask_blackbox.analyse.facts.worker_exit_sources import threads_of, worker_exits_of
from dask_blackbox.analyse.run_state import last_sign_of_life, seconds_of
from dask_blackbox.events import RecordingStarted
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import counted, duration, short
from dask_blackbox.run_tables import RunTables, epoch

_LEAST_SHARE_USED = 0.5


class Loads:
    """What a run's threads did."""

    def __init__(self, run: RunTables) -> None:
        self._run = run

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """Executions that ended by themselves, as `executions`."""
        return self.executions.filter(pl.col("outcome") != "killed")

    @cached_property
    def executions(self) -> pl.DataFrame:
        """Executions with `begun` and `ended` (of their computing), in epoch seconds.

        Those that ended with their worker occupied a thread, too.
        """
        stop = epoch("stop")
        return (
            executions_of(self._run)
            .filter(pl.col("start").is_not_null() & pl.col("stop").is_not_null())
            .with_columns(begun=stop - pl.col("compute"), ended=stop)
        )

    @cached_property
    def graphs(self) -> pl.Series:
        """When work came to the scheduler, in epoch seconds."""
        events = self._run.events.filter(pl.col("kind") == "graph-updated")
        return events.select(epoch("at")).to_series().sort()

    @cached_property
    def begin(self) -> float:
        """When the run's first work was there, in epoch seconds."""
        moments = [
            *self.graphs.head(1),
            *self.tasks.select(epoch("start").min())["start"],
        ]
        return min((m for m in moments if m is not None), default=self.started)

    @cached_property
    def end(self) -> float:
        """When the run's last task ended, in epoch seconds."""
        last = self.tasks["ended"].max()
        return self.begin if last is None else max(float(last), self.begin)  # type: ignore[arg-type]

    @cached_property
    def started(self) -> float:
        """When the run began, in epoch seconds; what recording takes to begin is not its."""
        listening = [each.at for each in self._run.of(RecordingStarted)]
        begun = self._run.manifest.started
        return max(begun, min(listening, default=begun))

    @cached_property
    def stopped(self) -> float:
        """When the run ended, in epoch seconds."""
        return max(last_sign_of_life(self._run), self.started)

    @cached_property
    def threads(self) -> Curve:
        """How many threads there were."""
        # What was there before the recording began was there from its beginning.
        known = worker_exits_of(self._run)
        end = self.stopped + 1
        return Curve.of_spans(
            pl.Series([each.joined for each in known], dtype=pl.Float64),
            pl.Series([each.gone or end for each in known], dtype=pl.Float64),
            pl.Series([threads_of(each) for each in known], dtype=pl.Float64),
        )

    @cached_property
    def running(self) -> Curve:
        """How many tasks computed."""
        return Curve.of_spans(self.executions["begun"], self.executions["ended"])

    @cached_property
    def capacity(self) -> float:
        """Thread-seconds from the first work to the end of the last."""
        return self.threads.between(self.begin, self.end)

    @cached_property
    def all_capacity(self) -> float:
        """Thread-seconds of the whole run."""
        return self.threads.between(self.started, self.stopped)

    @cached_property
    def compute(self) -> float:
        """Seconds that tasks computed."""
        return float(self.tasks["compute"].sum() or 0.0)

    @cached_property
    def slices(self) -> pl.DataFrame:
        """The time between two samples, with what threads did in it.

        Columns: `begin`, `end`, `seconds`, `threads` and `busy` (thread-seconds), `paused`
        (seconds in which the driver wanted nothing), `few` and `many` (tasks wanted, at least
        and at most), `cpu` (of the scheduler, percent), `turn` (seconds of its event loop for
        a turn of 20 ms), `overhead`, `lack` (thread-seconds), and of the tasks that ended in
        it `number`, `compute`, `transfer`, `disk`.
        """
        samples = (
            self._run.metrics.filter(pl.col("source") == "scheduler")
            .select(
                at=epoch("at"),
                wanted=pl.col("executing").fill_null(0) + pl.col("ready").fill_null(0),
                cpu=pl.col("cpu").fill_null(0.0),
                turn=pl.col("event_loop").fill_null(0.0),
            )
            .filter(pl.col("at").is_between(self.begin, self.end + 2))
            .unique("at", keep="last", maintain_order=True)
            .sort("at")
        )
        wanted, edges = (
            pl.col("wanted"),
            pl.concat([pl.Series("at", [self.begin], dtype=pl.Float64), samples["at"]]),
        )
        edges = edges.clip(self.begin, self.end)
        area, threads = self.running.area(edges), self.threads.area(edges)
        paused = self._pausing.area(edges).diff()[1:]
        before = wanted.shift(1).fill_null(wanted)
        slices = samples.with_columns(
            begin=edges[:-1],
            end=edges[1:],
            busy=area.diff()[1:],
            threads=threads.diff()[1:],
            paused=paused,
            few=pl.min_horizontal(before, wanted),
            many=pl.max_horizontal(before, wanted),
        ).filter(pl.col("end") > pl.col("begin"))
        return self._with_reasons(slices)

    def _with_reasons(self, slices: pl.DataFrame) -> pl.DataFrame:
        seconds = pl.col("end") - pl.col("begin")
        # What idled while the driver wanted nothing, idled for nothing else.
        there = pl.col("threads") * (1 - pl.col("paused") / seconds).clip(0.0, 1.0)
        could = pl.min_horizontal(pl.col("few") * seconds, there)
        idle = there - pl.max_horizontal(could, pl.col("busy"))
        ended = (
            self.tasks.select("ended", "compute", "transfer", "disk")
            .sort("ended")
            .join_asof(
                slices.select("begin"),
                left_on="ended",
                right_on="begin",
                strategy="backward",
            )
            .group_by("begin", maintain_order=True)
            .agg(pl.col("compute", "transfer", "disk").sum(), number=pl.len())
        )
        return (
            slices.with_columns(
                seconds=seconds,
                overhead=(could - pl.col("busy")).clip(lower_bound=0.0),
                lack=pl.when(pl.col("many") >= 1)
                .then(idle.clip(lower_bound=0.0))
                .otherwise(0.0),
            )
            .join(ended, on="begin", how="left")
            .with_columns(pl.col("number", "compute", "transfer", "disk").fill_null(0))
            .sort("begin")
        )

    @cached_property
    def pauses(self) -> tuple[tuple[float, float], ...]:
        """When nothing computed until the driver sent more: beginnings and ends.

        The time before the first work and after the last are pauses too.
        """
        found = [(self.started, self.begin)] if self.begin > self.started else []
        graphs = self.graphs.to_list()
        for begin, end in self._idle_spans():  # as many as there are tasks, at worst
            n = bisect_right(graphs, begin)
            if n < len(graphs) and graphs[n] <= end:
                found.append((begin, graphs[n]))
        if self.end < self.stopped:
            found.append((self.end, self.stopped))
        return tuple(found)

    def _idle_spans(self) -> list[tuple[float, float]]:
        steps = self.running.steps.with_columns(until=pl.col("at").shift(-1))
        empty = steps.filter((pl.col("level") < 0.5) & pl.col("until").is_not_null())  # noqa: PLR2004
        return [(a, b) for a, b in empty.select("at", "until").iter_rows() if b > a]

    @cached_property
    def _pausing(self) -> Curve:
        begun, ended = zip(*self.pauses, strict=True) if self.pauses else ((), ())
        as_seconds = [pl.Series(each, dtype=pl.Float64) for each in (begun, ended)]
        return Curve.of_spans(*as_seconds)

    def total(self, what: str, where: pl.Expr | None = None) -> float:
        """Return the sum of a column of `slices`, of those that `where` selects."""
        chosen = self.slices if where is None else self.slices.filter(where)
        return float(chosen[what].sum() or 0.0)

    def share(self, core_seconds: float) -> float:
        """Return seconds as a share of the capacity between first and last work."""
        return core_seconds / self.capacity if self.capacity > 0 else 0.0

    @cached_property
    def lacking(self) -> Curve:
        """How many threads had nothing to do, or nothing that they could, while others worked.

        Where hardly a task ends and nothing is moved, threads idle although tasks are wanted:
        those wait behind others, on workers that they are bound to.
        """
        stuck = (pl.col("number") < _LEAST_SHARE_USED * pl.col("threads")) & (
            pl.col("transfer") + pl.col("disk") < _LEAST_SHARE_USED * pl.col("overhead")
        )
        behind = pl.when(stuck).then(pl.col("overhead")).otherwise(0.0)
        idle = (pl.col("lack") + behind) / pl.col("seconds")
        rate = self.slices.select(idle).to_series()
        return Curve.of_spans(self.slices["begin"], self.slices["end"], rate)


_REPORTED = 5


def computed_by_prefix(loads: Loads) -> pl.DataFrame:
    """Return the `number` of executions of each `prefix` and their `compute`, in seconds."""
    return loads.executions.group_by("prefix", maintain_order=True).agg(
        number=pl.len(), compute=pl.col("compute").sum()
    )


def busiest_prefix(tasks: pl.DataFrame) -> str:
    """Return the prefix whose tasks computed most, all together; empty if there are none."""
    sums = tasks.group_by("prefix", maintain_order=True).agg(pl.col("compute").sum())
    return str(sums.sort("compute")["prefix"][-1]) if len(sums) else ""


def evidence_of_prefixes(prefixes: pl.DataFrame) -> tuple[Evidence, ...]:
    """Return evidence for the first rows of `computed_by_prefix`, as they are sorted."""
    return tuple(
        Evidence(
            text=f"'{short(str(row['prefix']), 60)}': {counted(row['number'], 'task')}, "
            f"{duration(row['compute'])} of computing",
            source="tasks",
        )
        for row in prefixes.head(_REPORTED).iter_rows(named=True)
    )


class Curve:
    """A number that changes at moments and stays between them; 0 before the first.

    Args:
        at: Moments in epoch seconds.
        change: By how much it changes at each.
    """

    def __init__(self, at: pl.Series, change: pl.Series) -> None:
        changes = pl.DataFrame(
            {"at": at.cast(pl.Float64), "change": change.cast(pl.Float64)}
        ).sort("at", maintain_order=True)
        # Of several changes at one moment, the level after the last one counts.
        steps = changes.select("at", level=pl.col("change").cum_sum()).filter(
            (pl.col("at") != pl.col("at").shift(-1)).fill_null(value=True)
        )
        lasts = pl.col("at").diff().fill_null(0.0)
        self.steps = steps.with_columns(
            area=(pl.col("level").shift(1, fill_value=0.0) * lasts).cum_sum()
        )

    @classmethod
    def of_spans(
        cls, start: pl.Series, stop: pl.Series, weight: pl.Series | None = None
    ) -> Curve:
        """Return how many spans (or how much weight) there were at each moment."""
        weights = pl.Series([1.0] * len(start)) if weight is None else weight
        weights = weights.cast(pl.Float64)
        return cls(
            pl.concat([start.cast(pl.Float64), stop.cast(pl.Float64)]),
            pl.concat([weights, -weights]),
        )

    def area(self, until: pl.Series) -> pl.Series:
        """Return the integral from the beginning to each of some moments, in order."""
        asked = pl.DataFrame({"until": until.cast(pl.Float64)})
        joined = asked.join_asof(
            self.steps, left_on="until", right_on="at", strategy="backward"
        )
        reported = joined.select(
            (
                pl.col("area") + pl.col("level") * (pl.col("until") - pl.col("at"))
            ).fill_null(0.0)
        )
        return reported.to_series()

    def between(self, begin: float, end: float) -> float:
        """Return the integral between two moments."""
        first, last = self.area(pl.Series([begin, max(begin, end)]))
        return float(last - first)

    @property
    def highest(self) -> float:
        """The highest level."""
        return float(self.steps["level"].max() or 0.0)  # type: ignore[arg-type]


_LEAST_SHOWN = 0.001


class Part(NamedTuple):
    """A part of the whole: its name, thread-seconds, share, and where the bar has it.

    Attributes:
        tone: The class that has its colour.
        name: What the threads did or waited for.
        seconds: Thread-seconds.
        share: Of all.
        before: The share of all parts before it.
    """

    tone: str
    name: str
    seconds: float
    share: float
    before: float


class Bounds(NamedTuple):
    """How long the work took from its first task to its last, and would take at least.

    No run can be faster than these bounds, and most cannot be as fast.

    Attributes:
        took: Seconds from the first work to the end of the last task.
        threads: How many threads there were then, on average.
        least: Seconds that it takes with all of these threads busy all the time.
        longest: Seconds of the longest execution.
        chain: The longest chain of executions that waited for each other: no number of
            threads makes it shorter.  None where it was not recorded.
        more: The same with more threads: how many times as many, and seconds.
    """

    took: float
    threads: float
    least: float
    longest: float
    chain: Chain | None
    more: list[tuple[int, float]]


class TimeBar(NamedTuple):
    """All parts, what they add up to, and how long what was done takes at least."""

    parts: list[Part]
    capacity: float
    bounds: Bounds | None = None


def phases_of(run: RunTables) -> list[tuple[str, float]]:
    """Return the phases of a whole run, with their seconds: they add up to its duration.

    Before the first worker, the driver imports and its cluster starts; then a cluster may still
    grow, as an adaptive one does; after the last task, the driver does the rest, and the cluster
    ends.
    """
    whole = seconds_of(run)
    table = executions_of(run)
    first, last = table["begin"].min(), table["stop"].max()
    moments = [
        ("until the first worker had connected", _moment(run.workers["joined"].min())),
        ("until the first task began", _moment(first)),
        ("until the last task ended", _moment(last)),
    ]
    if (growth := _growth(run, moments[1][1], moments[2][1])) is not None:
        moments.insert(2, growth)
    phases, before = [], 0.0
    for name, moment in moments:
        if moment is None:
            continue
        at = min(max(moment - run.manifest.started, before), whole)
        phases.append((name, at - before))
        before = at
    return [each for each in (*phases, ("after that", whole - before)) if each[1] > 0]


_GROWN, _SMALL, _LONG = 0.9, 0.5, 1.0
"""Shares of the most threads that are almost all, and few; seconds that are worth a phase."""


def _growth(
    run: RunTables, first: float | None, last: float | None
) -> tuple[str, float] | None:
    """Return until when a cluster grew in which tasks had begun with few of its threads.

    Args:
        first: When the first task began, epoch seconds.
        last: When the last one ended.
    """
    if first is None or last is None:
        return None
    steps = Loads(run).threads.steps.filter(pl.col("at") <= last)
    most = float(steps["level"].max() or 0.0)  # type: ignore[arg-type]
    then = steps.filter(pl.col("at") <= first)["level"]
    few = float(then[-1]) if len(then) else 0.0
    grown = steps.filter((pl.col("level") >= _GROWN * most) & (pl.col("at") > first))
    until = grown["at"].min()
    if not isinstance(until, float) or few > _SMALL * most or until - first < _LONG:
        return None
    few_text, most_text = f"{few:,.0f}", counted(round(most), "thread")
    return f"while the cluster grew from {few_text} to {most_text}", until


def _moment(at: object) -> float | None:
    return at.timestamp() if isinstance(at, datetime) else None


def time_bar_of(run: RunTables) -> TimeBar | None:
    """Return where the time of the run's threads went; None where there were none."""
    return run.once(_time_bar)


def _time_bar(run: RunTables) -> TimeBar | None:
    loads = Loads(run)
    capacity = loads.all_capacity
    if capacity <= 0:
        return None
    busy = min(counts_of(run).seconds, capacity)
    overhead, lack = loads.total("overhead"), loads.total("lack")
    data = min(overhead, loads.total("transfer"))
    disk = min(overhead - data, loads.total("disk"))
    paused = sum(loads.threads.between(a, b) for a, b in loads.pauses)
    idle = [
        ("data", "waiting for data from other workers", data),
        ("disk", "reading back from disk", disk),
        ("scheduling", "waiting for the scheduler", overhead - data - disk),
        ("few", "fewer tasks than threads", lack),
        ("driver", "no work submitted by the driver", paused),
    ]
    # Samples are a second apart: reasons may add up to a little more than there was.
    left, explained = capacity - busy, sum(seconds for *_, seconds in idle)
    fitting = min(1.0, left / explained) if explained > 0 else 0.0
    parts = [("busy", "executing tasks", busy)]
    parts += [(tone, name, seconds * fitting) for tone, name, seconds in idle]
    parts.append(
        ("unknown", "idle for an unknown reason", max(0.0, left - explained * fitting))
    )
    return TimeBar(_placed(parts, capacity), capacity, _bounds(run, loads, busy))


def _bounds(run: RunTables, loads: Loads, busy: float) -> Bounds | None:
    took = loads.end - loads.begin
    if took <= 0 or busy <= 0:
        return None
    threads = loads.capacity / took
    longest = float(executions_of(run)["seconds"].max() or 0.0)  # type: ignore[arg-type]
    chain = last_inputs_of(run).longest
    if threads <= 0:
        return None
    one_by_one = max(longest, chain.seconds if chain else 0.0)

    def at_least(times: int) -> float:
        return min(max(busy / (threads * times), one_by_one), took)

    more = [(times, at_least(times)) for times in (2, 4)]
    return Bounds(took, threads, at_least(1), longest, chain, more)


def _placed(parts: list[tuple[str, str, float]], capacity: float) -> list[Part]:
    placed: list[Part] = []
    before = 0.0
    for tone, name, seconds in parts:
        share = seconds / capacity
        if share >= _LEAST_SHOWN:
            placed.append(Part(tone, name, seconds, share, before))
        before += share
    return placed
