"""The recording of one try of a task: begun before its cluster, ended before that closes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from airflow.sdk.exceptions import AirflowSkipException
from dask_blackbox.guard import guard

from airflow_dask_blackbox.attempts import remember, show_earlier
from airflow_dask_blackbox.identity import identity_of
from airflow_dask_blackbox.links import push_links
from airflow_dask_blackbox.stores import configured_store, store_settings_of
from airflow_dask_blackbox.task_log import Log, show_beginning, show_card

if TYPE_CHECKING:
    # The real one brings Dask along, and DAG files are parsed all day.
    from dask_blackbox import Recording, RunCard
    from distributed import Client

__all__ = ["TaskRecording"]

_LAST_WORDS: Final = 3.0
"""Seconds for saying goodbye when the task is being killed: Airflow grants five in all."""


class TaskRecording:
    """What happens around the user's callable; leaves its value and its exception alone.

    Attributes:
        links: What was pushed for the buttons, by XCom key.
    """

    def __init__(
        self,
        context: Mapping[str, Any],
        *,
        function: Callable[..., Any],
        job: str | None,
        store: str | None,
        store_conn_id: str | None,
        store_settings: Mapping[str, Any] | None,
        parameters: Mapping[str, Any],
        required: bool,
        log: Log,
    ) -> None:
        self.links: dict[str, str] = {}
        self._context = context
        self._log = log
        self._required = required
        self._store_of = (store, store_conn_id, store_settings)
        self._function = function
        self._job = job
        self._parameters = dict(parameters)
        self._rec: Recording | None = None
        self._ended = False
        self._goodbye: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._required:
            self._start()
        else:
            with guard("recording this task"):
                self._start()
        return self

    def _start(self) -> None:
        from dask_blackbox import recording

        store, store_conn_id, settings = self._store_of
        who = identity_of(self._context, self._job)
        rec = recording(
            None,
            store=configured_store(store),
            store_settings=store_settings_of(store_conn_id, settings),
            job=who.job,
            run_id=who.run_id,
            attempt=who.attempt,
            host=who.host,
            parameters=self._parameters,
            callable=self._function,
            required=self._required,
        )
        rec.start()
        self._rec = rec
        show_earlier(self._context, self._log)
        show_beginning(rec.card, self._log)
        self._publish(rec.card)

    @property
    def card(self) -> RunCard | None:
        """The card of this try, if it is recorded."""
        return self._rec.card if self._rec is not None else None

    def attach(self, client: Client) -> None:
        """Record what this client's cluster does from here on."""
        if self._rec is None:
            return
        with guard("recording what the cluster does"):
            self._rec.attach(client)
        with guard("the button 'Dask dashboard'"):
            push_links(
                self._context["ti"], {"dashboard": client.dashboard_link}, self.links
            )

    def abort(self) -> None:
        """End the recording as aborted, within seconds: the task is being killed.

        Airflow calls from a signal handler, in the middle of whatever the main thread
        was doing, locks and all.  Another thread can be waited for with a limit, and if it
        does not manage, the recorder sees this process go and ends the recording itself.
        """
        rec = self._rec
        if rec is None or self._ended:
            return

        def say_goodbye() -> None:
            with guard("the last words of a killed task"):
                rec.finish(state="aborted")

        self._goodbye = threading.Thread(target=say_goodbye, daemon=True)
        self._goodbye.start()
        self._goodbye.join(_LAST_WORDS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        rec = self._rec
        if rec is None:
            return
        if self._goodbye is not None:
            self._goodbye.join(_LAST_WORDS / 2)
        with guard("the card of this task"):
            # To Airflow, skipping is a way to end well.
            skipped = isinstance(error, AirflowSkipException)
            self._publish(rec.finish(exception=None if skipped else error))
        self._ended = True

    def show(self) -> None:
        """Print the card in the task's log."""
        if self._rec is not None:
            with guard("the card in the log"):
                show_card(self._rec.card, self._log)

    def _publish(self, card: RunCard) -> None:
        over = {} if card.state == "running" else {"dashboard": ""}
        push_links(self._context["ti"], {**card.links, **over}, self.links)
        remember(self._context, card)
