"""A callable that returns a graph fails with what to call, and its card says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.lazy_results import LazyResultError, refuse_lazy
from dask_blackbox.layout import RunAddress


def work() -> None:
    """Stand for a callable."""


def test_a_lazy_result_fails_the_task_and_is_the_verdict(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""
def work():
    import dask
    return dask.delayed(str.upper)("friday")

with DAG("lazy"):
    Watched(
        task_id="work",
        python_callable=work,
        cluster_kwargs={{**TINY, "processes": False}},
        store={str(tmp_path)!r},
    )
""",
        "lazy",
    )

    folder = RunAddress.of("lazy.work", ran.run_id, 1).folder
    card = json.loads((tmp_path / folder / "card.json").read_text())
    assert ran.state == "failed"
    assert ran.xcoms["caught"][1].startswith(
        "work returned something lazy, a Delayed: call .compute(), "
    )
    assert card["state"] == "failed"
    assert "returned something lazy, a Delayed: call .compute()" in card["headline"]
    assert card["verdict"]["retry_advice"] == "code"
    assert re.match(
        r"In `work` \(\S+/lazy\.py:\d+\), call \.compute\(\), as a task's result is ",
        card["verdict"]["remedy"],
    )
    assert "lazy_results.py" not in card["verdict"]["cause"]


def test_lazy_values_are_found_where_people_return_them() -> None:
    import dask
    import dask.bag

    lazy = dask.delayed(str)("x")
    bag = dask.bag.from_sequence([1])
    for value, says in [
        (lazy, "a Delayed: call"),
        ([1, lazy], "a Delayed, in a list: call"),
        ({"rows": (bag,)}, "a Bag, in a dict: call"),
    ]:
        with pytest.raises(LazyResultError, match=says):
            refuse_lazy(value, work)


def test_the_kind_has_its_article() -> None:
    import dask.array

    with pytest.raises(LazyResultError, match="lazy, an Array: call"):
        refuse_lazy(dask.array.ones(3), work)


def test_results_and_backends_of_the_users_own_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import dask

    refuse_lazy({"rows": [1, 2], "name": "x"}, work)
    monkeypatch.setenv("AIRFLOW__CORE__XCOM_BACKEND", "shop.xcom.PickledXCom")
    refuse_lazy(dask.delayed(str)("x"), work)
