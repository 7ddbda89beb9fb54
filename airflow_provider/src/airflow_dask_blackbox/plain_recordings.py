"""`with recording(…)` in a task of any operator: the identity from Airflow, the links for it.

The core asks for it by the entry point `dask_blackbox.host_tasks`.  Store and credentials
are those of Airflow's configuration where the code names none; the recording is announced
for the tab, and whatever Airflow itself ends has that as its verdict.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dask_blackbox.guard import guard

from airflow_dask_blackbox.compat import SIGNALS, conf
from airflow_dask_blackbox.identity import current_context
from airflow_dask_blackbox.masking import follow_airflow_masks
from airflow_dask_blackbox.stopping import (
    GRACE,
    finish_stopped,
    note_stop,
    stop_by_error,
)
from airflow_dask_blackbox.stores import TaskStore
from airflow_dask_blackbox.supervisor_watch import watch_supervisor
from airflow_dask_blackbox.task_log import exception_note, verdict_of
from airflow_dask_blackbox.xcoms import LinkPublisher

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import Recording, RunCard
    from dask_blackbox.store import StoreChoice

__all__ = ["PlainRecording", "current_task"]


def current_task() -> PlainRecording | None:
    """Return what Airflow does for a recording in this process; None: no task runs here."""
    context = current_context()
    return None if context is None else PlainRecording(context)


class PlainRecording:
    """A recording that the code of a task makes by itself (`HostTask` of the core).

    Args:
        context: Airflow's.
    """

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context
        self._task = context["ti"].task
        self._announced = LinkPublisher(context["ti"])
        self._error: BaseException | None = None
        self._kill: Callable[[], None] | None = None

    def place(self, given: StoreChoice) -> StoreChoice:
        """Return the store of a recording with what Airflow's configuration adds."""
        return TaskStore(given.url, settings=given.settings).chosen()

    def begins(self, recording: Recording, settings: Mapping[str, Any]) -> None:
        """Announce the recording, and hear of the task's end."""
        from dask_blackbox.store import StoreChoice

        follow_airflow_masks()
        self._announced.begin(
            recording.identity,
            StoreChoice(settings["url"], settings),
            conn_id=conf.get("dask_blackbox", "store_conn_id", fallback=None) or None,
        )
        if address := self._announced.address:
            self._task.log.info("Dask run: %s", address)
        self._hear_of_kill(recording)
        with guard("watching the supervisor of this task"):
            watch_supervisor(self._task)

    def ends(
        self, recording: Recording, exception: BaseException | None
    ) -> BaseException | None:
        """Return what of an exception is a failure, to Airflow."""
        # Skipping is a way to end well, and so is coming again later.
        self._error = None if isinstance(exception, SIGNALS) else exception
        stop = stop_by_error(self._context, self._error)
        if stop is not None:
            note_stop(recording, stop)
        return self._error

    def ended(self, card: RunCard) -> None:
        """Publish the state of the recording, in the task's exception too."""
        if self._kill is not None:
            self._task.on_kill = self._kill
        self._announced.show_state(card)
        if self._error is not None:
            self._error.add_note(exception_note(self._announced.addressed(card)))

    def _hear_of_kill(self, recording: Recording) -> None:
        kill = self._kill = self._task.on_kill

        def on_kill() -> None:
            with guard("the end of the recording of a stopped task"):
                self._stop(recording)
            kill()

        self._task.on_kill = on_kill

    def _stop(self, recording: Recording) -> None:
        at = time.time()

        def end() -> None:
            with guard("the end of the recording of a stopped task"):
                say, page = partial(self._task.log.error, "%s"), self._announced.address
                card = finish_stopped(recording, self._context, at, say, page)
                if card.state != "running":
                    say(verdict_of(card))

        # In a signal handler: the main thread may hold any lock.
        ending = threading.Thread(target=end, daemon=True)
        ending.start()
        ending.join(GRACE)
