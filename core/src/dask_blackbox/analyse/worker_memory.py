"""Memory of workers, from their samples: peaks, limits, and what was needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import Preload, last_preload
from dask_blackbox.analyse.facts.suspects import suspects_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.frames import raised_at_end
from dask_blackbox.analyse.offers import beyond_host
from dask_blackbox.analyse.side_effects import files_of_task, one_file
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import SPILL_FAILED
from dask_blackbox.analyse.signatures.python import FILE_TOO_LARGE, NO_SPACE_LEFT
from dask_blackbox.events import GraphUpdated, ProcessLoad, TaskNamed
from dask_blackbox.formatting import (
    capital,
    class_of,
    counted,
    need,
    quoted,
    quoted_key,
    short,
    short_with_paths,
    size,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, RunTables, epoch

_ENOUGH = 4
_UNEVEN = 3.0
_REPORTABLE = 0.01


@dataclass(frozen=True, kw_only=True)
class Skew:
    """Results of one prefix of which one is far larger than the others.

    Attributes:
        prefix: Of the tasks.
        key: Of the task with the largest result.
        largest: Its bytes.
        median: Of all of them, in bytes.
    """

    prefix: str
    key: str
    largest: int
    median: int

    @property
    def times(self) -> float:
        """How much larger it is than the median."""
        return self.largest / max(self.median, 1)


def _skew_before(run: RunTables, moment: float, limit: int | None) -> Skew | None:
    """Return the most uneven large results that there were at a moment.

    Args:
        moment: Epoch seconds.
        limit: Bytes that a worker may have: pieces of less than a hundredth don't matter.
    """
    done = run.tasks.filter(
        FINISHED & (epoch("stop") <= moment) & (pl.col("nbytes") > 0)
    )
    by_prefix = (
        done.sort("nbytes")
        .group_by("prefix", maintain_order=True)
        .agg(
            pl.len().alias("number"),
            pl.col("nbytes").median().alias("median"),
            pl.col("nbytes").last().alias("largest"),
            pl.col("key").last().alias("key"),
        )
        .filter(
            (pl.col("number") >= _ENOUGH)
            & (pl.col("largest") >= _UNEVEN * pl.col("median"))
            & (pl.col("largest") >= _REPORTABLE * (limit or 0))
        )
        .sort("largest", descending=True)
    )
    for prefix, _, median, largest, key in by_prefix.iter_rows():
        return Skew(prefix=prefix, key=key, largest=int(largest), median=int(median))
    return None


def pieces_of(run: RunTables, prefix: str, *, of_host: bool = False) -> int:
    """Return how many tasks of a prefix the newest graph with one had; 0 if unknown.

    A host submits its tasks one by one, each in a graph of its own: those are counted.
    """
    graphs = run.of(GraphUpdated)
    if of_host:
        return sum(graph.new[prefix].tasks for graph in graphs if prefix in graph.new)
    numbers = (graph.prefixes.get(prefix, 0) for graph in reversed(graphs))
    return next(filter(None, numbers), 0)


_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".lz4")
"""Ends of the names of files that are compressed as one stream."""

_AMPLE = 2.0
_STEP = 2**26
_JUST_BEFORE, _MOST_OF_IT = 3.0, 0.5
_MORE, _TIMES, _MUCH, _TOP = 1.5, 2, 192 * 2**20, 0.95


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """How much memory some workers had when they died, and what would do.

    Attributes:
        limit: Bytes that a worker had; None if unlimited or unknown.
        threads: Tasks that a worker could run at once.
        at_once: Tasks that a worker did run at once when it died, at most; 0 if none was
            at work.
        seen: The most memory that one was seen with, in bytes.
        idle: What a worker needs before it does anything, in bytes.
        wanted: A limit to try next, in bytes.
        skew: How uneven the pieces were, if they were.
        pieces: How many tasks of the guilty prefix there were; 0 if unknown.
        of_host: The guilty task is one of the host's: there are tasks, no partitions.
        too_large: The tasks of its prefix that ended a worker alone and never finished.
        finished: How many tasks of its prefix did.
        held: Bytes of results that each worker held just before it died, at least; 0 if that
            was less than half of what it had.
        compressed: The one file that the guilty task read, if that is compressed and so
            cannot be read in parts by several tasks; empty: not so, or unknown.
        beyond_host: A sentence, if the workers' host has not that much for each of them.
        layer: What makes the pieces of the guilty task's layer smaller, after "or"; empty where
            that is the number of partitions or chunks.
        merges: Its layer makes one partition of what other tasks returned.
        keyed: Its layer puts all rows with one value of a key into one partition.
    """

    limit: int | None
    threads: int
    at_once: int
    seen: int | None
    idle: int | None
    wanted: int
    skew: Skew | None = None
    pieces: int = 0
    of_host: bool = False
    too_large: tuple[str, ...] = ()
    finished: int = 0
    held: int = 0
    compressed: str = ""
    beyond_host: str = ""
    layer: str = ""
    merges: bool = False
    keyed: bool = False

    @property
    def keeps_too_much(self) -> bool:
        """Whether results that need not be there filled the memory, and not one merged result."""
        return bool(self.held) and not self.merges

    def advice(self) -> str:
        """Return what to do, in sentences."""
        limit = self.limit or self.seen or 0
        why = "a lower bound: they were still growing when they were terminated"
        more = f"give each worker at least {need(self.wanted)}"
        ways = [f"{more} (twice what they had, {why})"]
        if self.threads > 1 and self.at_once > 1:
            share = max(limit - (self.idle or 0), 0) / self.threads
            ways.append(
                f"or run fewer tasks at once: with `threads_per_worker=1` a task may use "
                f"{size(limit - (self.idle or 0))} rather than {size(share)}"
            )
        ways.append(f"or {self.less_at_once()}")
        text = ", ".join(ways)
        if not self.at_once:
            return f"{capital(text)}.{self.beyond_host}"
        verb = "had" if self.at_once == 1 else "shared"
        had = f"{counted(self.at_once, 'task')} {verb} {size(limit)}"
        if self.idle:
            had += f", of which an idle worker already uses {size(self.idle)}"
        return (
            f"{capital(text)}.{self._of_one_key()}{self.beyond_host} {capital(had)}."
            f"{self._uneven()}"
        )

    def less_at_once(self) -> str:
        """Return what to do that takes no more memory, after "or"."""
        if not self.at_once:
            return "load less in the code that the driver runs on every worker"
        if not self.compressed:
            return self.layer or f"make the pieces {self._smaller()}"
        return (
            f"read {short_with_paths(self.compressed, 80)} in another form: a compressed "
            "file is one piece, whatever the number of partitions. Store it as several files, "
            "uncompressed or as Parquet, or read it in parts within the task (`chunksize=` of "
            "pandas)"
        )

    def _smaller(self) -> str:
        if self.pieces < 2 or not self.limit:  # noqa: PLR2004
            return f"smaller ({more_pieces(of_host=self.of_host)})"
        times = max(2, math.ceil(self.wanted / self.limit))
        if self.of_host and self.finished and self.too_large:
            # Each has data of its own: more of them make these no smaller.
            each = "" if len(self.too_large) == 1 else "each of "
            return (
                f"smaller: divide the work of {each}{quoted(self.too_large, most=3)} "
                f"among at least {times} tasks ({counted(self.finished, 'other task')} "
                "of this function finished with this limit)"
            )
        what = "tasks" if self.of_host else "partitions or chunks"
        return f"smaller: at least {times * self.pieces:,} {what}, not {self.pieces:,}"

    def _of_one_key(self) -> str:
        """Return a sentence on what more partitions do not divide, of a join or a shuffle."""
        if not self.keyed or self.compressed or self.layer:
            return ""
        return (
            " All rows with one value of the key that is joined or shuffled by stay in one "
            "partition, however many there are: if one value has most rows, treat these "
            "apart, or join a small frame with `broadcast=True`."
        )

    def _uneven(self) -> str:
        if self.skew is None:
            return ""
        return (
            f" The pieces are uneven: {quoted_key(self.skew.key, 60)} returned "
            f"{size(self.skew.largest)}, {self.skew.times:.1f} times the median of "
            f"'{short(self.skew.prefix, 40)}' ({size(self.skew.median)}); the largest "
            "one decides, so split that one."
        )


def is_of_host(run: RunTables, key: str | None) -> bool:
    """Return whether a key is that of a task of the host, as Prefect has them."""
    return any(each.subject == key for each in run.of(TaskNamed))


def more_pieces(*, of_host: bool) -> str:
    """Return how pieces of work become smaller, in the words of who made them."""
    if of_host:
        return "more tasks, each with less to do"
    return "more partitions, smaller chunks"


def memory_need(
    case: Case, deaths: tuple[WorkerExit, ...], *, met_its_limit: bool = True
) -> MemoryNeed:
    """Return the memory of workers that ran out of it, and what to give them.

    Args:
        deaths: Of workers that died of memory.
        met_its_limit: It was Dask's own limit; otherwise what they were seen with is all
            that is known of how much there was.
    """
    limit = max((death.memory_limit or 0 for death in deaths), default=0) or None
    most = max((death.peak_memory or 0 for death in deaths), default=0)
    basis = max(limit or 0, most) if met_its_limit or not most else most
    threads = max((death.nthreads or 1 for death in deaths), default=1)
    prefix = case.prefix_of(case.blame.guilty) if case.blame.guilty else ""
    finished = _finished(case.run, prefix)
    of_host = is_of_host(case.run, case.blame.guilty)
    wanted = math.ceil(_AMPLE * basis / _STEP) * _STEP
    return MemoryNeed(
        limit=limit,
        threads=threads,
        at_once=_at_once(deaths, threads),
        seen=most or None,
        idle=_idle(case.run, deaths, limit),
        wanted=wanted,
        skew=_skew_before(case.run, deaths[-1].at, limit),
        pieces=pieces_of(case.run, prefix, of_host=of_host),
        of_host=of_host,
        too_large=tuple(sorted(_alone(case, deaths, prefix) - finished)),
        finished=len(finished),
        held=_held(case.run, deaths, basis),
        compressed=_compressed_file_of(case.run, case.blame.guilty),
        beyond_host=beyond_host(case, wanted, [each.address for each in deaths]),
        layer=layer_of(prefix),
        keyed=is_keyed(prefix),
        merges=any(each.search(prefix) for each in (_MERGES, _JOINS)),
    )


_MERGES = bounded(
    r"(?:groupby|aggregation|unique|duplicates|value-?counts)[\w-]{0,80}-(?:tree|agg|combine)$"
)
_JOINS = bounded(r"^repartition-?to-?fewer")
_LAYERS = (
    (
        _MERGES,
        (
            "divide what the aggregation returns: it merges all groups into one partition, "
            "however many partitions it begins with, and `split_out=8` (of `groupby(…).agg`, "
            "`unique`, `drop_duplicates`, `value_counts`) makes that several"
        ),
    ),
    (
        _JOINS,
        (
            "bring less into one partition: `compute()` of a frame joins all its partitions on "
            "one worker, as `repartition(npartitions=1)` does, however many there are. Aggregate "
            "on the cluster first, write the frame from the workers (`to_parquet`), or fetch it "
            "partition by partition (`df.partitions[0].compute()`)"
        ),
    ),
    (
        bounded(r"^rechunk-"),
        (
            "rechunk to smaller chunks. What needs an axis whole (`median`, `quantile`, `fft`, "
            "`apply_ufunc` along a core dimension) makes one chunk of it: rechunk the other axes "
            "before (`rechunk({0: -1, 1: 200, 2: 200})`), or lower `array.chunk-size`"
        ),
    ),
    (
        bounded(r"^read[-_]?parquet"),
        (
            "read less in one task: it reads a whole row group at least, and `repartition()` "
            "behind it makes that no smaller. Write the files with smaller row groups "
            "(`row_group_size=`), read them with `split_row_groups=True`, and only the "
            "`columns=` that are needed"
        ),
    ),
)
"""By the prefix of a task: what makes its pieces smaller, which more partitions do not."""


def layer_of(prefix: str) -> str:
    """Return what makes the pieces of a layer smaller, if more partitions do not.

    After "or", without an end.
    """
    return next((what for of, what in _LAYERS if of.search(prefix)), "")


_KEYED = bounded(r"^(?:blockwise-?merge|hash-?join|merge|shuffle|set-?index)")
"""Layers that put all rows with one value of a key into one partition."""


def is_keyed(prefix: str) -> bool:
    """Return whether a layer puts all rows with one value of a key into one partition."""
    return bool(_KEYED.search(prefix))


def _at_once(deaths: tuple[WorkerExit, ...], threads: int) -> int:
    """Return how many tasks ran at once in a worker that died, at most."""
    known = max((min(len(suspects_of(d)), threads) for d in deaths), default=0)
    unnamed = any(death.running_on for death in deaths)
    return threads if unnamed and not known else known


def _alone(case: Case, deaths: tuple[WorkerExit, ...], prefix: str) -> set[str]:
    """Return the tasks of a prefix that were the only ones in a worker that died."""
    only = [each[0] for each in map(suspects_of, deaths) if len(each) == 1]
    return {key for key in only if case.prefix_of(key) == prefix}


def _compressed_file_of(run: RunTables, key: str | None) -> str:
    """Return the one file that a task read, if it is compressed as a whole."""
    name = None if key is None else one_file(files_of_task(run, key))
    return name if name is not None and name.endswith(_COMPRESSED) else ""


def _finished(run: RunTables, prefix: str) -> set[str]:
    """Return the tasks of a prefix that finished."""
    mine = (pl.col("prefix") == prefix) & FINISHED
    return set(run.tasks.filter(mine)["key"]) if prefix else set()


def _held(run: RunTables, deaths: tuple[WorkerExit, ...], basis: int) -> int:
    """Return the least of the results that workers held before they died, if it was most."""
    samples = run.metrics.select("source", "managed", at=epoch("at")).drop_nulls()
    held = []
    for death in deaths:
        last = samples.filter(
            (pl.col("source") == death.address)
            & pl.col("at").is_between(death.at - _JUST_BEFORE, death.at)
        ).sort("at")
        held += last["managed"].tail(1).to_list()
    known = 2 * len(held) > len(deaths)
    least = min(held, default=0) if known else 0
    return int(least) if least >= _MOST_OF_IT * basis else 0


def _idle(
    run: RunTables, deaths: tuple[WorkerExit, ...], limit: int | None
) -> int | None:
    """Return the least memory that a worker was seen with; None: all samples are of its end."""
    first = [death.memory[0][1] for death in deaths if death.memory]
    metrics = run.metrics.filter(
        (pl.col("source") != "scheduler") & (pl.col("memory") > 0)
    )
    if len(metrics):
        first.append(int(metrics["memory"].min() or 0))  # type: ignore[arg-type]
    least = min(first, default=None)
    return None if least is not None and limit and least >= limit else least


def peaks_of(run: RunTables) -> pl.DataFrame:
    """Return the most memory that each worker was seen with: `source`, `peak`, `memory_limit`.

    By the scheduler's samples, one a second, and by the worker's own, of which it reported the
    highest.
    """
    return run.once(_peaks)


def _peaks(run: RunTables) -> pl.DataFrame:
    own = [
        {"source": load.subject, "memory": load.peak_memory}
        for load in run.of(ProcessLoad)
        if load.peak_memory
    ]
    schema = {"source": pl.String, "memory": pl.Int64}
    limits = (
        run.workers.filter(pl.col("memory_limit") > 0)
        .group_by("address", maintain_order=True)
        .agg(pl.col("memory_limit").max(), pl.col("name").last())
    )
    return (
        pl.concat(
            [
                run.metrics.filter(
                    (pl.col("source") != "scheduler") & pl.col("memory").is_not_null()
                ).select("source", "memory"),
                pl.DataFrame(own, schema=schema),
            ]
        )
        .group_by("source", maintain_order=True)
        .agg(pl.col("memory").max().alias("peak"))
        .join(limits, left_on="source", right_on="address", how="left")
        .sort("peak", descending=True)
    )


def spilled_by_worker(run: RunTables) -> pl.DataFrame:
    """Return the most that each worker had on disk: `source`, `spilled`."""
    return (
        run.metrics.filter(pl.col("spilled") > 0)
        .group_by("source", maintain_order=True)
        .agg(pl.col("spilled").max())
    )


def how_the_scheduler_grew(run: RunTables, *, much: bool = True) -> str:
    """Return `grown from … to …`, if it was largest at its end, and larger than before.

    Its samples are of its process: with a `LocalCluster` that is the driver's.

    Args:
        run: The run.
        much: It had grown so much that its memory is the probable reason for its end.
    """
    own = run.metrics.filter(pl.col("source") == "scheduler").sort("at")
    seen = own["memory"].drop_nulls().to_list()
    if not seen or seen[-1] < max(seen[0] * _MORE, _TOP * max(seen)):
        return ""
    if much and seen[-1] < max(seen[0] * _TIMES, seen[0] + _MUCH):
        return ""
    return f"grown from {size(seen[0])} to {size(seen[-1])}"


_BEFORE = 2  # tasks that ended there: one may have loaded what all of them need
_SHARE = 0.5
_LONG = 1.0  # seconds
_STEADY = 5  # tasks within that
_HELD = 0.98  # of what it had a sample before


@dataclass(frozen=True, kw_only=True)
class RetainedMemory:
    """Memory that tasks left in a worker, and no result accounts for.

    Attributes:
        kept: Bytes, at least.
        tasks: How many had ended on that worker.
        prefixes: Of these tasks, the most frequent first.
    """

    kept: int
    tasks: int
    prefixes: tuple[str, ...]

    def sentence(self) -> str:
        """Return a sentence on it."""
        return (
            f"The worker had accumulated at least {size(self.kept)} of unmanaged memory "
            f"over the {counted(self.tasks, 'task')} that it had run before; no result "
            "accounts for it."
        )

    def advice(self) -> str:
        """Return what to do, in sentences."""
        keep = "keeps" if len(self.prefixes) == 1 else "keep"
        return (
            f"Look for what {quoted(self.prefixes, most=2)} {keep} from one task to the "
            "next: module-level lists and caches (`functools.cache` without a size), "
            "attributes of the worker, sessions that are never closed, a native "
            "library's memory pool. Smaller pieces, more memory or replacing workers "
            "in time only delay the failure (`--lifetime … --lifetime-restart`)."
        )


def retained_memory_of(case: Case, death: WorkerExit) -> RetainedMemory | None:
    """Return the memory that earlier tasks retained in a worker that ran out of it, if it was most."""
    limit = death.memory_limit or death.peak_memory
    if not limit or not death.memory:
        return None
    tasks = case.run.tasks
    done = tasks.filter(
        (pl.col("worker") == death.address) & FINISHED & (epoch("stop") <= death.at)
    ).sort("stop")
    if len(done) < _BEFORE:
        return None
    stops = (done["stop"].dt.epoch("us") / 1e6).to_list()
    floor = _kept_by_one(death, stops) if death.nthreads == 1 else None
    floor = floor or _kept_by_several(death, stops)
    if floor is None:
        return None
    idle = min(rss for _, rss in death.memory)
    samples = case.run.metrics.filter(pl.col("source") == death.address)
    if len(samples):
        idle = min(idle, int(samples["memory"].min() or idle))  # type: ignore[arg-type]
    results = max(int(done["nbytes"].sum()), int(samples["managed"].max() or 0))  # type: ignore[arg-type]
    kept = floor - idle - results
    if kept < _SHARE * (limit - idle):
        return None
    prefixes = (
        done.group_by("prefix", maintain_order=True).len().sort("len", descending=True)
    )
    return RetainedMemory(
        kept=kept, tasks=len(done), prefixes=tuple(prefixes["prefix"].to_list())
    )


def _kept_by_one(death: WorkerExit, stops: list[float]) -> int | None:
    """Return what a worker of one thread still had between its last tasks, if it was sampled."""
    # What falls in between is given back.  What comes after may be the last one's own.
    since, begun = stops[-_BEFORE], stops[-1]
    between = [
        rss for at, rss in death.memory if min(since, begun - _LONG) < at <= begun
    ]
    if len(between) < _BEFORE:
        return None
    # Where it only grew, over many tasks, nothing was given back in between.
    inside = sum(stop > begun - _LONG for stop in stops)
    return between[-1] if inside >= _STEADY and _only_grew(between) else min(between)


def _kept_by_several(death: WorkerExit, stops: list[float]) -> int | None:
    """Return what a worker had when its last tasks began, if tasks before gave nothing back.

    Of several tasks at once it is unknown whose memory it is; but it falls when one of them
    gives back what it used.
    """
    starts = [each.start for each in death.running if each.start is not None]
    if not starts:
        return None
    before = [(at, rss) for at, rss in death.memory if at <= min(starts)]
    inside = (
        sum(before[0][0] < stop <= before[-1][0] for stop in stops) if before else 0
    )
    enough = inside >= _STEADY * (death.nthreads or 1)
    grew = enough and _only_grew([rss for _, rss in before])
    return before[-1][1] if grew else None


def _only_grew(memory: Sequence[int]) -> bool:
    return all(after >= _HELD * before for before, after in pairwise(memory))


_PAUSED_AT = 0.8  # of its limit: Dask's own default


@dataclass(frozen=True, kw_only=True)
class StartupMemory:
    """Memory that a worker used before it ran its first task.

    Attributes:
        used: Bytes.
        preload: What had been set up in it, if that is recorded.
    """

    used: int
    preload: Preload | None

    def sentence(self) -> str:
        """Return a sentence on it."""
        text = f"The worker used {size(self.used)} before it ran its first task"
        preload = self.preload
        if preload is None:
            return f"{text}."
        last = short(preload.last, 160)
        printed = f", which had last printed “{last}”" if last else ""
        return f"{text}; it had run its preload {preload.module}{printed}."

    def advice(self, wanted: int) -> str:
        """Return what to do, in sentences.

        Args:
            wanted: A limit to try next, in bytes.
        """
        what = (
            "what a worker loads before tasks (modules, plugins, preloads, `client.run`)"
            if self.preload is None
            else f"what the preload {self.preload.module} loads"
        )
        return (
            f"Reduce {what}, or give each worker at least {need(wanted)}. Smaller pieces "
            "do not help against memory that is used before the first task."
        )


def startup_memory_of(
    case: Case, deaths: tuple[WorkerExit, ...]
) -> StartupMemory | None:
    """Return the memory that workers used before their first task, if it was most of the limit.

    Of workers each of which died while it ran its first tasks.
    """
    used = [_before_first_task(case, death) for death in deaths]
    known = [each for each in used if each is not None]
    if not known or len(known) < len(used):
        return None
    preload = last_preload(case.run, until=deaths[-1].joined)
    return StartupMemory(used=min(known), preload=preload)


def _before_first_task(case: Case, death: WorkerExit) -> int | None:
    """Return what a worker used when it began its first task, if that was most of its limit."""
    starts = [each.start for each in death.running if each.start is not None]
    ran = case.run.tasks.filter(
        (pl.col("worker") == death.address)
        & (pl.col("outcome") != "killed")
        & epoch("start").is_between(death.joined, death.at)
    )
    if not starts or not death.memory_limit or len(ran):
        return None
    before = [rss for at, rss in death.memory if at < min(starts)]
    full = before and before[-1] >= _PAUSED_AT * death.memory_limit
    return before[-1] if full else None


@dataclass(frozen=True, kw_only=True)
class FailedSpill:
    """That workers could not spill, so that results stayed in memory.

    Attributes:
        name: Class of the exception; empty if the recording does not have it.
        message: Its text.
        often: How often it was logged.
    """

    name: str
    message: str
    often: int

    @property
    def is_of_space(self) -> bool:
        """Whether the disk was full, or a limit of it was reached."""
        return any(
            each.search(self.message) for each in (NO_SPACE_LEFT, FILE_TOO_LARGE)
        )

    def sentence(self) -> str:
        """Return a sentence for the cause."""
        error = f"{self.name}: {short(self.message, 160)}".rstrip(": ") or "an error"
        times = f" {self.often} times" if self.often > 1 else ""
        return (
            f"Spilling to disk had failed{times} before ({error}), and results that should "
            "have been on disk stayed in memory."
        )

    def advice(self) -> str:
        """Return what to do about it."""
        if self.is_of_space:
            return (
                "Give the workers a larger disk (`--local-directory`, "
                "`temporary-directory`; in containers often a small or memory-backed /tmp)."
            )
        if self.name == "FileNotFoundError":
            return (
                "Find what removes the workers' local directory while they run, such as a "
                "cleanup of /tmp, or put it elsewhere (`--local-directory`, "
                "`temporary-directory`)."
            )
        return "Fix that error: the workers must be able to write to their local directory."


def failed_spill_before(case: Case, workers: set[str], at: float) -> FailedSpill | None:
    """Return why workers could not spill before a moment; None if nothing was logged."""
    lines = lines_of(case.run, SPILL_FAILED, by=["worker"]).filter(
        pl.col("source").is_in(workers) & (epoch("at") <= at)
    )
    if lines.is_empty():
        return None
    name, message = raised_at_end(lines["message"][-1]) or ("", "")
    return FailedSpill(name=class_of(name), message=message, often=len(lines))
