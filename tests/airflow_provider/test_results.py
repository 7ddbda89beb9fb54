"""A callable whose result cannot be stored fails with what to return, and its card says the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.results import ResultError, refused_result
from dask_blackbox.guard import kept
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
        "work returned an uncomputed value, a Delayed: call .compute(), "
    )
    assert card["state"] == "failed"
    assert (
        "returned an uncomputed value, a Delayed: call .compute()" in card["headline"]
    )
    assert card["verdict"]["retry_advice"] == "code"
    assert re.match(
        r"In `work` \(\S+/lazy\.py:\d+\), call \.compute\(\), because Airflow stores ",
        card["verdict"]["remedy"],
    )
    assert "results.py" not in card["verdict"]["cause"]


def refusal(value: object, *, multiple_outputs: bool = False) -> str:
    """Return what is said of a result that Airflow cannot store."""
    error = refused_result(value, work, multiple_outputs=multiple_outputs)
    assert isinstance(error, ResultError)
    return str(error)


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
        assert says in refusal(value)


def test_a_partial_and_an_object_are_named_without_their_address() -> None:
    class Job:
        def __call__(self) -> None: ...

    cases: list[tuple[Callable[..., object], str]] = [
        (partial(partial(work)), "work"),
        (Job(), "Job"),
    ]
    for function, name in cases:
        error = refused_result(object(), function)
        assert str(error).startswith(f"{name} returned an object, which Airflow ")


def test_the_kind_has_its_article_where_english_has_one() -> None:
    import dask.array

    assert "an uncomputed value, an Array: call" in refusal(dask.array.ones(3))
    assert refusal(b"friday").startswith("work returned bytes, which Airflow ")


def test_an_array_fails_the_task_and_is_the_verdict(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""
def work(client):
    import numpy
    return {{"prices": client.submit(numpy.arange, 3).result()}}

with DAG("array"):
    Watched(
        task_id="work",
        python_callable=work,
        cluster_kwargs={{**TINY, "processes": False}},
        store={str(tmp_path)!r},
    )
""",
        "array",
    )

    folder = RunAddress.of("array.work", ran.run_id, 1).folder
    card = json.loads((tmp_path / folder / "card.json").read_text())
    says = "work returned a numpy.ndarray, in a dict, which Airflow cannot store: "
    assert ran.state == "failed"
    assert ran.xcoms["caught"][0] == "ResultError"
    assert ran.xcoms["caught"][1].startswith(says)
    assert card["state"] == "failed"
    assert says in card["headline"]
    assert card["verdict"]["retry_advice"] == "code"
    assert re.match(
        r"In `work` \(\S+/array\.py:\d+\), call \.tolist\(\) if it is small, or ",
        card["verdict"]["remedy"],
    )


class Order:
    """Nothing that Airflow could store."""


def _values() -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    return {
        "a numpy.ndarray, which Airflow cannot store: call .tolist()": np.arange(3),
        "a pandas.Series, which Airflow cannot store: call .to_list()": pd.Series([1]),
        "nan, which Airflow cannot store: return None": float("nan"),
        "inf, in a dict, which Airflow cannot store: return None": {
            "rate": np.float64("inf")
        },
        "an Order, in a list, which Airflow cannot store: return numbers": [Order()],
        "a dict, which Airflow cannot store (AttributeError, reserved key": {
            "__classname__": "x"
        },
        "a PosixPath, which Airflow cannot store: return it as text": Path("x"),
        "a generator, which Airflow cannot store: return its items": (x for x in "a"),
    }


@pytest.mark.parametrize("says", _values())
def test_what_airflow_cannot_store_has_what_to_return_instead(says: str) -> None:
    assert refusal(_values()[says]).startswith(f"work returned {says}")


def test_several_outputs_are_a_dict() -> None:
    assert refused_result({"rows": 1}, work, multiple_outputs=True) is None
    assert refused_result(None, work, multiple_outputs=True) is None
    said = refusal([1], multiple_outputs=True)
    assert "returned a list: return a dict, because multiple_outputs" in said


def test_what_airflow_stores_and_backends_of_the_users_own_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import dask
    import numpy as np

    stored = {
        "rows": [1, np.int64(2), np.float64(0.5), None, True],
        "name": "x",
        "days": (date(2026, 1, 2), {1, 2}, Decimal("0.1")),
    }
    assert refused_result(stored, work) is None
    monkeypatch.setenv("AIRFLOW__CORE__XCOM_BACKEND", "shop.xcom.PickledXCom")
    assert refused_result(dask.delayed(str)("x"), work) is None
    assert refused_result(Order(), work) is None


class Unreadable(dict[str, object]):
    """A mapping whose values cannot be looked at."""

    def values(self) -> Any:
        raise LookupError("closed")


def test_a_result_that_cannot_be_looked_at_is_left_to_airflow() -> None:
    assert refused_result(Unreadable(rows=1), work) is None
    kept.clear()  # what the guard had to swallow
