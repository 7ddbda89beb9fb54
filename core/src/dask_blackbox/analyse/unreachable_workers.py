"""Workers that live, and that nobody gets a connection to.

A worker calls the scheduler by itself, so it registers, sends heartbeats and runs tasks
even where nobody can call it: behind a firewall, or under an address that is not its own.
"""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import CONNECT_TIMED_OUT
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import short

__all__ = ["unreached"]

_CLOSING_SECONDS, _RECENT = 5.0, 15.0


def unreached(case: Case) -> list[tuple[str, Evidence]]:
    """Return workers that were tried in vain while they were there, with the last line."""
    end = last_sign_of_life(case.run) - _CLOSING_SECONDS
    beats = case.run.metrics.group_by("source", maintain_order=True).agg(
        pl.col("at").max()
    )
    beating = {s for s, at in beats.iter_rows() if at.timestamp() > end - _RECENT}
    there = {
        row["address"]
        for row in case.run.workers.select("address", "left").to_dicts()
        if row["address"] in beating
        and (row["left"] is None or row["left"].timestamp() > end)
    }
    logs = case.run.logs.filter(printed_by(CONNECT_TIMED_OUT))
    found: dict[str, Evidence] = {}
    for row in logs.sort("at").to_dicts():
        tried = CONNECT_TIMED_OUT.search(row["message"])
        if tried is None or tried["address"] not in there:
            continue
        found[tried["address"]] = Evidence(
            text=f"{row['role']} {row['source']}: {short(row['message'], 240)}",
            source="logs",
            at=row["at"].timestamp(),
            see=case.show_command("logs", "--role", row["role"]),
        )
    return list(found.items())
