"""The hook in Prefect's runner process, when a flow's process was killed or cancelled.

Nobody is left in the flow's process to finish anything.  The recorder is a process of its
own, notices, and ends the recording as `aborted`; here it is read, and the flow run is
finalised as the recorder does, which may have no way to Prefect's API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dask_blackbox.events import TaskNamed
from dask_blackbox.guard import guard
from dask_blackbox.report import overview_of

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.cards import options_of, run_ended_at
from prefect_dask_blackbox.finalising import finalise_run
from prefect_dask_blackbox.observed_run import this_process_showed

if TYPE_CHECKING:
    # Types that only describe arguments.
    from prefect.client.schemas.objects import FlowRun
    from prefect.flows import Flow

__all__ = ["show_late_card"]

_TIMEOUT = 75.0
"""Seconds for the recorder to notice that the flow is gone and to finish, or to count as
lost itself, which takes 60."""


def show_late_card(flow: Flow[..., object], flow_run: FlowRun) -> None:
    """Finalise a flow run whose own process died before it could.

    Args:
        flow: The flow, loaded in the process that runs the hook.
        flow_run: The run that crashed or was cancelled.
    """
    with guard("the card of a flow that was killed"):
        # The newest: to Prefect, a flow run that was resumed is in its first attempt.
        noted = FlowRunPage(flow_run.id, flow.name).find(None)
        if noted is None or not noted.get("recording"):
            return  # it died before it was recorded
        if this_process_showed(flow_run.id, int(noted["attempt"])):
            return
        _, settings = options_of(flow).with_settings().place()
        run, card = run_ended_at(noted["recording"], settings, _TIMEOUT)
        if card.state != "running":
            tasks = run.of(TaskNamed)
            finalise_run(run.manifest.host, card, tasks, overview_of(run, card))
