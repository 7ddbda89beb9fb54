"""Tasks by prefix: counts, and quantiles of seconds, bytes and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
import polars as pl

from dask_blackbox.analyse.sketching.normalisation import normal_prefix, own_name
from dask_blackbox.events import FilesRead, GraphUpdated
from dask_blackbox.run_tables import FINISHED, RunTables
from dask_blackbox.sketch import QUANTILES, REST, Inputs, PrefixSketch
from dask_blackbox.tables.schemas import Row

_MOST = 150
_MOST_FUNCTIONS = 16
_MOST_CODES = 4
_LEAST_REPORTED = 0.25  # of the time that tasks took


def prefixes_of(run: RunTables) -> tuple[PrefixSketch, ...]:
    """Return the tasks of a run by prefix, those that cost most first.

    Beyond the first 150, all others are one, called `REST`.
    """
    plans = _plans(run)
    found = _measured(run)
    for name, opened in _opened(run).items():
        found.setdefault(name, {}).update(opened)
    names = sorted(
        {*plans, *found},
        key=lambda name: (
            -found.get(name, {}).get("compute", 0.0),
            -plans.get(name, {}).get("planned", 0),
            name,
        ),
    )
    sketches = [
        PrefixSketch(name=name, **plans.get(name, {}), **found.get(name, {}))
        for name in names
    ]
    if len(sketches) <= _MOST:
        return tuple(sketches)
    return (*sketches[:_MOST], _merged(sketches[_MOST:]))


def with_cpu(
    prefixes: tuple[PrefixSketch, ...], activities: Mapping[str, Mapping[str, float]]
) -> tuple[PrefixSketch, ...]:
    """Return prefixes with the seconds that their tasks had a core.

    Workers tell them with their heartbeats, of which the last ones may not be heard: the
    share of what was reported counts for all, unless that is little.

    Args:
        prefixes: As `prefixes_of` returns them.
        activities: Seconds by prefix and activity, in Dask's words.
    """
    found: dict[str, list[float]] = {}
    for name, parts in activities.items():
        sums = found.setdefault(normal_prefix(name), [0.0, 0.0])
        sums[0] += parts.get("thread-cpu", 0.0)
        sums[1] += parts.get("thread-cpu", 0.0) + parts.get("thread-noncpu", 0.0)
    return tuple(
        _with_cpu(each, *found.get(each.name, (0.0, 0.0))) for each in prefixes
    )


def _with_cpu(prefix: PrefixSketch, cpu: float, measured: float) -> PrefixSketch:
    if not measured or measured <= _LEAST_REPORTED * prefix.compute:
        return prefix
    return msgspec.structs.replace(
        prefix, cpu=round(prefix.compute * cpu / measured, 6)
    )


def inputs_of(prefixes: tuple[PrefixSketch, ...]) -> Inputs:
    """Return what was read: the tasks without inputs, and the bytes that they gave.

    Of a run that broke off, what was still to be read is counted by the average.
    """
    roots = [each for each in prefixes if each.roots]
    found = Inputs(
        partitions=sum(each.roots for each in roots) or None,
        files=sum(each.files or 0 for each in prefixes) or None,
        read=sum(each.read or 0 for each in prefixes) or None,
    )
    read = [each for each in roots if each.tasks]
    if not read:
        return found
    # A prefix may have tasks with and without inputs: its average stands for both.
    known = sum(each.roots * each.result / each.tasks for each in read)
    return msgspec.structs.replace(found, nbytes=round(known))


def _opened(run: RunTables) -> dict[str, Row]:
    """Return how many files the tasks of each prefix opened to read, and their bytes.

    A file counts once, on however many workers: many tasks may read a part of it each.
    """
    files: dict[str, dict[str, int]] = {}
    more = Counter[str]()
    more_bytes = Counter[str]()
    for each in run.of(FilesRead):
        name = normal_prefix(each.prefix)
        files.setdefault(name, {}).update(each.files)
        more[name] += each.more
        more_bytes[name] += each.more_bytes
    return {
        name: {
            "files": len(known) + more[name],
            "read": sum(known.values()) + more_bytes[name],
        }
        for name, known in files.items()
    }


def _merged(rest: list[PrefixSketch]) -> PrefixSketch:
    return PrefixSketch(
        name=REST,
        tasks=sum(each.tasks for each in rest),
        failed=sum(each.failed for each in rest),
        planned=sum(each.planned for each in rest),
        roots=sum(each.roots for each in rest),
        compute=round(sum(each.compute for each in rest), 6),
        result=sum(each.result for each in rest),
        files=sum(each.files or 0 for each in rest) or None,
        read=sum(each.read or 0 for each in rest) or None,
    )


def _plans(run: RunTables) -> dict[str, Row]:
    """Return the facts of each prefix in the graphs: tasks, those without inputs, code."""
    plans: dict[str, Row] = {}
    for graph in run.of(GraphUpdated):
        for name, new in graph.new.items():
            plan = plans.setdefault(normal_prefix(name), {})
            plan["planned"] = plan.get("planned", 0) + new.tasks
            plan["roots"] = plan.get("roots", 0) + new.roots
        _add_code(plans, graph)
    return plans


def _add_code(plans: dict[str, Row], graph: GraphUpdated) -> None:
    """Add what a graph shows the code of its prefixes."""
    for kind, codes in (
        ("code", graph.code),
        ("code_without_values", graph.code_without_values),
    ):
        for name, code in codes.items():
            plan = plans.setdefault(normal_prefix(name), {})
            known = {*plan.get(kind, "").split("+"), code} - {""}
            plan[kind] = "+".join(sorted(known)[:_MOST_CODES])
    for kind, names in (("functions", graph.functions), ("libraries", graph.libraries)):
        for name, own in names.items():
            plan = plans.setdefault(normal_prefix(name), {})
            known_names = dict.fromkeys((*plan.get(kind, ()), *map(own_name, own)))
            plan[kind] = tuple(known_names)[:_MOST_FUNCTIONS]
    for name, values in graph.values.items():
        given = plans.setdefault(normal_prefix(name), {}).setdefault("values", {})
        for each, value in values.items():
            given.setdefault(own_name(each), value)


def _measured(run: RunTables) -> dict[str, Row]:
    tasks = run.tasks.filter(pl.col("prefix").is_not_null())
    if not len(tasks):
        return {}
    names = tasks["prefix"].unique().to_list()
    normal = pl.col("prefix").replace_strict(
        names, [normal_prefix(name) for name in names], return_dtype=pl.String
    )
    tasks = tasks.with_columns(normal.alias("name"))
    done = FINISHED
    measures = tasks.group_by("name", maintain_order=True).agg(
        done.sum().alias("tasks"),
        (~done).sum().alias("failed"),
        pl.col("compute").sum().round(6).alias("compute"),
        pl.col("nbytes").filter(done).sum().cast(pl.Float64).alias("result"),
        *_quantiles(pl.col("compute").filter(done), "seconds"),
        *_quantiles(pl.col("nbytes").filter(done), "nbytes"),
    )
    memory = _memory(run, tasks)
    return {
        row["name"]: _as_fields(row) | memory.get(row["name"], {})
        for row in measures.iter_rows(named=True)
    }


def _quantiles(column: pl.Expr, name: str) -> list[pl.Expr]:
    return [
        column.quantile(share, "nearest").alias(f"{name} {n}")
        for n, share in enumerate(QUANTILES)
    ]


def _as_fields(row: Row) -> Row:
    fields = {k: v for k, v in row.items() if " " not in k and k != "name"}
    for name in ("seconds", "nbytes"):
        fields[name] = _rounded(row, name)
    return fields


def _rounded(row: Row, name: str) -> tuple[float, ...]:
    values = [row[f"{name} {n}"] for n in range(len(QUANTILES))]
    if any(value is None for value in values):
        return ()
    return tuple(float(f"{value:.4g}") for value in values)


def _memory(run: RunTables, tasks: pl.DataFrame) -> dict[str, Row]:
    """Return quantiles of workers' memory while tasks of a prefix ran, by prefix.

    A sample counts for the task that had begun last, and for the one that ended next:
    of many threads, these stand for all.
    """
    samples = (
        run.metrics.filter(pl.col("memory") > 0)
        .select("at", "memory", worker="source")
        .sort("at")
    )
    spans = tasks.select("worker", "name", "start", "stop").drop_nulls()
    if not len(samples) or not len(spans):
        return {}
    begun = samples.join_asof(
        spans.sort("start"), left_on="at", right_on="start", by="worker",
        strategy="backward", check_sortedness=False, coalesce=False,
    )  # fmt: skip
    ending = samples.join_asof(
        spans.sort("stop"), left_on="at", right_on="stop", by="worker",
        strategy="forward", check_sortedness=False, coalesce=False,
    )  # fmt: skip
    columns = ["at", "worker", "name", "memory", "start", "stop"]
    running = pl.concat([begun.select(columns), ending.select(columns)]).filter(
        (pl.col("start") <= pl.col("at")) & (pl.col("stop") >= pl.col("at"))
    )
    seen = (
        running.unique(["at", "worker", "name"])
        .group_by("name", maintain_order=True)
        .agg(*_quantiles(pl.col("memory"), "memory"))
    )
    return {
        row["name"]: {"memory": _rounded(row, "memory")}
        for row in seen.iter_rows(named=True)
    }
