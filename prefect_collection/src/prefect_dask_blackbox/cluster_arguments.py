"""What the cluster of an attempt is started with: it may depend on the attempts before.

def workers(attempt: int, verdict: Finding | None) -> dict[str, object]:
    return {"n_workers": 4 * attempt}

@observed_flow(retries=2, task_runner=BlackboxTaskRunner(cluster_kwargs=workers))
def etl(): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dask_blackbox.guard import guard
from dask_blackbox.more_memory import MoreMemory
from prefect.context import FlowRunContext
from prefect.logging.loggers import flow_run_logger

from prefect_dask_blackbox.outgoing import outgoing

if TYPE_CHECKING:
    from dask_blackbox import RunCard
    from dask_blackbox.finding import Finding

    from prefect_dask_blackbox.observed_run import ObservedRun

    ClusterArguments = Callable[[int, Finding | None], Mapping[str, Any]]

__all__ = ["arguments_of_attempt"]


def arguments_of_attempt(
    given: Mapping[str, Any] | ClusterArguments,
    on_memory: Mapping[str, str] | None,
    observed: ObservedRun | None,
) -> dict[str, Any]:
    """Return the arguments of the cluster of the attempt that runs.

    Args:
        given: The arguments, or a function of the number of the attempt, from 1, and the
            verdict on the attempt before, which is None for the first one and where that
            one was not recorded.
        on_memory: How the memory grows, as the user wrote it.
        observed: The flow run; None: it is not recorded.

    Raises:
        Exception: what the user's function raises.
    """
    earlier: dict[int, RunCard | None] = {}
    if observed is not None and (on_memory is not None or callable(given)):
        with guard("the verdicts on the attempts before"):
            earlier = observed.earlier_cards()
    arguments = dict(given(*_last(earlier))) if callable(given) else dict(given)
    if on_memory is None or not earlier or observed is None:
        return arguments
    with guard("more memory than the attempt before had"):
        policy = MoreMemory.of(on_memory)
        if policy is not None:
            grown = policy.grown(arguments, earlier)
            arguments |= grown.arguments
            if grown.text:
                flow_run_logger(observed.flow_run).info(
                    "%s, because attempt %d failed of too little memory",
                    outgoing(grown.text),
                    grown.attempt,
                )
    return arguments


def _last(earlier: Mapping[int, RunCard | None]) -> tuple[int, Finding | None]:
    """Return the number of the attempt that runs, and the verdict on the one before."""
    context = FlowRunContext.get()
    flow_run = None if context is None else context.flow_run
    number = 1 if flow_run is None else max(flow_run.run_count, 1)
    card = earlier.get(number - 1)
    return number, None if card is None else card.verdict
