"""The workers of a run and its spans, assembled from events and tasks."""

from __future__ import annotations

import json

import polars as pl

from dask_blackbox.tables.batches import frame_of_columns
from dask_blackbox.tables.schemas import MOMENT, WORKER_COLUMNS, ColumnType, Row

_UNNAMED = "default"  # Dask's own name for what is in no span
_SECONDS = ("compute", "transfer", "disk")

SPAN_COLUMNS: dict[str, ColumnType] = {
    "span": pl.String,  # its id
    "name": pl.String,  # from the outermost on: etl/load
    "parent": pl.String,  # id; null: none
    "enqueued": MOMENT,
    "start": MOMENT,
    "stop": MOMENT,
    "tasks": pl.Int64,
    "failed": pl.Int64,
    "compute": pl.Float64,
    "transfer": pl.Float64,
    "disk": pl.Float64,
    "nbytes": pl.Int64,
}


def spans_of(events: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return one row per span, as it was last reported, without the spans within it.

    Tasks are those that are recorded: the scheduler's own counts also hold others'.
    Without any span of the user's, there is no row.
    """
    facts_of: dict[str, Row] = {}
    chosen = events.filter(pl.col("kind") == "span")
    for subject, detail in chosen.select("subject", "detail").iter_rows():
        facts_of[subject] = json.loads(detail)
    if all(facts.get("name") == [_UNNAMED] for facts in facts_of.values()):
        facts_of = {}
    spans = pl.DataFrame(
        [
            {
                "span": span,
                "name": "/".join(facts.get("name") or ()),
                "parent": facts.get("parent"),
                **{at: facts.get(at) for at in ("enqueued", "start", "stop")},
            }
            for span, facts in facts_of.items()
        ],
        schema={
            name: pl.Float64 if kind == MOMENT else kind
            for name, kind in list(SPAN_COLUMNS.items())[:6]
        },
    ).with_columns(_moment(name) for name in ("enqueued", "start", "stop"))
    totals = _totals(facts_of, tasks)
    counts = pl.col("tasks", "failed", "nbytes").fill_null(0)
    seconds = pl.col(_SECONDS).fill_null(0.0)
    table = spans.join(totals, on="span", how="left").with_columns(counts, seconds)
    return table.select(
        pl.col(name).cast(kind) for name, kind in SPAN_COLUMNS.items()
    ).sort("enqueued", maintain_order=True)


def _moment(name: str) -> pl.Expr:
    return (pl.col(name) * 1e6).round().cast(pl.Int64).cast(MOMENT)


def _totals(spans: dict[str, Row], tasks: pl.DataFrame) -> pl.DataFrame:
    """Return what the executions of each span add up to."""
    homes = pl.DataFrame(
        [
            {"group": group, "since": facts.get("enqueued"), "span": span}
            for span, facts in spans.items()
            for group in facts.get("groups") or ()
        ],
        schema={"group": pl.String, "since": pl.Float64, "span": pl.String},
    ).with_columns(_moment("since"))
    # A group's name may come again in a later span; clocks of workers may be a bit slow.
    first = homes.group_by("group", maintain_order=True).agg(
        pl.col("span").sort_by("since").first()
    )
    placed = (
        tasks.filter(pl.col("start").is_not_null())
        .sort("start")
        .join_asof(
            homes.sort("since"),
            left_on="start",
            right_on="since",
            by="group",
            check_sortedness=False,
        )
        .join(first, on="group", how="left", suffix="_first")
        .with_columns(pl.coalesce("span", "span_first").alias("span"))
    )
    return (
        placed.filter(pl.col("span").is_not_null())
        .group_by("span", maintain_order=True)
        .agg(
            pl.len().alias("tasks"),
            (pl.col("outcome") != "finished").sum().alias("failed"),
            pl.col(_SECONDS).sum(),
            pl.col("nbytes").sum(),
        )
    )


def workers_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per worker process, from the events about it."""
    processes: list[dict[str, object]] = []
    present: dict[str, dict[str, object]] = {}
    reports: list[tuple[str, float, dict[str, object]]] = []
    for at, kind, subject, detail in events.select(
        pl.col("at").dt.epoch("us") / 1e6, "kind", "subject", "detail"
    ).iter_rows():
        if not kind.startswith("worker-"):
            continue
        facts = json.loads(detail)
        if kind == "worker-added":
            process = dict.fromkeys(WORKER_COLUMNS) | {"address": subject, "joined": at}
            process |= {k: facts.get(k) for k in ("name", "host", "pid", "nanny")}
            process |= {k: facts.get(k) for k in ("nthreads", "memory_limit")}
            process["name"] = None if process["name"] is None else str(process["name"])
            present[subject] = process
            processes.append(process)
        elif kind == "worker-certificate":
            reports.append((subject, at, facts))
        elif subject in present and kind == "worker-closing":
            present[subject]["closing"] = facts.get("reason")
        elif subject in present and kind == "worker-removed":
            process = present.pop(subject)
            process |= {"left": at, "expected": facts.get("expected")}
            process["stimulus_id"] = facts.get("stimulus_id")
            process["lost"] = len(facts.get("processing", ()))
    for address, _, facts in reports:
        for process in processes:
            if process["address"] == address and process["pid"] in (
                facts.get("pid"),
                None,
            ):
                _add_exit_report(process, facts)
    return frame_of_columns(
        "workers",
        {name: [process[name] for process in processes] for name in WORKER_COLUMNS},
    )


def _add_exit_report(process: Row, facts: dict[str, object]) -> None:
    """Merge an exit report into the row of its process; one exit may have several reports."""
    for fact in ("exit_code", "asked_to_close"):
        if facts.get(fact) is not None:
            process[fact] = facts[fact]
    # A report without a field does not erase what another report has.
    known = json.loads(process["certificate"] or "{}")
    fields = {name: fact for name, fact in facts.items() if fact not in (None, "", [])}
    process["certificate"] = json.dumps({**facts, **known, **fields})
