"""Healthy jobs that run night after night, each night with other parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
from distributed import Client
from healthy_tasks import prices

__all__ = ["NIGHTS"]


def sampled_night(
    client: Client, data: Path, *, paths: int = 40, steps: int = 100_000
) -> None:
    """A job that is given its size, each night another."""
    client.gather(client.map(prices, range(paths), steps=steps, pure=False))


def night_of_files(client: Client, data: Path, *, files: int = 12) -> None:
    paths = sorted((data / "x").glob("*.parquet"))[:files]
    dd.read_parquet(paths).groupby("id1")["v3"].agg(["mean", "std"]).compute()


NIGHTS: dict[Any, tuple[dict[str, int], ...]] = {
    sampled_night: tuple(
        {"paths": p, "steps": s}
        for p, s in (
            (40, 100_000), (44, 90_000), (36, 110_000), (80, 100_000), (20, 60_000),
            (40, 200_000), (120, 100_000), (40, 100_000),
        )
    ),
    night_of_files: tuple({"files": n} for n in (6, 7, 6, 8, 7, 12, 3, 12)),
}  # fmt: skip
