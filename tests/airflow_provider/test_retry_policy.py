"""What `DaskRetryPolicy` decides, on an Airflow that asks one (3.3)."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow import sdk
from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryPolicy, RetryRule
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.retry_policy import DaskRetryPolicy
from dask_blackbox.card import RunCard
from retry_cards import a_card

_DAGS = """
from airflow_dask_blackbox.retry_policy import DaskRetryPolicy
from pathlib import Path

class DeploymentError(Exception):
    pass

def refuse(day):
    raise TypeError(f"no deliveries on {day}")

def drop(day):
    raise ConnectionResetError("the other side hung up")

def compute(function):
    import dask
    return dask.delayed(function)("Friday").compute()

def wrong():
    compute(refuse)

def passing(ti):
    return compute(drop if ti.try_number == 1 else str.upper)

def unclear(ti):
    if ti.try_number == 1:
        raise TimeoutError("nobody knows of what")
    return ti.try_number

def memory_of_this_try():
    import os
    from distributed import LocalCluster
    limit = f"{int(os.environ['AIRFLOW_CTX_TRY_NUMBER']) * 300} MiB"
    return LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=limit,
                        dashboard_address="127.0.0.1:0")

"""


def _tries(store: Path, task: str, dag: str = "retried") -> list[int]:
    found = store.glob(f"runs/job={dag}.{task}/run=*/attempt=*")
    return sorted(int(each.name.removeprefix("attempt=")) for each in found)


def _states(dag_run: Any) -> dict[str, str]:
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


@pytest.mark.nightly
def test_a_policy_fails_what_is_wrong_and_tries_again_what_passes(
    airflow: Any, tmp_path: Path
) -> None:
    common = f"""cluster_kwargs=TINY, store={str(tmp_path)!r}, retries=2,
        retry_delay=timedelta(0), retry_policy=policy"""
    dag = airflow.load(
        f"""{_DAGS}
policy = DaskRetryPolicy()
with DAG("retried"):
    DaskObservedOperator(task_id="wrong", python_callable=wrong, {common})
    DaskObservedOperator(task_id="passing", python_callable=passing, {common})
    DaskObservedOperator(
        task_id="unclear", python_callable=unclear, cluster=memory_of_this_try,
        {common.removeprefix("cluster_kwargs=TINY,")})
""",
        "retried",
    )

    dag_run = dag.test()

    states = _states(dag_run)
    assert states == {"wrong": "failed", "passing": "success", "unclear": "success"}
    assert _tries(tmp_path, "wrong") == [1]
    assert _tries(tmp_path, "passing") == [1, 2]
    assert _tries(tmp_path, "unclear") == [1, 2]
    assert _retry_reasons(dag_run) == {
        (
            "passing",
            1,
        ): "transient: ConnectionResetError in 'drop': the other side hung up",
        ("unclear", 1): None,  # Airflow's own `retries`
    }
    limits = [
        card["numbers"]["memory_limit"]
        for card in _cards(tmp_path, "unclear")
        if "memory_limit" in card["numbers"]
    ]
    assert limits[-1] == 600 * 2**20  # the second try had twice the memory


def _retry_reasons(dag_run: Any) -> dict[tuple[str, int], str | None]:
    """Return what Airflow shows as the reason of a retry, by the task and its failed try."""
    from airflow.utils.session import create_session
    from sqlalchemy import select

    from tests.support.airflow_versions import earlier_tries_of

    tries, of_earlier = earlier_tries_of(dag_run.run_id)
    columns = (tries.task_id, tries.try_number, tries.retry_reason)
    with create_session() as session:
        rows = session.execute(
            select(*columns)
            .where(*of_earlier)
            .execution_options(include_all_attempts=True)
        )
        return {(task, number): reason for task, number, reason in rows}


def _cards(store: Path, task: str) -> list[Any]:
    found = sorted(store.glob(f"runs/job=retried.{task}/run=*/attempt=*/card.json"))
    return [json.loads(each.read_text()) for each in found]


def test_unknown_retry_advice_is_refused_while_the_dag_is_parsed() -> None:
    with pytest.raises(
        OperatorConfigurationError, match="'unknown' is not a supported"
    ):
        DaskRetryPolicy(fail=["unknown"])


# Decisions, card by card


def _decided(
    card: RunCard | None,
    policy: RetryPolicy,
    error: BaseException = ValueError("x"),  # noqa: B008 - never raised
) -> RetryAction:
    context = {"ti": SimpleNamespace(task=SimpleNamespace(dask_card=card))}
    return policy.evaluate(error, 1, 2, cast("Any", context)).action


@pytest.mark.parametrize(
    ("advice", "confidence", "action"),
    [
        ("code", "high", RetryAction.FAIL),
        ("data", "high", RetryAction.FAIL),
        ("environment", "high", RetryAction.FAIL),
        ("transient", "high", RetryAction.RETRY),
        ("memory", "high", RetryAction.DEFAULT),
        ("unknown", "high", RetryAction.DEFAULT),
        ("code", "medium", RetryAction.DEFAULT),
        ("code", "low", RetryAction.DEFAULT),
        ("transient", "medium", RetryAction.RETRY),
        ("transient", "low", RetryAction.DEFAULT),
    ],
)
def test_advice_decides_where_it_is_sure(
    advice: str, confidence: str, action: RetryAction
) -> None:
    card = a_card(confidence=confidence, advice=advice)

    assert _decided(card, DaskRetryPolicy()) is action


def test_a_card_that_is_missing_or_unfinished_changes_nothing() -> None:
    unfinished = a_card("running", confidence="high", advice="code")

    assert _decided(None, DaskRetryPolicy()) is RetryAction.DEFAULT
    assert _decided(unfinished, DaskRetryPolicy()) is RetryAction.DEFAULT


def test_a_failure_of_ours_changes_nothing(
    swallowed: deque[tuple[str, BaseException]],
) -> None:
    context = {"ti": None}

    decision = DaskRetryPolicy().evaluate(ValueError("x"), 1, 2, context)

    assert decision.action is RetryAction.DEFAULT
    assert swallowed[0][0] == "the decision whether to retry"


def _with_airflows_own() -> DaskRetryPolicy:
    """Return a policy that leaves to Airflow's own what the verdict does not decide."""
    rules = [RetryRule("builtins.KeyError", action=RetryAction.FAIL)]
    return DaskRetryPolicy(otherwise=ExceptionRetryPolicy(rules=rules))


