"""What is sure to fail again is not tried again, where the user asks for that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding
from flow_clusters import shared_runner
from prefect import flow, task
from prefect.states import Failed
from prefect_dask_blackbox import dask_blackbox_says_retry, observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def _tried(folder: str, name: str) -> int:
    """Note another try; return its number."""
    with (Path(folder) / name).open("a") as file:
        file.write("tried\n")
    return _tries(folder, name)


def _tries(folder: str | Path, name: str) -> int:
    return len((Path(folder) / name).read_text().splitlines())


@task(retries=2, retry_condition_fn=dask_blackbox_says_retry)
def refuse(folder: str) -> None:
    number = _tried(folder, "refuse")
    raise TypeError(f"no deliveries, said {number} times")


@task(retries=2, retry_condition_fn=dask_blackbox_says_retry)
def hang_up(folder: str) -> int:
    number = _tried(folder, "hang_up")
    if number == 1:
        raise ConnectionResetError("the other side hung up")
    return number


@task(retries=2, retry_condition_fn=dask_blackbox_says_retry)
def unclear(folder: str) -> int:
    number = _tried(folder, "unclear")
    if number == 1:
        raise OSError("nobody knows why")
    return number


@task
def double(number: int) -> int:
    return 2 * number


def test_tasks_are_tried_again_where_that_may_help(
    prefect: Any, tmp_path: Path
) -> None:
    runner: Any = shared_runner()

    @flow(name="conditions", task_runner=runner)
    def conditions(folder: str) -> list[Any]:
        futures = [each.submit(folder) for each in (refuse, hang_up, unclear)]
        return [each.result(raise_on_failure=False) for each in futures]

    refused, *others = conditions(str(tmp_path))

    assert "no deliveries, said 1 times" in str(refused)
    assert others == [2, 2]
    assert [_tries(tmp_path, n) for n in ("refuse", "hang_up", "unclear")] == [1, 2, 2]


@pytest.mark.parametrize(
    ("data", "retry"),
    [
        (TypeError("x"), False),
        (ModuleNotFoundError("x"), False),
        (NameError("x"), False),
        (MemoryError(), True),
        (ConnectionError("x"), True),
        (OSError("x"), True),
        (None, True),
        ("no exception", True),
    ],
)
def test_only_what_is_sure_to_fail_again_is_not_tried(
    data: Any, *, retry: bool
) -> None:
    assert dask_blackbox_says_retry(None, None, Failed(data=data)) is retry


def test_the_condition_travels_to_where_this_package_is_not(tmp_path: Path) -> None:
    import subprocess

    condition = tmp_path / "condition"
    pickled = cloudpickle.dumps(dask_blackbox_says_retry)  # type: ignore[no-untyped-call]
    condition.write_bytes(pickled)
    code = (
        "import pickle, sys\n"
        "sys.modules['dask_blackbox'] = sys.modules['prefect_dask_blackbox'] = None\n"
        f"says = pickle.load(open({str(condition)!r}, 'rb'))\n"
        "class State: data = ValueError('x')\n"
        "print(says(None, None, State))"
    )

    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert said.stdout.strip() == "True"


def _flow(folder: Path, name: str, error: type[Exception], **options: Any) -> Any:
    @observed_flow(
        name=name,
        retries=2,
        task_runner=shared_runner(),
        **options,
    )
    def reported() -> int:
        number = _tried(str(folder), name)
        doubled = double.submit(number).result()
        if number < 2:
            raise error("on purpose")
        return doubled

    return reported


def test_a_flow_that_would_fail_again_is_not_tried_again(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    non_retryable = _flow(
        tmp_path, "hopeless", ZeroDivisionError, follow_retry_advice=True
    )

    with pytest.raises(ZeroDivisionError):
        non_retryable()

    seen = prefect.newest("hopeless", store)
    assert _tries(tmp_path, "hopeless") == 1
    assert seen.state == "FAILED"
    # Whoever runs it again by hand has its retries back.
    assert seen.retries == 2


@pytest.mark.nightly
def test_a_flow_that_may_pass_is_tried_again(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    passing = _flow(tmp_path, "passing", ConnectionError, follow_retry_advice=True)

    assert passing() == 4
    assert _tries(tmp_path, "passing") == 2


@pytest.mark.nightly
def test_who_did_not_ask_keeps_all_retries(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    plain = _flow(tmp_path, "plain", ZeroDivisionError)

    assert plain() == 4


@pytest.mark.parametrize(
    ("state", "confidence", "advice"),
    [
        ("failed", "medium", "code"),
        ("failed", "high", "unknown"),
        ("failed", "high", "transient"),
        ("running", "high", "code"),
    ],
)
def test_a_verdict_that_is_not_sure_takes_nothing_away(
    state: Any, confidence: Any, advice: Any
) -> None:
    from prefect_dask_blackbox.retries import FlowRetries

    verdict = Finding(
        rule="task-exception", title="", cause="", remedy="", severity="failure",
        confidence="high", retry_advice=advice, retry_confidence=confidence,
    )  # fmt: skip
    card = RunCard(job="j", run_id="r", state=state, headline="no", verdict=verdict)

    class Nobody:
        """Would fail if it were asked for anything but its policy."""

        class empirical_policy:  # noqa: N801 - as Prefect calls it
            retries = 2

    assert FlowRetries(Nobody()).stop_retries(card) is None  # type: ignore[arg-type]
    assert FlowRetries(Nobody()).stop_retries(None) is None  # type: ignore[arg-type]
