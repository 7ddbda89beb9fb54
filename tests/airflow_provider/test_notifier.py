"""What the notifier sends, to whom, and what it says where there is no card."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import BaseNotifier
from airflow_dask_blackbox.notifications.card_message import message_of
from airflow_dask_blackbox.notifications.dask_card import DaskCardNotifier
from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding

URL = (
    "http://airflow.example/dags/nightly/runs/manual__1/tasks/price/plugin/dask-run"
    "?try_number=2"
)


def _card(cause: str = "'load' needs more.") -> RunCard:
    return RunCard(
        job="nightly.price",
        run_id="manual__1",
        attempt=2,
        state="failed",
        headline="A worker died while running <load> & *others*",
        verdict=Finding(
            rule="worker-memory-limit",
            title="A worker died while running <load> & *others*",
            cause=cause,
            severity="failure",
            confidence="high",
            remedy="Give each worker 1 GiB.",
            retry_advice="memory",
        ),
    )


def _context(card: RunCard | None, **task: Any) -> dict[str, Any]:
    ti = SimpleNamespace(
        dag_id="nightly",
        run_id="manual__1",
        task_id="price",
        map_index=-1,
        try_number=2,
        task=SimpleNamespace(dask_card=card, **task),
    )
    return {"ti": ti}


class Sent(BaseNotifier):
    """A notifier as those of Airflow's providers are: with templates."""

    template_fields = ("subject",)
    sent: list[str] = []  # noqa: RUF012 - of all of them

    def __init__(self, subject: str) -> None:
        super().__init__()
        self.subject = subject

    def notify(self, context: Any) -> None:
        self.sent.append(self.subject)


def test_a_notifier_of_airflow_has_the_message_in_its_templates() -> None:
    Sent.sent.clear()
    notify = DaskCardNotifier(Sent("{{ dask.subject }}"), Sent("{{ dask.url }}"))

    notify(_context(_card()))

    assert Sent.sent == [
        "nightly.price: A worker died while running <load> & *others*",
        URL,
    ]


def test_a_notifier_that_fails_does_not_keep_the_others_from_sending() -> None:
    sent: list[str] = []

    def broken(_context: Any) -> None:
        raise ConnectionError("no chat today")

    notify = DaskCardNotifier(broken, lambda context: sent.append(context["dask"].url))

    with pytest.raises(ConnectionError, match="no chat today"):
        notify(_context(_card()))
    assert sent == [URL]


def test_slack_shows_texts_as_they_are_and_interprets_no_markup() -> None:
    slack = message_of(_context(None), _card("x" * 10_000)).slack

    head, *facts, foot = slack.splitlines()
    assert head == (
        ":x: *nightly.price*: A worker died while running &lt;load&gt; &amp; "
        "*\u200bothers*\u200b"
    )
    assert facts[:2] == ["*DAG run*: manual__1", "*Try*: 2"]
    assert foot == f"<{URL}|Open the Dask run>"
    assert len(slack) <= 3000


def test_an_e_mail_contains_cause_and_remedy_escaped() -> None:
    message = message_of(_context(None), _card())

    assert "running &lt;load&gt; &amp; *others*" in message.html
    assert "Give each worker 1 GiB." in message.html
    assert f'<a href="{URL}">' in message.html
    assert "What to do: Give each worker 1 GiB." in message.text
    assert "Retry: memory" in message.text


def test_without_a_recording_the_failure_is_reported_all_the_same(
    tmp_path: Any,
) -> None:
    sent: list[Any] = []

    DaskCardNotifier(lambda context: sent.append(context["dask"]))(
        _context(None, store=str(tmp_path))
    )

    (message,) = sent
    assert message.card is None
    assert message.subject == "nightly.price: failed; there is no recording of it"
    assert message.url == URL
