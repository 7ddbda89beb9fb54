"""Events as they are stored: JSON objects, for tests of what capture writes."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from dask_blackbox.run_tables import RunTables

__all__ = ["details"]


def details(run: RunTables, kind: str) -> list[dict[str, Any]]:
    """Return the stored fields of all events of a kind, with `at` and `subject`."""
    chosen = run.events.filter(pl.col("kind") == kind)
    return [
        {**json.loads(row["detail"]), "at": row["at"], "subject": row["subject"]}
        for row in chosen.iter_rows(named=True)
    ]
