"""The hook in Prefect's runner process, when a flow's process was killed or cancelled.

Nobody is left in the flow's process to finish anything.  The recorder is a process of its
own, notices, and ends the recording as `aborted`; here it is read, and the flow run is
finalised as the recorder does, which may have no way to Prefect's API.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError
from dask_blackbox.events import TaskNamed
from dask_blackbox.guard import guard
from dask_blackbox.report import overview_of

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.finalising import finalise_run
from prefect_dask_blackbox.observed_run import this_process_showed
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.task_runners import RecordedRunner

if TYPE_CHECKING:
    # Types that only describe arguments.
    from dask_blackbox import Run
    from prefect.client.schemas.objects import FlowRun
    from prefect.flows import Flow

__all__ = ["show_late_card"]

_TIMEOUT = 75.0
"""Seconds for the recorder to notice that the flow is gone and to finish, or to count as
lost itself, which takes 60."""
_INTERVAL = 0.5


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
        _, settings = _options_of(flow).with_settings().place()
        run, card = _ended_at(noted["recording"], settings)
        if card.state != "running":
            tasks = run.of(TaskNamed)
            finalise_run(run.manifest.host, card, tasks, overview_of(run, card))


def _options_of(flow: Flow[..., object]) -> RecordingOptions:
    """Return how a flow's runs are recorded, whatever its task runner."""
    runner = flow.task_runner
    if isinstance(runner, RecordedRunner):
        return runner.options
    known = vars(flow).get("_recording_options")
    return known if isinstance(known, RecordingOptions) else RecordingOptions()


def _ended_at(address: str, settings: dict[str, object] | None) -> tuple[Run, RunCard]:
    """Return a recording once it has ended, or as it is in the end, and its card."""
    from dask_blackbox import Run

    deadline = time.monotonic() + _TIMEOUT
    while True:
        late = time.monotonic() > deadline
        try:
            run = Run.open(address, settings=settings)
            card: RunCard = run.card()
        except BlackboxError:
            if late:
                raise
        else:
            if late or card.state != "running":
                return run, card
        time.sleep(_INTERVAL)
