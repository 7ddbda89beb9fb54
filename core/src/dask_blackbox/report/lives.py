"""The workers: what each of them was, how much it did, and how it ended."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec
import polars as pl

from dask_blackbox.report.axis import Axis
from dask_blackbox.report.words import ended, plural
from dask_blackbox.run import RunTables

__all__ = ["Life", "lives_of"]

_ORDERLY = (
    "nanny-close",
    "worker-close",
    "worker-lifetime-reached",
    "scheduler-close",
    "scheduler-remove-worker",
    "client-restart",
)


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
        last_memory: (epoch seconds, RSS) of its last half minute, if it left a certificate.
        certificate: What its nanny and its ring say.
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
    lost: int | None = None
    last_memory: list[tuple[float, float]] = msgspec.field(default_factory=list)
    certificate: dict[str, Any] = msgspec.field(default_factory=dict)

    def busy_share(self, axis: Axis) -> float | None:
        """Return the share of its thread-seconds on the axis in which it computed."""
        begin = max(axis.start, self.joined or axis.start)
        there = (min(axis.stop, self.left or axis.stop) - begin) * (self.nthreads or 1)
        return min(1.0, self.busy / there) if there > 0 else None


def lives_of(run: RunTables) -> list[Life]:
    """Return the workers in the order in which they joined."""
    did = _work_by_address(run.tasks)
    peaks = _peaks_by_address(run.metrics)
    closed_from = _orderly_from(run)
    lives = []
    for row in run.workers.sort("joined", maintain_order=True).iter_rows(named=True):
        life = _life(row, closed_from)
        tasks, troubles, busy = did.get(life.address, (0, 0, 0.0))
        life.tasks, life.troubles, life.busy = tasks, troubles, busy
        life.peak, life.spilled = peaks.get(life.address, (None, None))
        curve = [int(rss) for _, rss in life.last_memory]
        life.peak = max([*curve, *([life.peak] if life.peak else [])], default=None)
        lives.append(life)
    return lives


def _life(row: dict[str, Any], closed_from: float) -> Life:
    certificate = json.loads(row["certificate"]) if row["certificate"] else {}
    left = row["left"].timestamp() if row["left"] else None
    fate = _fate(row, left, closed_from)
    return Life(
        address=row["address"],
        label=_label(row),
        host=row["host"] or "",
        pid=row["pid"],
        nthreads=row["nthreads"],
        limit=row["memory_limit"],
        joined=row["joined"].timestamp() if row["joined"] else None,
        left=left,
        fate=fate,
        how=_how(row, fate, certificate),
        lost=row["lost"],
        last_memory=_curve(certificate.get("memory")),
        certificate=certificate,
    )


def _label(row: dict[str, Any]) -> str:
    bare = str(row["address"]).split("://")[-1]
    name = row["name"]
    if not name or name == row["address"]:
        return bare
    # A restarted worker keeps its name, not its address.
    return f"{name} :{bare.rsplit(':', 1)[-1]}"


def _fate(row: dict[str, Any], left: float | None, closed_from: float) -> str:
    if left is None:
        return "stayed"
    orderly = (row["closing"] or "").startswith(_ORDERLY)
    if row["expected"] or orderly or left >= closed_from:
        return "left"
    return "died"


def _how(row: dict[str, Any], fate: str, certificate: dict[str, Any]) -> str:
    if fate == "stayed":
        return "there to the end"
    if fate == "left":
        return f"left in good order{_reason(row)}"
    code = row["exit_code"]
    said = ended(code) if code is not None else "vanished; how is not known"
    said += _reason(row)
    if certificate.get("oom_kills"):
        kills = plural(certificate["oom_kills"], "kill")
        said += f", {kills} counted by the kernel's OOM killer"
    if certificate.get("asked_to_close"):
        said += ", asked to close by its nanny"
    return said


def _reason(row: dict[str, Any]) -> str:
    return f" ({row['closing']})" if row["closing"] else ""


def _curve(memory: Any) -> list[tuple[float, float]]:
    points = memory if isinstance(memory, list) else []
    return [
        (float(point[0]), float(point[1]))
        for point in points
        if isinstance(point, list) and len(point) == 2 and None not in point  # noqa: PLR2004
    ]


def _orderly_from(run: RunTables) -> float:
    """Return from when on a worker that leaves only follows the end of the run."""
    endings = run.events.filter(
        pl.col("kind").is_in(["driver-ended", "scheduler-closing"])
    )["at"].min()
    return endings.timestamp() if isinstance(endings, datetime) else float("inf")


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
