"""`card_of_flow_run`: the card in a hook, in a parent flow, in a script.

def alert(flow, flow_run, state):
    card = card_of_flow_run(flow_run, flow=flow)
    send(card.headline, card.verdict.remedy if card.verdict else "")

@observed_flow(on_failure=[alert], ...)
def etl(): ...
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from dask_blackbox.errors import BlackboxError, RunNotFoundError

from prefect_dask_blackbox.artifacts import FlowRunPage
from prefect_dask_blackbox.kept_cards import kept_card
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.task_runners import RecordedRunner

if TYPE_CHECKING:
    from dask_blackbox import Run, RunCard
    from prefect.client.schemas.objects import FlowRun
    from prefect.flows import Flow

__all__ = ["card_of_flow_run", "options_of", "run_ended_at"]

_INTERVAL = 0.5


def card_of_flow_run(
    flow_run: FlowRun | UUID | str,
    *,
    flow: Flow[..., Any] | None = None,
    store: str | None = None,
    store_settings: Mapping[str, Any] | None = None,
    timeout: float = 0.0,
) -> RunCard:
    """Return the card of a flow run: of its newest attempt that was recorded.

    In the process that ran it, the card is at hand, also where it could not be stored; an
    `on_failure` hook has it before anybody else. Elsewhere, Prefect knows where its
    recording is, and the card is read from there. The function blocks: in an `async` hook
    or flow, call it with `asyncio.to_thread`.

    Args:
        flow_run: A flow run, or its id.
        flow: Its flow, which hooks are given: the store's credentials are those of its
            decorator.
        store: The store, where the credentials are those of a block: `block:NAME`.
        store_settings: Settings of the store that differ from `blackbox.store`.
        timeout: Seconds to wait for the end of a run that has not ended.

    Returns:
        The card; `state` is `running` if the run had not ended after `timeout`.

    Raises:
        RunNotFoundError: if there is no recording of the flow run.
        StoreError: if its recording cannot be read.
    """
    identity = _id_of(flow_run)
    if (known := kept_card(identity)) is not None:
        return known
    noted = FlowRunPage(identity, "").find(None)
    options = RecordingOptions() if flow is None else options_of(flow)
    given = RecordingOptions(store=store, store_settings=store_settings)
    place, settings = options.changed_by(given).with_settings().place()
    if noted is None or not noted.get("recording"):
        raise RunNotFoundError(
            str(identity), place or "Prefect", what="recording of flow run"
        )
    return run_ended_at(noted["recording"], settings, timeout)[1]


def options_of(flow: Flow[..., Any]) -> RecordingOptions:
    """Return how a flow's runs are recorded, whatever its task runner."""
    runner = flow.task_runner
    if isinstance(runner, RecordedRunner):
        return runner.options
    known = vars(flow).get("_recording_options")
    return known if isinstance(known, RecordingOptions) else RecordingOptions()


def run_ended_at(
    address: str, settings: Mapping[str, Any] | None, timeout: float
) -> tuple[Run, RunCard]:
    """Return a recording once it has ended, or as it is after some seconds, and its card."""
    from dask_blackbox import Run

    deadline = time.monotonic() + timeout
    while True:
        late = time.monotonic() >= deadline
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


def _id_of(flow_run: FlowRun | UUID | str) -> UUID:
    if isinstance(flow_run, UUID):
        return flow_run
    return UUID(flow_run) if isinstance(flow_run, str) else flow_run.id
