"""What a run's cluster cost, by the user's own prices (`blackbox.price`).

A recording has how much of a cluster there was and for how long, and no money: a price that
is set today counts for the runs of last year, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.settings import setting

__all__ = ["Cost", "Price", "Prices", "amount_of", "cost_of", "price_setting"]

_HOUR = 3600.0


class Price(NamedTuple):
    """What a cluster costs.

    Attributes:
        core_hour: A thread of a worker, for an hour.
        gib_hour: A GiB of a worker's memory limit, for an hour.
        currency: Of both, as it is to be shown.
    """

    core_hour: float
    gib_hour: float
    currency: str


class Cost(NamedTuple):
    """What the cluster of a run cost.

    Attributes:
        amount: From its first worker to its end.
        idle: As much of it as its threads computed no task.
        currency: Of both.
    """

    amount: float
    idle: float
    currency: str


class Prices(NamedTuple):
    """The prices of all jobs.

    Attributes:
        usual: Of a job that no pattern names; None: there is none.
        of_jobs: Prices by patterns of jobs' names, such as those on GPUs or spot instances.
    """

    usual: Price | None
    of_jobs: tuple[tuple[str, Price], ...] = ()

    def of(self, job: str) -> Price | None:
        """Return the price for a job, of the first pattern that its name matches."""
        found = (price for pattern, price in self.of_jobs if fnmatchcase(job, pattern))
        return next(found, self.usual)


def price_setting() -> Prices | None:
    """Return the prices that are set; None: none is.

    Raises:
        ConfigurationError: if one is not a number from 0 on.
    """
    currency = str(setting("price.currency") or "")[:20]
    usual = {
        "core-hour": setting("price.core-hour"),
        "gib-hour": setting("price.gib-hour"),
    }
    jobs = setting("price.jobs") or {}
    if not isinstance(jobs, dict) or not all(
        isinstance(e, dict) for e in jobs.values()
    ):
        raise ConfigurationError(
            f"blackbox.price.jobs is {jobs!r}; give prices by patterns of jobs' names, "
            "like {'gpu-*': {'core-hour': 0.4}}"
        )
    of_jobs = tuple(
        (str(pattern), price)
        for pattern, given in jobs.items()
        if (price := _price(f"jobs.{pattern}.", given, currency)) is not None
    )
    found = Prices(_price("", usual, currency), of_jobs)
    return None if found == Prices(None) else found


def _price(where: str, given: Mapping[str, Any], currency: str) -> Price | None:
    core, gib = (
        _number(f"{where}{name}", given.get(name, given.get(name.replace("-", "_"))))
        for name in ("core-hour", "gib-hour")
    )
    if core is None and gib is None:
        return None
    return Price(core or 0.0, gib or 0.0, currency)


def cost_of(numbers: Mapping[str, float], price: Price) -> Cost | None:
    """Return what the cluster of a run cost; None: it is not known how much of it there was.

    Args:
        numbers: The measures of the run's card.
        price: What counts.
    """
    threads, memory = numbers.get("thread_seconds"), numbers.get("memory_gib_seconds")
    amount = amount_of(threads, memory, price)
    if amount is None:
        return None
    threads = threads or 0.0
    computed = min(numbers.get("compute_seconds", 0.0), threads)
    idle = 1.0 - computed / threads if threads else 0.0
    return Cost(amount, amount * idle, price.currency)


def amount_of(
    threads: float | None, memory: float | None, price: Price
) -> float | None:
    """Return what a cluster costs; None: what is to be paid for is not known.

    Args:
        threads: Seconds that threads were there; None: not known.
        memory: GiB of memory limits, times seconds; None: not known.
        price: What counts.
    """
    if (price.core_hour and threads is None) or (price.gib_hour and memory is None):
        return None
    hours = (threads or 0.0) * price.core_hour + (memory or 0.0) * price.gib_hour
    return hours / _HOUR


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise ConfigurationError(
            f"blackbox.price.{name} is {value!r}; give what an hour costs as a number, "
            "like 0.05"
        )
    return number