@pytest.mark.parametrize(
    ("card", "error", "action"),
    [
        (a_card(confidence="high", advice="transient"), KeyError(), RetryAction.RETRY),
        (a_card(confidence="high", advice="unknown"), KeyError(), RetryAction.FAIL),
        (
            a_card(confidence="high", advice="unknown"),
            ValueError(),
            RetryAction.DEFAULT,
        ),
        (None, KeyError(), RetryAction.FAIL),
    ],
    ids=["the verdict", "the other policy", "neither", "no card"],
)
def test_another_policy_decides_where_the_verdict_does_not(
    card: RunCard | None, error: BaseException, action: RetryAction
) -> None:
    assert _decided(card, _with_airflows_own(), error) is action


@pytest.mark.parametrize(
    ("advice", "error", "action"),
    [
        ("code", ValueError(), RetryAction.FAIL),
        ("unknown", KeyError(), RetryAction.FAIL),
        ("unknown", ValueError(), RetryAction.DEFAULT),
    ],
)
def test_a_chain_of_airflows_goes_on_where_the_verdict_does_not_decide(
    advice: str, error: BaseException, action: RetryAction
) -> None:
    chain: Any = getattr(sdk, "ChainRetryPolicy", None)
    if chain is None:
        pytest.skip("Airflow has ChainRetryPolicy since 3.4")
    rules = [RetryRule("builtins.KeyError", action=RetryAction.FAIL)]
    policy = chain([DaskRetryPolicy(), ExceptionRetryPolicy(rules=rules)])
    card = a_card(confidence="high", advice=advice)

    decided = _decided(card, policy, error)

    assert decided is action


def test_what_decides_otherwise_has_to_be_a_policy() -> None:
    with pytest.raises(TypeError, match="otherwise= is str, and not a retry policy"):
        DaskRetryPolicy(otherwise="fail")  # type: ignore[arg-type]


def test_a_policy_survives_serialization() -> None:
    policy = DaskRetryPolicy(fail=["memory"], store="s3://dask-runs")
    again = DaskRetryPolicy.deserialize(policy.serialize())

    assert vars(again) == vars(policy)


def test_a_policy_survives_serialization_with_the_one_that_decides_otherwise() -> None:
    again = DaskRetryPolicy.deserialize(
        json.loads(json.dumps(_with_airflows_own().serialize()))
    )

    assert _decided(None, again, KeyError()) is RetryAction.FAIL
    assert _decided(None, again, ValueError()) is RetryAction.DEFAULT
