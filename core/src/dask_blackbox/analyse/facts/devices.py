"""The GPUs of workers: what NVML said of each when its worker joined, and in samples.

Dask reports the first device that a worker may use; with CUDA_VISIBLE_DEVICES set to one for each
worker, as `LocalCUDACluster` does, that is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dask_blackbox.events import ProcessAncestors
from dask_blackbox.run_tables import RunTables, epoch


@dataclass(frozen=True, kw_only=True)
class Device:
    """The GPU of a worker, and how much it was used.

    Attributes:
        name: Of the device; empty: not known.
        total: Bytes of its memory; None: not known.
        peak: The most bytes that were in use; None: it was never sampled.
        busy: Mean percent of the time in which it computed; None: not known.
    """

    name: str = ""
    total: int | None = None
    peak: int | None = None
    busy: float | None = None


def devices_of(run: RunTables) -> Mapping[str, Device]:
    """Return the GPU of each worker that has one, by the worker's address."""
    return run.once(_devices)


def _devices(run: RunTables) -> dict[str, Device]:
    named = {
        each.subject: (each.gpu, each.gpu_memory)
        for each in run.of(ProcessAncestors)
        if each.gpu or each.gpu_memory
    }
    sampled = (
        run.metrics.filter(pl.col("gpu_memory").is_not_null())
        .group_by("source", maintain_order=True)
        .agg(pl.col("gpu_memory").max(), pl.col("gpu").mean())
    )
    used = {source: (peak, busy) for source, peak, busy in sampled.iter_rows()}
    return {
        source: Device(
            name=named.get(source, ("", None))[0],
            total=named.get(source, ("", None))[1],
            peak=used.get(source, (None, None))[0],
            busy=used.get(source, (None, None))[1],
        )
        for source in dict.fromkeys((*named, *used))
    }


def device_use_before(
    run: RunTables, worker: str, at: float
) -> tuple[float, int] | None:
    """Return when a worker's GPU was last sampled before a moment, and its bytes in use then."""
    before = run.metrics.filter(
        (pl.col("source") == worker)
        & pl.col("gpu_memory").is_not_null()
        & (epoch("at") <= at)
    ).select(epoch("at"), "gpu_memory")
    rows = before.tail(1).rows()
    return (float(rows[0][0]), int(rows[0][1])) if rows else None
