"""The card of a flow whose process was killed: shown by Prefect's runner process.

Nobody is left in the flow's process to finish anything.  The recorder is a process of its
own, notices, and ends the recording as `aborted`; here it is only read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dask_blackbox.attach import RunCard
from dask_blackbox.errors import BlackboxError
from dask_blackbox.guard import guard

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.diagnosed import emit_diagnosed
from prefect_dask_blackbox.observed_run import this_process_showed
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.task_runners import RecordedRunner

if TYPE_CHECKING:
    # Host types that only describe arguments.
    from prefect.client.schemas.objects import FlowRun
    from prefect.flows import Flow

__all__ = ["show_late_card"]

_PATIENCE = 45.0
"""Seconds for the recorder to notice that the flow is gone and to finish."""
_INTERVAL = 0.5


def show_late_card(flow: Flow[..., Any], flow_run: FlowRun) -> None:
    """Show the final card of a run, if its own process did not live to show it.

    Args:
        flow: The flow, loaded in the process that runs the hook.
        flow_run: The run that crashed or was cancelled.
    """
    attempt = max(1, flow_run.run_count or 1)
    if this_process_showed(flow_run.id, attempt):
        return
    with guard("the card of a flow that was killed"):
        page = FlowRunPage(flow_run.id, flow.name)
        noted = page.find(attempt)
        if noted is None or not noted.get("recording") or noted["state"] != "running":
            return  # it died before it was recorded, or its card is there already
        runner = flow.task_runner
        options = (
            runner.options if isinstance(runner, RecordedRunner) else RecordingOptions()
        )
        card = _card_at(noted["recording"], options)
        page.show(card)
        emit_diagnosed(card, flow_run.id)


def _card_at(address: str, options: RecordingOptions) -> RunCard:
    """Return the card of a recording once it has ended, or what is known in the end."""
    from dask_blackbox import Run

    deadline = time.monotonic() + _PATIENCE
    while True:
        late = time.monotonic() > deadline
        try:
            card: RunCard = Run.open(address, settings=options.store_settings).card()
        except BlackboxError:
            if late:
                raise
        else:
            if late or card.state != "running":
                return card
        time.sleep(_INTERVAL)
