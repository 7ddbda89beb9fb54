"""Why Airflow ends a task, as far as the task's process can find out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.errors import chained
from dask_blackbox.guard import guard

from airflow_dask_blackbox.compat import AirflowTaskTimeout
from airflow_dask_blackbox.supervisor_watch import supervisor_is_gone

if TYPE_CHECKING:
    # The real ones bring Dask along, and DAG files are parsed all day.
    from dask_blackbox import Recording, RunCard
    from dask_blackbox.manifest import StopReason

__all__ = [
    "GRACE",
    "Stop",
    "finish_stopped",
    "note_stop",
    "stop_by_error",
    "stop_by_signal",
    "text_of_stop_while_closing",
]

GRACE: Final = 3.0
"""Seconds for ending the recording of a task that is stopped: Airflow grants five in all."""

_ANSWER: Final = 1.5
"""Seconds of the grace period to wait for Airflow's answer; a later answer is reported later."""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """The fact that Airflow ended a task.

    Attributes:
        by: Who ended it.
        reason: Why, a word of `dask_blackbox.manifest.StopReason`.
        detail: What is known beyond that.
        limit: Seconds that it was allowed to take, where that is why.
        setting: Airflow's name of that limit.
    """

    by: str = "airflow"
    reason: StopReason = "other"
    detail: str = ""
    limit: float | None = None
    setting: str = ""


def stop_by_error(
    context: Mapping[str, Any], error: BaseException | None
) -> Stop | None:
    """Return that Airflow ended the task with `error`; None: the error is the task's own.

    Cleaning up (closing a cluster, a connection) may fail because of Airflow's exception, and
    raises its own.  And a task that was marked or cleared hears of it seconds later: what
    Airflow does at once, such as closing the cluster of a group, may end its work before.
    """
    if error is None:
        return None
    if not any(isinstance(each, AirflowTaskTimeout) for each in chained(error)):
        stop = _stop_by_state(context)
        return None if stop is None or stop.reason == "evicted" else stop
    limit = getattr(context["ti"].task, "execution_timeout", None)
    return Stop(
        reason="task-timeout",
        limit=None if limit is None else limit.total_seconds(),
        setting="execution_timeout",
    )


def stop_by_signal(
    context: Mapping[str, object], late: Callable[[Stop], None] | None = None
) -> Stop:
    """Return why the task's process got SIGTERM.

    Airflow sends the same signal whatever the reason; the state that it has given the task
    tells them apart.  Call this in a thread of its own: the main thread may have been
    interrupted while it asked Airflow something, and then no question is answered.

    Args:
        context: Airflow's.
        late: Called with why, should Airflow's answer not come in time.
    """
    return _stop_by_state(context, late) or Stop(by="host")


def _stop_by_state(
    context: Mapping[str, object], late: Callable[[Stop], None] | None = None
) -> Stop | None:
    """Return what the state that Airflow has given the task says; None: no answer in time."""
    if supervisor_is_gone():  # and nobody can be asked
        return Stop(by="host", reason="supervisor-lost")
    answers: list[Stop] = []
    turn, too_late = threading.Lock(), threading.Event()

    def ask() -> None:
        with guard("the state that Airflow has given this task"):
            stop = _stop_of(_state_of(context["ti"]), context)
            with turn:
                answers.append(stop)
            if too_late.is_set() and late is not None:
                late(stop)

    asking = threading.Thread(target=ask, daemon=True, name="dask-blackbox-state")
    asking.start()
    asking.join(_ANSWER)
    with turn:
        if not answers:
            too_late.set()
    return answers[0] if answers else None


def note_stop(recording: Recording, stop: Stop, at: float | None = None) -> None:
    """Note in a recording that Airflow ended its task.

    Args:
        recording: Which.
        stop: What is known of it.
        at: When, epoch seconds; None: now.
    """
    recording.stopped_by(
        stop.by,
        stop.reason,
        detail=stop.detail,
        limit=stop.limit,
        setting=stop.setting,
        at=at,
    )


def finish_stopped(
    recording: Recording,
    context: Mapping[str, object],
    at: float,
    say: Callable[[str], object],
    page: str,
    *,
    progress: str = "",
    known: Stop | None = None,
    then: Callable[[], None] = lambda: None,
) -> RunCard:
    """End the recording of a task that got SIGTERM, within the grace period; return its card.

    Why it was stopped is logged at once: its process may be busy, and the recorder wait for
    a scheduler in it, until SIGKILL comes.  The state of the card is then `running`.

    Args:
        recording: Which.
        context: Airflow's.
        at: When the signal came, epoch seconds.
        say: Called with a sentence on who stopped the task, for its log.
        page: Address of the page that will show the recording; empty: there is none.
        progress: How far the work was when that was last reported; empty: not known.
        known: Why, where Airflow need not be asked.
        then: Called when that is logged: what cannot wait for the end of the recording.
    """

    def report(stop: Stop) -> None:
        note_stop(recording, stop, at)
        with guard("logging who stopped this task"):
            say(_stopped_text(stop, progress, page))

    # Before Airflow is asked: if SIGKILL is faster than its answer, the recorder knows this.
    note_stop(recording, known or Stop(by="host"), at)
    report(known or stop_by_signal(context, late=report))
    then()
    left = at + GRACE - time.time()
    return recording.finish(state="aborted", timeout=max(left, 0.0))


def text_of_stop_while_closing(stop: Stop, card: RunCard) -> str:
    """Return a sentence on a task that Airflow stopped when its recording had ended."""
    return (
        f"{_who_stopped(stop)} while its cluster was closing; its Dask work had "
        f"{'been ' if card.state == 'aborted' else ''}{card.state} by then"
    )


def _stopped_text(stop: Stop, progress: str, page: str) -> str:
    far = f", with {progress} at the last report" if progress else ""
    where = f". Dask run: {page}" if page else ""
    return f"{_who_stopped(stop)}; its recording ends{far}{where}"


def _who_stopped(stop: Stop) -> str:
    from dask_blackbox.manifest import STOP_WORDS

    reason = stop.setting or STOP_WORDS.get(stop.reason, "")
    who = (
        "Airflow stopped this task" if stop.by == "airflow" else "This task is stopped"
    )
    return f"{who} ({reason})" if reason else who


def _state_of(ti: Any) -> str | None:
    mapped = ti.map_index is not None and ti.map_index >= 0
    states = ti.get_task_states(
        dag_id=ti.dag_id,
        task_ids=[ti.task_id],
        run_ids=[ti.run_id],
        map_index=ti.map_index if mapped else None,
    )
    name = f"{ti.task_id}_{ti.map_index}" if mapped else ti.task_id
    state = states.get(ti.run_id, {}).get(name)
    return None if state is None else str(getattr(state, "value", state))


def _stop_of(state: str | None, context: Mapping[str, Any]) -> Stop:
    if state == "failed":
        return Stop(reason="marked-failed")
    if state == "success":
        return Stop(reason="marked-success")
    if state == "restarting" or state is None:  # None: cleared, and not scheduled yet
        return Stop(reason="cleared")
    if state == "running":  # Airflow knows nothing of it
        return Stop(by="host", reason="evicted")
    limit = getattr(getattr(context["ti"].task, "dag", None), "dagrun_timeout", None)
    if state == "skipped" and limit is not None:
        return Stop(
            reason="run-timeout",
            limit=limit.total_seconds(),
            setting="dagrun_timeout",
        )
    return Stop(detail=f"the task's state is {state!r}")
