"""Sizes of results that a host wraps, in the place of the sizes of their wrappers."""

from __future__ import annotations

import polars as pl

__all__ = ["with_measured_results"]

_KIND = "result-size"


def with_measured_results(tasks: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the table `tasks`, its `nbytes` corrected by what workers have measured.

    Args:
        tasks: One row per execution.
        events: Those of the run; `result-size` events name the key and the bytes.
    """
    reported = events.filter(pl.col("kind") == _KIND)
    if not reported.height:
        return tasks
    sizes = reported.group_by(pl.col("subject").alias("key"), maintain_order=True).agg(
        pl.col("detail")
        .str.json_path_match("$.nbytes")
        .cast(pl.Int64, strict=False)
        .last()
        .alias("measured")
    )
    finished = pl.col("outcome") == "finished"
    larger = finished & (pl.col("measured") > pl.col("nbytes").fill_null(0))
    corrected = pl.when(larger).then("measured").otherwise("nbytes").alias("nbytes")
    joined = tasks.join(sizes, on="key", how="left", maintain_order="left")
    return joined.with_columns(corrected).drop("measured")
