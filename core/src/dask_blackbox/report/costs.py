"""What runs cost by the user's prices, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import counted
from dask_blackbox.price import Cost, cost_of, price_setting
from dask_blackbox.report.wording import money

__all__ = ["Costs", "costs_of"]


class Costs(NamedTuple):
    """What runs cost.

    Attributes:
        of_runs: By run.
        summary: Of all of them.
    """

    of_runs: dict[str, str]
    summary: str


def costs_of(job: str, numbers: Mapping[str, Mapping[str, float]]) -> Costs | None:
    """Return what runs of a job cost; None: no price is set, or no cost is known.

    Args:
        job: Its name.
        numbers: The measures of each run's card.
    """
    try:
        prices = price_setting()
    except ConfigurationError as error:
        return Costs({}, f"Costs are not shown: {error}.")
    price = None if prices is None else prices.of(job)
    if price is None:
        return None
    known = {run: cost_of(each, price) for run, each in numbers.items()}
    costs = {run: cost for run, cost in known.items() if cost is not None}
    return Costs(_shown(costs), _summary([*costs.values()])) if costs else None


def _shown(costs: Mapping[str, Cost]) -> dict[str, str]:
    return {run: money(cost.amount, cost.currency) for run, cost in costs.items()}


def _summary(costs: list[Cost]) -> str:
    currency = costs[0].currency
    amount = money(sum(cost.amount for cost in costs), currency)
    idle = money(sum(cost.idle for cost in costs), currency)
    runs = counted(len(costs), "run")
    return f"The newest {runs} cost {amount}, of which {idle} while threads computed no task."
