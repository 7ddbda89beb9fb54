"""Who cancelled a flow run, as far as Prefect's API says.

A cancel from the command line or the UI is a state without a message; an automation's names
the automation by its id; whoever sets the state through the API may write what they like.
"""

from __future__ import annotations

from uuid import UUID

from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from prefect.client.orchestration import SyncPrefectClient

__all__ = ["CANCELLED", "cancel_message"]

CANCELLED = "The flow run was cancelled."
_AUTOMATION = bounded(r"\bAutomation ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def cancel_message(client: SyncPrefectClient, flow_run_id: UUID) -> str | None:
    """Return a sentence about who cancelled a flow run; None if nobody did.

    Args:
        client: Of Prefect's API.
        flow_run_id: Of the flow run.
    """
    asked = [
        state
        for state in client.read_flow_run_states(flow_run_id)
        if state.is_cancelling() or state.is_cancelled()
    ]
    if not asked:
        return None
    message = next((state.message for state in asked if state.message), "")
    found = _AUTOMATION.search(message)
    if found is not None:
        with guard("the name of an automation"):
            automation = client.read_automation(found[1])
            if automation is not None:
                return f"Cancelled by the automation '{automation.name}'."
    return message or CANCELLED
