"""What the cluster of a run cost, by the prices that are set."""

from __future__ import annotations

from typing import Any

import dask
import msgspec
import pytest
from dask_blackbox.card import RunCard
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.price import Cost, Price, cost_of, price_setting
from dask_blackbox.report import markdown, text
from dask_blackbox.report.wording import cost_text

_HOUR = 3600.0
_NUMBERS = {
    "thread_seconds": 8 * _HOUR,
    "memory_gib_seconds": 32 * _HOUR,
    "compute_seconds": 2 * _HOUR,
}


def a_card() -> RunCard:
    """Return the card of a run with 8 threads for an hour."""
    return RunCard(
        job="sales",
        run_id="r1",
        state="succeeded",
        headline="Succeeded in 1 h",
        numbers=_NUMBERS,
    )


@pytest.mark.parametrize(
    ("price", "numbers", "cost"),
    [
        (Price(0.05, 0.01, "EUR"), _NUMBERS, Cost(0.72, 0.54, "EUR")),
        (Price(0.05, 0.0, "EUR"), _NUMBERS, Cost(0.4, 0.3, "EUR")),
        (
            Price(0.05, 0.0, "EUR"),
            {**_NUMBERS, "compute_seconds": 9 * _HOUR},
            Cost(0.4, 0.0, "EUR"),
        ),
        (Price(0.05, 0.01, "EUR"), {"thread_seconds": _HOUR}, None),
        (Price(0.0, 0.01, "EUR"), {"thread_seconds": _HOUR}, None),
        (Price(0.05, 0.0, "EUR"), {}, None),
        (Price(0.05, 0.0, "EUR"), {"thread_seconds": 0.0}, Cost(0.0, 0.0, "EUR")),
    ],
    ids=[
        "both",
        "cores",
        "more computed",
        "no limit",
        "memory",
        "nothing",
        "no worker",
    ],
)
def test_a_cost_is_of_what_is_known(
    price: Price, numbers: dict[str, float], cost: Cost | None
) -> None:
    found = cost_of(numbers, price)

    assert (found is None) is (cost is None)
    if found is not None and cost is not None:
        assert found[:2] == pytest.approx(cost[:2])
        assert found.currency == cost.currency


@pytest.mark.parametrize("value", ["much", -1, True, float("nan"), float("inf"), []])
def test_a_price_that_is_no_number_is_refused(value: Any) -> None:
    with (
        dask.config.set({"blackbox.price.core-hour": value}),
        pytest.raises(ConfigurationError, match=r"like 0\.05"),
    ):
        price_setting()


def test_without_a_price_no_cost_is_shown() -> None:
    card = a_card()

    assert price_setting() is None
    assert cost_text(card) == ""
    assert "cost" not in text(card)
    assert "thread" not in text(card)


def test_a_card_shows_the_cost_and_how_much_of_it_was_idle() -> None:
    card = a_card()

    with dask.config.set({"blackbox.price": {"core-hour": "0.05", "currency": "EUR"}}):
        shown = "0.40 EUR, of which 0.30 EUR while threads computed no task"
        assert cost_text(card) == shown
        assert f"cost {shown}" in " ".join(text(card).split())
        assert shown in markdown(card)
    with dask.config.set({"blackbox.price.core-hour": 0.0001}):
        assert cost_text(card).startswith("less than 0.01 USD, of which less than 0.01")
    with dask.config.set({"blackbox.price.core-hour": "much"}):
        assert cost_text(card).startswith("unknown (blackbox.price.core-hour is 'much'")


def test_jobs_with_workers_of_another_class_have_their_own_price() -> None:
    jobs = {"gpu-*": {"core-hour": 0.4}, "*-spot": {"core-hour": "0.01"}}
    with dask.config.set({"blackbox.price": {"core-hour": 0.05, "jobs": jobs}}):
        prices = price_setting()
        assert cost_text(a_card()).startswith("0.40 USD")
        gpu = msgspec.structs.replace(a_card(), job="gpu-train-spot")
        assert cost_text(gpu).startswith("3.20 USD")
    with dask.config.set({"blackbox.price.jobs": {"gpu-*": {"core-hour": 0.4}}}):
        assert cost_text(a_card()) == ""

    assert prices is not None
    found = [prices.of(job) for job in ("gpu-train", "sales-spot", "sales")]
    assert [each and each.core_hour for each in found] == [0.4, 0.01, 0.05]


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        ({"gpu-*": {"core-hour": "much"}}, r"price\.jobs\.gpu-\*\.core-hour is 'much'"),
        ({"gpu-*": 0.4}, "give prices by patterns"),
        ("gpu-*", "give prices by patterns"),
    ],
)
def test_prices_of_jobs_that_cannot_be_read_are_refused(jobs: Any, says: str) -> None:
    with (
        dask.config.set({"blackbox.price.jobs": jobs}),
        pytest.raises(ConfigurationError, match=says),
    ):
        price_setting()
