"""`DaskRetryPolicy`: Airflow 3.3 calls it before it retries a failed task.

On older versions, use the operator's argument `fail_without_retry`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from importlib import import_module
from operator import attrgetter
from typing import Any

from dask_blackbox.card import reason_for_retry
from dask_blackbox.guard import guard

try:
    from airflow.sdk import RetryAction, RetryDecision, RetryPolicy
except ImportError as error:
    raise ImportError(
        "DaskRetryPolicy needs Airflow 3.3 or newer; on older versions use "
        "`DaskObservedOperator(fail_without_retry={'code', 'data', 'environment'})`"
    ) from error

from airflow_dask_blackbox.retries import (
    card_of_failed_try,
    check_advice,
    why_no_retry,
)
from airflow_dask_blackbox.stores import TaskStore

__all__ = ["DaskRetryPolicy"]


class DaskRetryPolicy(RetryPolicy):
    """Fail a task at once if it is certain that a retry would fail, too.

    `unknown` advice, advice of lower confidence, a run without a card and any error in
    this policy leave the decision to `otherwise`, and without one to the task's `retries`.

    Args:
        fail: Advice with which the task fails at once.
        transient_delay: Delay of the retry after a transient failure; None: the task's
            `retry_delay`.
        store: Store of the recordings that tasks of other operators make themselves.
        store_conn_id: Connection of that store.
        job: The recording's job, if it is not `<dag_id>.<task_id>`.
        otherwise: The policy that decides where the verdict does not, such as Airflow's
            `ExceptionRetryPolicy`.

    Raises:
        TypeError: if `otherwise` is no retry policy.
    """

    def __init__(
        self,
        *,
        fail: Collection[str] = ("code", "data", "environment"),
        transient_delay: timedelta | None = None,
        store: str | None = None,
        store_conn_id: str | None = None,
        job: str | None = None,
        otherwise: RetryPolicy | None = None,
    ) -> None:
        if not (otherwise is None or isinstance(otherwise, RetryPolicy)):
            raise TypeError(
                f"otherwise= is {type(otherwise).__name__}, and not a retry policy such as "
                "ExceptionRetryPolicy(rules=[…])"
            )
        self.otherwise = otherwise
        self.fail = check_advice(fail)
        self.transient_delay = transient_delay
        self.store, self.store_conn_id, self.job = store, store_conn_id, job

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Any = None,
    ) -> RetryDecision:
        decision = RetryDecision.default()
        with guard("the decision whether to retry"):
            if context is not None:
                decision = self._decided(context)
        if self.otherwise is None or decision.action is not RetryAction.DEFAULT:
            return decision
        return self.otherwise.evaluate(exception, try_number, max_tries, context)

    def _decided(self, context: Mapping[str, Any]) -> RetryDecision:
        task = context["ti"].task
        if hasattr(task, "dask_card"):
            card = task.dask_card
        else:
            card = card_of_failed_try(
                context,
                store=TaskStore(self.store, self.store_conn_id),
                job=self.job,
            )
        why = why_no_retry(card, self.fail)
        if why is not None:
            return RetryDecision.fail(_cut(f"not retried, {why}"))
        passing = reason_for_retry(card)
        if passing is not None:
            return RetryDecision.retry(self.transient_delay, _cut(passing))
        return RetryDecision.default()

    def serialize(self) -> dict[str, object]:
        delay = self.transient_delay
        return {
            "__type": "DaskRetryPolicy",
            "fail": list(self.fail),
            "transient_delay": None if delay is None else delay.total_seconds(),
            "store": self.store,
            "store_conn_id": self.store_conn_id,
            "job": self.job,
            "otherwise": _serialized(self.otherwise),
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> DaskRetryPolicy:
        delay = data.get("transient_delay")
        return cls(
            fail=data["fail"],
            transient_delay=None if delay is None else timedelta(seconds=delay),
            store=data.get("store"),
            store_conn_id=data.get("store_conn_id"),
            job=data.get("job"),
            otherwise=_deserialized(data.get("otherwise")),
        )


def _serialized(policy: RetryPolicy | None) -> dict[str, object] | None:
    if policy is None:
        return None
    kind = type(policy)
    return {
        "module": kind.__module__,
        "class": kind.__qualname__,
        "policy": policy.serialize(),
    }


def _deserialized(data: Mapping[str, Any] | None) -> RetryPolicy | None:
    if data is None:
        return None
    kind = attrgetter(data["class"])(import_module(data["module"]))
    policy: RetryPolicy = kind.deserialize(data["policy"])
    return policy


def _cut(reason: str) -> str:
    return reason[:500]  # as much as Airflow keeps
