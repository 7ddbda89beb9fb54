"""`DaskCardNotifier`: the verdict in Slack, by e-mail, or wherever else Airflow notifies.

It sends nothing itself: it passes the message to the notifiers of Airflow's providers, as
`dask` in their templates.

    on_failure_callback=DaskCardNotifier(
        SlackNotifier(slack_conn_id="slack", channel="#etl", text="{{ dask.slack }}"),
        SmtpNotifier(to="etl@shop.example", subject="{{ dask.subject }}",
                     html_content="{{ dask.html }}"),
    )
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier
from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.notifications.card_message import CardMessage, message_of
from airflow_dask_blackbox.notifications.dag_run_message import (
    is_about_dag_run,
    message_of_run,
)
from airflow_dask_blackbox.stores import TaskStore

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["DaskCardNotifier"]


class DaskCardNotifier(BaseNotifier):
    """Have other notifiers report why Dask runs failed, as a task's callback or as its DAG's.

    For a task, the message has its verdict.  For a DAG (`on_failure_callback` of the DAG, or
    the callback of a deadline), there is one message about all failed tasks of the DAG run,
    grouped by cause, with what cannot run because of each.

    A message is sent in every case: without a recording, it reports that the task failed.
    If the task's process was killed, Airflow calls this in another process, and the card is
    read from the store.

    Args:
        notifiers: What sends the message: notifiers, or functions of the context; each has
            the message as `dask` (`CardMessage`).  One that fails does not keep the
            others from sending.  Without any, the text goes to the log.
        send: The same as data, for `AsyncCallback` and `SyncCallback` of a deadline:
            `{"class": "package.Notifier", "kwargs": {…}}`.
        store: Store of the recordings that tasks of other operators make themselves.
        store_conn_id: Connection of that store.
        job: The recording's job, if it is not `<dag_id>.<task_id>`.
        kwargs: Those of every notifier (`context`).
    """

    def __init__(
        self,
        *notifiers: Callable[[Any], Any],
        send: Sequence[Mapping[str, Any]] = (),
        store: str | None = None,
        store_conn_id: str | None = None,
        job: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.notifiers = (*notifiers, *(_made(each) for each in send))
        self.store, self.store_conn_id, self.job = store, store_conn_id, job

    def notify(self, context: Any) -> None:
        """Send the message.

        Raises:
            Exception: the first one that a notifier raised, after all have been called.
        """
        message = self.message(context)
        errors: list[Exception] = []
        for each in self.notifiers:
            try:
                each({**context, "dask": message})
            except Exception as error:  # noqa: BLE001 - raised below, after the others
                errors.append(error)
        self._end(message, errors)

    async def async_notify(self, context: Any) -> None:
        """Send the message from an event loop, as Airflow's triggerer does.

        Notifiers without an `async_notify` of their own send in a thread.

        Raises:
            Exception: the first one that a notifier raised, after all have been called.
        """
        message = await asyncio.to_thread(self.message, context)
        errors: list[Exception] = []
        for each in self.notifiers:
            try:
                await _sent(each, {**context, "dask": message})
            except Exception as error:  # noqa: BLE001 - raised below, after the others
                errors.append(error)
        self._end(message, errors)

    def _end(self, message: CardMessage, errors: Sequence[Exception]) -> None:
        if not self.notifiers:
            self.log.info("%s", message.text)
        if errors:
            raise errors[0]

    def message(self, context: Any) -> CardMessage:
        """Return the message about a task or a DAG run."""
        if is_about_dag_run(context):
            return message_of_run(context)
        card: RunCard | None = None
        with guard("the card of the task that failed"):
            card = self._card(context)
        return message_of(context, card)

    def _card(self, context: Any) -> RunCard | None:
        from airflow_dask_blackbox.retries import card_of_failed_try

        task = getattr(context["ti"], "task", None) or context.get("task")
        known: RunCard | None = getattr(task, "dask_card", None)
        if known is not None and known.state != "running":
            return known
        stored = card_of_failed_try(
            context,
            store=TaskStore(
                self.store or getattr(task, "store", None),
                self.store_conn_id or getattr(task, "store_conn_id", None),
                getattr(task, "store_settings", None),
            ),
            job=self.job or getattr(task, "job", None),
        )
        return stored or known


def _made(notifier: object) -> Callable[[Any], Any]:
    """Return the notifier that some data describes.

    Raises:
        OperatorConfigurationError: if it describes none.
    """
    shape = {"class": "package.Notifier", "kwargs": {}}
    if not isinstance(notifier, Mapping) or set(notifier) - set(shape):
        raise OperatorConfigurationError(
            f"send= has {notifier!r}; each item is a dict such as {shape}"
        )
    module, _, name = str(notifier.get("class")).rpartition(".")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise OperatorConfigurationError(
            f"send= has the class {notifier.get('class')!r}, which cannot be imported here "
            f"({error}); install its package, or correct the name"
        ) from error
    made: Callable[[Any], Any] = kind(**notifier.get("kwargs") or {})
    return made


async def _sent(notify: Callable[[Any], Any], context: dict[str, Any]) -> None:
    if not isinstance(notify, BaseNotifier):
        result = await asyncio.to_thread(notify, context)
        if inspect.isawaitable(result):
            await result
    elif type(notify).async_notify is BaseNotifier.async_notify:
        await asyncio.to_thread(notify, context)
    else:
        notify.context = context  # type: ignore[assignment]
        await notify
