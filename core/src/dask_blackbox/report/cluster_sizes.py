"""What a run would take with other numbers of workers, in words."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.cluster_sizes import ClusterSize, ClusterSizes
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import duration
from dask_blackbox.price import Price, amount_of, price_setting
from dask_blackbox.report.wording import money

__all__ = ["ASSUMED", "SizeRow", "size_rows", "size_summary"]

ASSUMED = (
    "Assumed: added workers have cores of their own, as fast as these, and storage and "
    "network keep up. The median error is in docs/cost.md."
)


class SizeRow(NamedTuple):
    """A number of workers, as texts.

    Attributes:
        workers: How many.
        threads: Of all of them.
        takes: How long the run takes.
        cost: What they cost; empty: no price is set.
        note: Whether that is the run itself, or what speaks against this size.
    """

    workers: str
    threads: str
    takes: str
    cost: str
    note: str


def size_summary(sizes: ClusterSizes) -> str:
    """Return what the model is worth for this run, or why there is no prediction."""
    took = f"It took {duration(sizes.seconds)}"
    if sizes.problem:
        return f"{took}; other sizes cannot be predicted: {sizes.problem}."
    assert sizes.model is not None  # noqa: S101 - only without it there is a problem
    return f"{took}; the model gives {duration(sizes.model)} for the same workers."


def size_rows(sizes: ClusterSizes, job: str) -> list[SizeRow]:
    """Return a row for each number of workers, with its cost where the job has a price."""
    try:
        prices = price_setting()
    except ConfigurationError:
        prices = None
    price = None if prices is None else prices.of(job)
    return [
        SizeRow(
            workers=f"{each.workers:,}",
            threads=f"{each.threads:,}",
            takes=duration(each.seconds),
            cost="" if price is None else _cost(each, price),
            note=_note(each),
        )
        for each in sizes.sizes
    ]


def _cost(size: ClusterSize, price: Price) -> str:
    amount = amount_of(size.thread_seconds, size.memory_gib_seconds, price)
    return "" if amount is None else money(amount, price.currency)


def _note(size: ClusterSize) -> str:
    if size.times == 1.0:
        return "as recorded"
    against = []
    if size.short_of_memory:
        against.append("their memory may not be enough")
    if size.more_than_cores:
        against.append("more threads than the machine has cores")
    return "; ".join(against)
