"""What runs cost by the user's prices, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import counted
from dask_blackbox.price import Cost, amount_of, cost_of, price_setting
from dask_blackbox.report.wording import money

__all__ = ["Costs", "costs_of", "last_costs"]


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


def last_costs(
    of_jobs: Mapping[str, Sequence[tuple[float | None, float | None]]],
) -> dict[str, tuple[str, str]]:
    """Return what the last run of each job cost, and what its runs usually cost.

    Only of jobs for which a price is set, and runs of which the cost is known.

    Args:
        of_jobs: By job, seconds of threads and GiB-seconds of memory of its runs: of the last
            one, and then of those that it is compared with.
    """
    try:
        prices = price_setting()
    except ConfigurationError:
        prices = None  # the page of a job says why
    if prices is None:
        return {}
    found = {}
    for job, runs in of_jobs.items():
        price = prices.of(job)
        if price is None or not runs:
            continue
        last, *others = (amount_of(threads, memory, price) for threads, memory in runs)
        known = [each for each in others if each is not None]
        if last is not None:
            usual = money(median(known), price.currency) if known else ""
            found[job] = (money(last, price.currency), usual)
    return found


def _shown(costs: Mapping[str, Cost]) -> dict[str, str]:
    return {run: money(cost.amount, cost.currency) for run, cost in costs.items()}


def _summary(costs: list[Cost]) -> str:
    currency = costs[0].currency
    amount = money(sum(cost.amount for cost in costs), currency)
    idle = money(sum(cost.idle for cost in costs), currency)
    runs = counted(len(costs), "run")
    return f"The newest {runs} cost {amount}, of which {idle} while threads computed no task."
