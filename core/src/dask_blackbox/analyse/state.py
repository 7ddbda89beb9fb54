"""How a run ended, as far as its recording can say."""

from __future__ import annotations

import time
from typing import Literal, cast, get_args

from dask_blackbox.run import RunTables

__all__ = ["FAILED", "STALE", "State", "last_sign_of_life", "state_of"]

State = Literal["running", "succeeded", "failed", "aborted", "lost"]

FAILED: tuple[State, ...] = ("failed", "aborted", "lost")
"""States of a run that want a verdict."""

STALE = 60.0
"""Seconds without a heartbeat after which nobody is believed to record any more."""


def state_of(run: RunTables, *, now: float | None = None) -> State:
    """Return the state of a run.

    Args:
        run: The run.
        now: Epoch seconds; the present, if not given.
    """
    if run.ending is not None:
        state = run.ending.state
        return cast("State", state) if state in get_args(State) else "failed"
    silent_for = (time.time() if now is None else now) - last_sign_of_life(run)
    return "lost" if silent_for > STALE else "running"


def last_sign_of_life(run: RunTables) -> float:
    """Return the last moment that the recording knows of, in epoch seconds."""
    if run.ending is not None:
        return run.ending.ended
    moments = [run.manifest.started, run.last_heartbeat or 0.0]
    moments += [
        float(frame["at"].dt.epoch("us").max() or 0) / 1e6  # type: ignore[arg-type]
        for frame in (run.events, run.metrics, run.logs)
        if len(frame)
    ]
    return max(moments)
