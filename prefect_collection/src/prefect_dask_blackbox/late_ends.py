"""Tells Prefect how a flow run ended, once its server answers again.

A server that is away when a flow run ends gets neither its card nor its state, and the flow
run stays *Running*.  The flow's process must not wait for the server, so it hands all that is
known to a process that outlives it: `python -m prefect_dask_blackbox.late_ends`.  What has
arrived by then is left as it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview
from dask_blackbox.events import TaskNamed

__all__ = ["LateEnd", "TaskEnd", "finish_later"]

_STARTING = 30.0
"""Seconds for the process to take what it is given."""
_MOST, _LIVE = 3, 1_800.0
"""Such processes that a flow's process starts at most in the seconds that one of them lives."""
_ENDING = 300.0
"""Seconds for the flow's process to end; a notebook or a server of flows does not."""

_NOT_TOLD = "When the flow run ended, Prefect's server did not answer"

_started: deque[float] = deque(maxlen=_MOST)
_starting = threading.Lock()


class TaskEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of a task run, as far as the flow's process knows.

    Attributes:
        id: Of the task run.
        name: What to call it, if it never came into being.
        task_key: Of its task, likewise.
        type: Of its state.
        state: The name of its state.
        message: Of its state.
        rename: The user gave it that name.
    """

    id: str
    name: str
    task_key: str
    type: str
    state: str
    message: str | None = None
    rename: bool = False


class LateEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a flow run ended.

    Attributes:
        pid: Of the flow's process.
        host: Of the run's manifest.
        card: Its final card.
        overview: The extremes of the run and its picture.
        tasks: What Prefect calls its tasks.
        ends: What has become of its task runs.
        completes: Its function returned what Prefect's engine makes a completed run of.
        environment: What Prefect's client needs to know, as environment variables.
    """

    pid: int
    host: dict[str, Any]
    card: RunCard
    overview: Overview | None = None
    tasks: tuple[TaskNamed, ...] = ()
    ends: tuple[TaskEnd, ...] = ()
    completes: bool = False
    environment: dict[str, str] = {}


@dataclass(frozen=True)
class _TooManyError(Exception):
    """There are as many such processes as there may be."""

    run_id: str

    def __str__(self) -> str:
        return (
            f"{_MOST} flow runs of this process wait for the server already; when it answers, "
            f"run: dask blackbox prefect finalise {self.run_id}"
        )


def finish_later(end: LateEnd) -> None:
    """Start the process that tells Prefect how a flow run ended.

    Raises:
        Exception: if it can't be started.
    """
    from dask_blackbox.protocol.detached_process import unrecorded_environment

    from prefect_dask_blackbox.environment import host_environment
    from prefect_dask_blackbox.outgoing import outgoing_in

    told: Any = outgoing_in(msgspec.to_builtins(end))
    told["environment"] = host_environment()  # with the key of the API: by its own pipe
    with _starting:
        now = time.monotonic()
        if len(_started) == _MOST and now - _started[0] < _LIVE:
            raise _TooManyError(end.card.run_id)
        _started.append(now)
    subprocess.run(  # noqa: S603 - our own command
        # -P: a module of the user's folder must not shadow one of ours.
        [sys.executable, "-P", "-m", __name__],
        input=msgspec.json.encode(told),
        env=unrecorded_environment(),
        # What waits for the end of the flow's output must not wait for this process.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        timeout=_STARTING,
        check=True,
    )


def main() -> None:
    """Take what is known from standard input, and continue as a process of its own."""
    end = msgspec.json.decode(sys.stdin.buffer.read(), type=LateEnd)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.environ.update(end.environment)
    _wait_for_end_of(end.pid)
    from dask_blackbox.recorder.host_finaliser import PAUSES

    for pause in (0.0, *PAUSES):
        time.sleep(pause)
        with suppress(Exception):  # the server is still away
            _tell(end)
            return


def _wait_for_end_of(pid: int) -> None:
    """Wait until the flow's process has ended: until then, Prefect's engine may succeed."""
    import psutil  # type: ignore[import-untyped]  # a dependency of distributed's

    with suppress(psutil.Error):
        psutil.Process(pid).wait(_ENDING)


def _tell(end: LateEnd) -> None:
    import prefect.main  # noqa: F401 - it completes the classes of states, up to Prefect 3.4

    from prefect_dask_blackbox.final_states import settle
    from prefect_dask_blackbox.finalising import finalise_run
    from prefect_dask_blackbox.identity import prefect_client

    with prefect_client() as client:
        settle(client, UUID(str(end.host["flow_run_id"])), _states(end.ends))
    finalise_run(end.host, end.card, end.tasks, end.overview, state=_state_of_run(end))


def _state_of_run(end: LateEnd) -> Any:
    """Return what the flow run becomes, if the server has no final state of it."""
    from prefect.states import Completed, Crashed, Failed

    card = end.card
    if card.state == "failed":
        return Failed(message=card.headline)
    if card.state == "succeeded" and end.completes:
        return Completed(message=f"{_NOT_TOLD}, which got this state later.")
    if card.state == "succeeded":
        # Its result decides, and only Prefect's engine has that.
        return Crashed(message=f"The flow's function returned. {_NOT_TOLD}.")
    return Crashed(message=card.headline)


def _states(ends: Sequence[TaskEnd]) -> list[Any]:
    from prefect.client.schemas.objects import State, StateType

    from prefect_dask_blackbox.final_states import FinalState

    return [
        FinalState(
            id=UUID(each.id),
            name=each.name,
            task_key=each.task_key,
            state=State(
                type=StateType(each.type), name=each.state, message=each.message
            ),
            rename=each.rename,
            log=False,
        )
        for each in ends
    ]


if __name__ == "__main__":
    main()
