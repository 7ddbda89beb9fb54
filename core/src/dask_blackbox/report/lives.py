"""The workers: what each of them was, how much it did, and how it ended."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import polars as pl

from dask_blackbox.analyse.deaths import Death, deaths_of
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.words import duration, ended, plural, size
from dask_blackbox.run import RunTables

__all__ = ["Life", "lives_of"]


class Life(msgspec.Struct, kw_only=True):
    """One worker process.

    Attributes:
        label: What people call it: Dask's name for it, or else its address.
        fate: `stayed` to the end, `left` in good order, or `died`.
        how: How it ended, in words.
        joined: Epoch seconds.
        left: Epoch seconds, or None while it was there.
        limit: Its memory limit in bytes.
        busy: Seconds that its threads computed.
        death: All that is known of its death, if it died.
        running: (key, epoch seconds of its start or None) of what it was executing then.
    """

    address: str
    label: str
    host: str
    pid: int | None
    nthreads: int | None
    limit: int | None
    joined: float | None
    left: float | None
    fate: str
    how: str
    tasks: int = 0
    troubles: int = 0
    busy: float = 0.0
    peak: int | None = None
    spilled: int | None = None
    death: Death | None = None
    running: list[tuple[str, float | None]] = msgspec.field(default_factory=list)

    def busy_share(self, axis: Axis) -> float | None:
        """Return the share of its thread-seconds on the axis in which it computed."""
        begin = max(axis.start, self.joined or axis.start)
        there = (min(axis.stop, self.left or axis.stop) - begin) * (self.nthreads or 1)
        return min(1.0, self.busy / there) if there > 0 else None


def lives_of(run: RunTables) -> list[Life]:
    """Return the workers in the order in which they joined."""
    did = _work_by_address(run.tasks)
    peaks = _peaks_by_address(run.metrics)
    deaths = {(death.address, death.pid): death for death in deaths_of(run)}
    lives = []
    for row in run.workers.sort("joined", maintain_order=True).iter_rows(named=True):
        life = _life(row, deaths.get((row["address"], row["pid"])))
        life.tasks, life.troubles, life.busy = did.get(life.address, (0, 0, 0.0))
        peak, life.spilled = peaks.get(life.address, (None, None))
        last = life.death.peak_memory if life.death else None
        life.peak = max(peak or 0, last or 0) or None
        lives.append(life)
    return lives


def _life(row: dict[str, Any], death: Death | None) -> Life:
    left = row["left"].timestamp() if row["left"] else None
    if death is not None:
        fate, how, left = "died", _cause(death), death.at
    elif left is None:
        fate, how = "stayed", "there to the end"
    else:
        fate, how = "left", "left in good order"
        how += f" ({row['closing']})" if row["closing"] else ""
    return Life(
        address=row["address"],
        label=_label(row),
        host=row["host"] or "",
        pid=row["pid"],
        nthreads=row["nthreads"],
        limit=row["memory_limit"] or None,
        joined=row["joined"].timestamp() if row["joined"] else None,
        left=left,
        fate=fate,
        how=how,
        death=death,
        running=_running(row, death),
    )


def _label(row: dict[str, Any]) -> str:
    bare = str(row["address"]).split("://")[-1]
    name = row["name"]
    if not name or name == row["address"]:
        return bare
    # A restarted worker keeps its name, not its address.
    return f"{name} :{bare.rsplit(':', 1)[-1]}"


def _cause(death: Death) -> str:
    code = death.exit_code
    said = [ended(code) if code is not None else "vanished; nobody saw how"]
    if death.restarted_for_memory is not None:
        held = death.restarted_for_memory
        said.append(f"its nanny ended it at {size(held)}" if held else "out of memory")
    if death.frozen_for is not None:
        said.append(f"given up after {duration(death.frozen_for)} without a heartbeat")
    if death.oom_kills:
        kills = plural(death.oom_kills, "kill")
        said.append(f"{kills} counted by the kernel's OOM killer")
    if death.closing:
        said.append(f"it said: {death.closing}")
    return ", ".join(said)


def _running(
    row: dict[str, Any], death: Death | None
) -> list[tuple[str, float | None]]:
    if death is None:
        return []
    told = json.loads(row["certificate"]) if row["certificate"] else {}
    starts = {
        str(entry["key"]): entry.get("start")
        for entry in told.get("executing") or ()
        if isinstance(entry, dict) and "key" in entry
    }
    return [(key, _number(starts.get(key))) for key in death.executing]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _work_by_address(tasks: pl.DataFrame) -> dict[str, tuple[int, int, float]]:
    done = tasks.group_by("worker").agg(
        pl.len().alias("tasks"),
        (pl.col("outcome") != "finished").sum().alias("troubles"),
        pl.col("compute").sum().alias("busy"),
    )
    return {row[0]: (row[1], row[2], row[3]) for row in done.iter_rows()}


def _peaks_by_address(
    metrics: pl.DataFrame,
) -> dict[str, tuple[int | None, int | None]]:
    peaks = metrics.group_by("source").agg(pl.max("memory"), pl.max("spilled"))
    return {row[0]: (row[1], row[2]) for row in peaks.iter_rows()}
