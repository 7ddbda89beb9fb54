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

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier
from dask_blackbox.guard import guard

from airflow_dask_blackbox.notifications.card_message import CardMessage, message_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["DaskCardNotifier"]


class DaskCardNotifier(BaseNotifier):
    """Have other notifiers report why a task's Dask run failed.

    A message is sent in every case: without a recording, it reports that the task failed.
    If the task's process was killed, Airflow calls this in another process, and the card is
    read from the store.

    Args:
        notifiers: What sends the message: notifiers, or functions of the context; each has
            the message as `dask` (`CardMessage`).  One that fails does not keep the
            others from sending.  Without any, the text goes to the log.
        store: Store of the recordings that tasks of other operators make themselves.
        store_conn_id: Connection of that store.
        job: The recording's job, if it is not `<dag_id>.<task_id>`.
    """

    def __init__(
        self,
        *notifiers: Callable[[Any], Any],
        store: str | None = None,
        store_conn_id: str | None = None,
        job: str | None = None,
    ) -> None:
        super().__init__()
        self.notifiers = notifiers
        self.store, self.store_conn_id, self.job = store, store_conn_id, job

    def notify(self, context: Any) -> None:
        """Send the message.

        Raises:
            Exception: the first one that a notifier raised, after all have been called.
        """
        message = self.message(context)
        if not self.notifiers:
            self.log.info("%s", message.text)
        errors: list[Exception] = []
        for each in self.notifiers:
            try:
                each({**context, "dask": message})
            except Exception as error:  # noqa: BLE001 - raised below, after the others
                errors.append(error)
        if errors:
            raise errors[0]

    def message(self, context: Any) -> CardMessage:
        """Return the message about a task."""
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
            store=self.store or getattr(task, "store", None),
            store_conn_id=self.store_conn_id or getattr(task, "store_conn_id", None),
            store_settings=getattr(task, "store_settings", None),
            job=self.job or getattr(task, "job", None),
        )
        return stored or known
