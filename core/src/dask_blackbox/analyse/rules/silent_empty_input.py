"""Did the run succeed on nothing?"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.changes.differences import differences
from dask_blackbox.analyse.changes.rarity import Rarities
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.analyse.sketching.prefixes import inputs_of, prefixes_of
from dask_blackbox.analyse.words import counted, short, size
from dask_blackbox.finding import Evidence, Finding, Subject
from dask_blackbox.sketch import Sketch

__all__ = ["SILENT_EMPTY_INPUT"]

_READS = r"(?i)^(?:read|from)[-_]|readparquet|readcsv|fused-?io"
_LITTLE = 10_000  # bytes of a few empty tables
_SOME = 4  # tasks
_RARE = 0.5  # of the runs without such a change
_LONG = 0.05  # seconds of a task that tell of what it read


def _ask(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded":
        return
    nothing = _without_a_file(case)
    if nothing is not None:
        yield _of_nothing(case, nothing)
        return
    graphs = case.run.details("graph-updated")
    if any(graph.get("tasks") for graph in graphs) or len(case.run.tasks):
        yield from _less_than_ever(case)
    elif case.run.details("worker-added"):
        yield from _without_a_task(case)


def _without_a_file(case: Case) -> dict[str, Any] | None:
    """Return a task that is called reading and had nothing to read, if all were such."""
    graphs = case.run.details("graph-updated")
    hollow = {str(name) for graph in graphs for name in graph.get("hollow") or ()}
    reads = case.run.tasks.filter(
        pl.col("prefix").str.contains(_READS) & (pl.col("outcome") == "finished")
    )
    if not hollow or not set(reads["prefix"].to_list()) <= hollow or not len(reads):
        return None
    return reads.row(0, named=True)


def _of_nothing(case: Case, row: dict[str, Any]) -> Finding:
    key, prefix = row["key"], row["prefix"]
    return SILENT_EMPTY_INPUT.found(
        f"'{short(prefix, 40)}' read nothing, and the run succeeded",
        cause=(
            f"The graph has a table without rows and columns where it is called reading "
            f"('{short(key, 60)}'): a pattern of paths that matches no file gives such a "
            "table, and no error. What was computed from it is empty."
        ),
        remedy=(
            "Check the path (its date, its bucket, its spelling) and whether the files had "
            "arrived. Let the run fail next time: "
            "`if not ddf.columns.size: raise FileNotFoundError(path)`, or list the files "
            "first."
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
    if _asked_otherwise(case):
        return
    yield SILENT_EMPTY_INPUT.found(
        f"No task was sent to the cluster; there never were fewer than {min(tasks)}",
        cause=(
            "The run succeeded, had workers, and gave them nothing to do. "
            f"{counted(len(tasks), 'good run')} of this job before sent at least "
            f"{counted(min(tasks), 'task')} each: where tasks are made for each file or "
            "row that is found, none was found."
        ),
        remedy=(
            "Check whether the input had arrived when the run began, and whether its path "
            "is that of this run's day. Let the run fail where it finds nothing to do."
        ),
        confidence="medium",
        evidence=(
            Evidence(
                text=f"No graph reached the scheduler; in good runs before, at least "
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
    if _asked_otherwise(case) or _read_as_long(case):
        return
    yield SILENT_EMPTY_INPUT.found(
        f"Next to nothing was read: {size(now.nbytes)}; it never was less than {size(usual)}",
        cause=(
            f"The tasks that read gave {size(now.nbytes)} in "
            f"{counted(now.partitions or 0, 'piece')}. The good runs of this job before "
            f"read at least {size(usual)}. The run succeeded on what little there was."
        ),
        remedy=(
            "Check whether the input had arrived when the run began, and whether its path "
            "and filters are those of this run's day; then run it again."
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


def _asked_otherwise(case: Case) -> bool:
    """Say whether parameters, or the code that reads, are others than in the last good run.

    What is read and what is kept of it may be one task: then less is what was asked for.
    """
    sketch = sketch_of(case)
    good = case.history.last_good_for(sketch.run_id)
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
    """Say whether the tasks that read took as long as in the good runs: they had input."""
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


SILENT_EMPTY_INPUT = Rule(
    slug="silent-empty-input",
    title="The run succeeded on empty input",
    question="Was nothing read, and nothing said about it?",
    severity="warning",
    retry_advice="data",
    ask=_ask,
    thresholds={"share_of_usual": 0.01, "good_runs": 3},
    page=Page(
        detects=(
            "`dd.read_parquet` of a pattern that matches no file returns an empty table "
            "instead of an error; a file that holds only its header is read like any other. "
            "The run is green, and its result is empty."
        ),
        evidence=(
            "An empty table in the graph in place of files, as all that was read; or, with "
            "three good runs of the job before, less than a hundredth of the least that any "
            "of them read, or no task at all. Bytes are of the results in memory. Silent on "
            "tables that are empty because nothing more was asked for; on nights with other parameters or "
            "other code where it is read, and where reading took as long as ever, as then "
            "something was read and left out; on jobs whose input has always been small; and "
            "on files without rows in a job without history."
        ),
        remedy="Check the path and the time of arrival; fail where there is nothing to read.",
        before='ddf = dd.read_parquet(f"s3://lake/{day}/*.parquet")',
        after='paths = fs.glob(f"s3://lake/{day}/*.parquet")\nif not paths:\n    raise FileNotFoundError(day)\nddf = dd.read_parquet(paths)',
    ),
)
