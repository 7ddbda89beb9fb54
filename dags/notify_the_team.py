"""A failure is reported in the team's chat, with its cause and what to do.

`DaskCardNotifier` passes the message to other notifiers: `SlackNotifier(text="{{ dask.slack }}")`,
`SmtpNotifier(subject="{{ dask.subject }}", html_content="{{ dask.html }}")`, or a function
as here, which posts to the webhook that CHAT_WEBHOOK names.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

from airflow.sdk import DAG
from airflow_dask_blackbox.notifications.dask_card import DaskCardNotifier
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def post(context: Any) -> None:
    """Post the message to a chat."""
    body = json.dumps({"text": context["dask"].slack}).encode()
    request = urllib.request.Request(  # noqa: S310 - the operator's own setting
        os.environ["CHAT_WEBHOOK"], body, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310


def price(order: dict[str, Any]) -> float:
    """Return what an order costs."""
    return float(order["quantity"] * order["unit_price"])


def turnover() -> float:
    """Add up orders, one of which has no price."""
    import dask

    orders = [{"quantity": 2, "unit_price": 9.5}, {"quantity": 1}]
    return float(sum(dask.compute(*[dask.delayed(price)(each) for each in orders])))


with DAG(
    dag_id="notify_the_team",
    description="The verdict on a failed task, in the team's chat.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "example"],
):
    DaskObservedOperator(
        task_id="turnover",
        python_callable=turnover,
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 1},
        on_failure_callback=DaskCardNotifier(post),
    )
