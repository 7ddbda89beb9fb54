"""Who cancelled a flow run, as a real server has it."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.orchestration import get_client
from prefect.states import Cancelling, Running
from prefect_dask_blackbox.cancelling import cancel_message

STOPPING = {
    "name": "Stop it",
    "trigger": {
        "type": "event",
        "posture": "Reactive",
        "expect": ["never.happens"],
        "threshold": 1,
        "within": 0,
    },
    "actions": [{"type": "cancel-flow-run"}],
}


@flow
def idle() -> None: ...


def message_after(*states: Any) -> str | None:
    """Return what is known of a flow run that went through some states."""
    with get_client(sync_client=True) as client:
        run = client.create_flow_run(idle)
        for state in states:
            client.set_flow_run_state(run.id, state, force=True)
        return cancel_message(client, run.id)


def test_a_flow_run_that_nobody_cancelled() -> None:
    assert message_after(Running()) is None


def test_a_cancel_without_a_word() -> None:
    said = message_after(Running(), Cancelling())

    assert said == "The flow run was cancelled."


def test_a_cancel_with_a_message() -> None:
    said = message_after(Running(), Cancelling(message="Ann needs the cluster."))

    assert said == "Ann needs the cluster."


def test_an_automation_is_named() -> None:
    with get_client(sync_client=True) as client:
        made = client.request("POST", "/automations/", json=STOPPING).json()

    message = f"Cancelled by Automation {made['id']}"
    said = message_after(Running(), Cancelling(message=message))

    assert said == "Cancelled by the automation 'Stop it'."
