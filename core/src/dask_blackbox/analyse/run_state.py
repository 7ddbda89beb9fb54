"""How a run ended, according to its recording."""

from __future__ import annotations

import time
from typing import Literal, cast, get_args

from dask_blackbox.events import DriverEnded, DriverLost
from dask_blackbox.formatting import signal_name, signal_number
from dask_blackbox.manifest import STALE
from dask_blackbox.run_tables import RunTables

State = Literal["running", "succeeded", "failed", "aborted", "lost"]

FAILED: tuple[State, ...] = ("failed", "aborted", "lost")
"""States of a run that need a verdict."""

ASKED = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals by which a host or a person asks a driver to exit."""


def state_of(run: RunTables, *, now: float | None = None) -> State:
    """Return the state of a run.

    Args:
        now: Epoch seconds; the present, if not given.
    """
    if run.ending is not None:
        state = run.ending.state
        return cast("State", state) if state in get_args(State) else "failed"
    return "lost" if silent_for(run, now=now) > STALE else "running"


def silent_for(run: RunTables, *, now: float | None = None) -> float:
    """Return the seconds since the last sign of life of a run.

    Args:
        now: Epoch seconds; the present, if not given.
    """
    present = time.time() - run.clock_ahead if now is None else now
    return present - last_sign_of_life(run)


def last_sign_of_life(run: RunTables) -> float:
    """Return the last moment that the recording knows of, in epoch seconds."""
    if run.ending is not None:
        return run.ending.ended
    return max(recorded_until(run), run.last_heartbeat or 0.0)


def seconds_of(run: RunTables) -> float:
    """Return how long a run took, or has taken as far as is known, in seconds.

    By the recorder's monotonic clock: the difference of two readings of the other
    one is false after a jump.
    """
    if run.ending is not None and run.ending.lasted is not None:
        return run.ending.lasted
    return max(last_sign_of_life(run) - run.manifest.started, 0.0)


def recorded_until(run: RunTables) -> float:
    """Return the moment of the last fact that was recorded, in epoch seconds.

    What happened later is unknown, although the recorder may have run for seconds.
    """
    moments = [
        float(frame["at"].dt.epoch("us").max() or 0) / 1e6  # type: ignore[arg-type]
        for frame in (run.events, run.metrics, run.logs)
        if len(frame)
    ]
    return max(run.manifest.started, *moments, 0.0)


def is_clusterless(run: RunTables) -> bool:
    """Return whether only the driver was recorded, as it had no client."""
    sources = () if run.ending is None else run.ending.sources
    alone = bool(sources) and all(each.startswith("driver") for each in sources)
    # A recorder that replaced another one need not have reached the cluster any more.
    return alone and not len(run.workers) and not len(run.tasks)


def exit_code_of_driver(run: RunTables) -> int | None:
    """Return what the driver's process exited with; negative for a signal."""
    code = None if run.ending is None else run.ending.exit_code
    lost = next(iter(run.of(DriverLost)[-1:]), DriverLost())
    return lost.exit_code if code is None else code


def signal_of_driver(run: RunTables) -> str | None:
    """Return the signal that ended the driver; shells say 128 and the signal's number."""
    ended = next(iter(run.of(DriverEnded)[-1:]), DriverEnded())
    number = ended.signal
    if number is None:
        number = signal_number(exit_code_of_driver(run))
    return None if number is None else signal_name(-abs(number))
