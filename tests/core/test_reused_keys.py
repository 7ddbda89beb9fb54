"""Keys that a driver gives to a second task while the first one's result is held."""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Iterator
from functools import partial
from operator import add, mul
from typing import Any

import pandas as pd
import pytest
from conditions import until
from dask.delayed import delayed
from dask_blackbox.capture.driver.merged_calls import MergedCalls
from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.capture.driver.reused_keys import ReusedKeys
from distributed import Client

pytestmark = pytest.mark.processes

Found = list[dict[str, object]]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        yield client


@pytest.fixture
def merged() -> Iterator[Found]:
    """Return what is reported of equal calls while a test runs."""
    taken: Found = []
    patches = Patches()
    ReusedKeys(taken.append, MergedCalls(taken.append)).watch(Client, patches)
    yield taken
    patches.restore()


@pytest.fixture
def found() -> Iterator[Found]:
    """Return what is reported while a test runs."""
    taken: Found = []
    patches = Patches()
    reused = ReusedKeys(taken.append)
    reused.watch(Client, patches)
    reused.watch_delayed(sys.modules["dask.delayed"], Client, patches)
    yield taken
    patches.restore()


def test_another_argument_is_reported_with_the_line(
    client: Client, found: Found
) -> None:
    first = client.submit(add, 1, 2, key="sum")
    second = client.submit(add, 1, 3, key="sum")

    assert second.result() == first.result() == 3
    (reused,) = found
    assert (reused["key"], reused["task"]) == ("sum", "add")
    assert str(reused["file"]).endswith("test_reused_keys.py")


def test_another_function_is_reported(client: Client, found: Found) -> None:
    first = client.submit(add, 1, 2, key="one")
    second = client.submit(mul, 1, 2, key="one")

    assert first.result() == second.result()
    assert [each["task"] for each in found] == ["mul"]


def test_a_key_that_another_client_holds_is_reported(
    client: Client, found: Found
) -> None:
    with Client(client.scheduler_info()["address"], set_as_default=False) as other:
        first = client.submit(add, 1, 2, key="shared")
        assert first.result() == 3
        assert other.submit(mul, 1, 2, key="shared").result() == 3

    assert [each["task"] for each in found] == ["mul"]


def test_the_same_task_is_not_reported(client: Client, found: Found) -> None:
    held = [client.submit(add, [1], [2], key="same", retries=n) for n in (0, 1)]

    assert held[1].result() == [1, 2]
    assert found == []


def test_a_key_whose_result_was_released_is_not_reported(
    client: Client, found: Found
) -> None:
    first = client.submit(add, 1, 2, key="released")
    assert first.result() == 3
    first.release()
    until(lambda: "released" not in client.futures, "the client has released it")

    assert client.submit(add, 1, 3, key="released").result() == 4
    assert found == []


def test_large_arguments_are_not_compared(client: Client, found: Found) -> None:
    held = [
        client.submit(len, pd.DataFrame({"n": range(n)}), key="rows") for n in (1, 2)
    ]

    assert held[1].result() == 1
    assert found == []


def test_each_key_of_a_map_is_compared(client: Client, found: Found) -> None:
    first = client.map(add, [1, 2], [1, 1], key=["a", "b"])
    second = client.map(add, [1, 3], [1, 1], key=["a", "b"])

    assert client.gather(second) == client.gather(first) == [2, 3]
    assert [each["key"] for each in found] == ["b"]


@pytest.mark.parametrize(
    ("function", "arguments", "reported"),
    [(add, (1, 3), ["add"]), (mul, (1, 2), ["mul"]), (add, (1, 2), [])],
)
def test_a_delayed_call_with_the_key_of_a_held_result_is_compared(
    client: Client, found: Found, function: Any, arguments: Any, reported: list[str]
) -> None:
    key = f"delayed-{function.__name__}-{arguments[1]}"
    first = delayed(add)(1, 2, dask_key_name=key).persist()
    second = delayed(function)(*arguments, dask_key_name=key)

    assert second.compute() == first.compute() == 3
    assert [each["task"] for each in found] == reported
    assert all(each["delayed"] for each in found)


def test_a_delayed_call_whose_key_nobody_holds_is_not_reported(
    client: Client, found: Found
) -> None:
    assert delayed(add)(1, 2, dask_key_name="once").compute() == 3
    until(lambda: "once" not in client.futures, "the client has released it")

    assert delayed(add)(1, 3, dask_key_name="once").compute() == 4
    assert found == []


def drawn(day: int) -> float:
    return random.gauss(day, 1)


def looked_up(day: int) -> int:
    return day


@pytest.mark.parametrize(
    ("function", "pure", "calls"),
    [
        (drawn, True, [1, 2]),
        (partial(drawn), True, [1, 2]),
        (drawn, False, []),
        (looked_up, True, []),
    ],
)
def test_equal_calls_of_what_draws_random_numbers_are_counted(
    client: Client, merged: Found, function: Any, calls: list[int], *, pure: bool
) -> None:
    held = [client.submit(function, day, pure=pure) for day in (1, 1, 1, 2)]

    assert [each["calls"] for each in merged] == calls
    assert all(each["draws"] == ["gauss", "random"] for each in merged)
    assert len(client.gather(held)) == 4


def test_equal_arguments_of_one_map_are_counted_but_for_the_first(
    client: Client, merged: Found
) -> None:
    held = client.map(drawn, [7, 7, 7, 8])

    assert len(set(client.gather(held))) == 2
    assert [each["calls"] for each in merged] == [2]


def test_a_wrong_call_raises_what_it_raised_before(
    client: Client, found: Found
) -> None:
    function: Any = "no function"
    with pytest.raises(TypeError, match="callable") as raised:
        client.submit(function, 1, key="wrong")

    files = [frame.filename for frame in traceback.extract_tb(raised.tb)]
    assert [each for each in files if each.endswith("reused_keys.py")] == [__file__]
