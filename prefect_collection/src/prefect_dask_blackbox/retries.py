"""Retries by the recorder's advice, for tasks and for flows.

@task(retries=3, retry_condition_fn=dask_blackbox_says_retry)
def load(day): ...

@observed_flow(retries=2, follow_retry_advice=True, ...)
def etl(): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dask_blackbox.card import RunCard, reason_against_retry, reason_for_retry
from dask_blackbox.guard import guard

from prefect_dask_blackbox.identity import prefect_client

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun

__all__ = ["FlowRetries", "dask_blackbox_says_retry"]


def _portable() -> Callable[[object, object, object], bool]:
    # A nested function travels by value into tasks, to where this package may not be.
    def dask_blackbox_says_retry(task: Any, task_run: Any, state: Any) -> bool:
        """Return whether a failed task is worth another try (a Prefect `retry_condition_fn`).

        The run is still under way, so it has no verdict yet: the task's own exception
        decides, as the recorder's rules see it.  Only what surely fails again is not
        retried.
        """
        try:
            from dask_blackbox.analyse.retry_advice import advice_on
            from dask_blackbox.card import NON_RETRYABLE

            error = getattr(state, "data", None)
            if not isinstance(error, BaseException):
                return True
            advice, confidence = advice_on(error)
        except Exception:  # noqa: BLE001 - Prefect would not try again then
            return True
        return advice not in NON_RETRYABLE or confidence != "high"

    return dask_blackbox_says_retry


dask_blackbox_says_retry = _portable()
"""Return whether a failed task is worth another try: `@task(retry_condition_fn=…)`."""


class FlowRetries:
    """Takes a flow run's retries away where its verdict is sure that they fail, too.

    Prefect has no condition for flows: its server decides by the flow run's own policy,
    which is set to no retries for the moment in which the flow fails.

    Args:
        flow_run: The flow run.
    """

    def __init__(self, flow_run: FlowRun) -> None:
        self._flow_run = flow_run
        self._policy: Any = None

    def stop_retries(self, card: RunCard | None) -> str | None:
        """See to it that a flow run that is about to fail is not tried again.

        Returns:
            Why, if that is so.
        """
        why = reason_against_retry(card)
        policy = self._flow_run.empirical_policy
        if why is None or not policy.retries:
            return None
        with guard("turning off the flow run's retries"), prefect_client() as client:
            none = policy.model_copy(update={"retries": 0})
            client.update_flow_run(self._flow_run.id, empirical_policy=none)
            self._policy = policy
        return None if self._policy is None else why

    def allow_retry(self, card: RunCard | None, attempt: int, most: int) -> str | None:
        """See to it that a flow run that is about to fail is tried once more.

        Only where the verdict says that the failure was transient, and is sure enough.

        Args:
            card: Of the attempt that fails.
            attempt: Which one it is, from 1.
            most: Retries beside the flow's own.

        Returns:
            Why, if that is so.
        """
        why = reason_for_retry(card)
        policy = self._flow_run.empirical_policy
        own = policy.retries or 0
        if why is None or attempt <= own or attempt > own + most:
            return None
        done = False
        with guard("an additional retry of the flow run"), prefect_client() as client:
            more = policy.model_copy(update={"retries": attempt})
            client.update_flow_run(self._flow_run.id, empirical_policy=more)
            done, self._policy = True, policy
        return why if done else None

    def restore_policy(self) -> None:
        """Restore the policy of a flow run that has failed: somebody may run it again."""
        policy, self._policy = self._policy, None
        if policy is not None:
            with guard("restoring the flow run's retries"), prefect_client() as client:
                client.update_flow_run(self._flow_run.id, empirical_policy=policy)
