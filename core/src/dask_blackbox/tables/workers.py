"""The life of each worker process, put together from the events that tell of it."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from dask_blackbox.tables.rows import frame_of_columns
from dask_blackbox.tables.schemas import WORKER_COLUMNS

__all__ = ["workers_of"]


def workers_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row per worker process, from the events that tell of its life."""
    lives: list[dict[str, object]] = []
    open_lives: dict[str, dict[str, object]] = {}
    certificates: list[tuple[str, float, dict[str, object]]] = []
    for at, kind, subject, detail in events.select(
        pl.col("at").dt.epoch("us") / 1e6, "kind", "subject", "detail"
    ).iter_rows():
        if not kind.startswith("worker-"):
            continue
        facts = json.loads(detail)
        if kind == "worker-added":
            life = dict.fromkeys(WORKER_COLUMNS) | {"address": subject, "joined": at}
            life |= {k: facts.get(k) for k in ("name", "host", "pid", "nanny")}
            life |= {k: facts.get(k) for k in ("nthreads", "memory_limit")}
            life["name"] = None if life["name"] is None else str(life["name"])
            open_lives[subject] = life
            lives.append(life)
        elif kind == "worker-certificate":
            certificates.append((subject, at, facts))
        elif subject in open_lives and kind == "worker-closing":
            open_lives[subject]["closing"] = facts.get("reason")
        elif subject in open_lives and kind == "worker-removed":
            life = open_lives.pop(subject)
            life |= {"left": at, "expected": facts.get("expected")}
            life["stimulus_id"] = facts.get("stimulus_id")
            life["lost"] = len(facts.get("processing", ()))
    for address, _, facts in certificates:
        for life in lives:
            if life["address"] == address and life["pid"] in (facts.get("pid"), None):
                _testify(life, facts)
    return frame_of_columns(
        "workers", {name: [life[name] for life in lives] for name in WORKER_COLUMNS}
    )


def _testify(life: dict[str, Any], facts: dict[str, object]) -> None:
    """Put a certificate into a life; several may testify to one death."""
    for fact in ("exit_code", "asked_to_close"):
        if facts.get(fact) is not None:
            life[fact] = facts[fact]
    # Nobody's silence takes back what another has seen.
    known = json.loads(life["certificate"] or "{}")
    reported = {
        name: fact for name, fact in facts.items() if fact not in (None, "", [])
    }
    life["certificate"] = json.dumps({**facts, **known, **reported})
