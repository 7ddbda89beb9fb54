"""The demo's runs, in both hosts, and how each must end."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox import RunCard

__all__ = ["AIRFLOW", "PREFECT", "DemoRun"]


class DemoRun(NamedTuple):
    """A DAG or a flow that the demo runs.

    Attributes:
        host: `Airflow` or `Prefect`.
        name: Of the DAG, or of the flow's file.
        job: What its runs are recorded as.
        task: The DAG's task that uses Dask.
        state: How the run must end.
        rule: Which rule's finding must be its verdict; None if it must succeed.
    """

    host: str
    name: str
    job: str
    task: str = ""
    state: str = "succeeded"
    rule: str | None = None

    def untrue(self, card: RunCard) -> str | None:
        """Return how the card differs from what is expected, or None."""
        rule = card.verdict.rule if card.verdict else None
        if (card.state, rule) == (self.state, self.rule):
            return None
        return (
            f"{self.name} in {self.host} should be {self.state} with the verdict "
            f"{self.rule or '(none)'}; it is {card.state} with {rule or '(none)'}"
        )


AIRFLOW = (
    DemoRun(
        host="Airflow",
        name="recorded_etl",
        job="recorded_etl.revenue_by_country",
        task="revenue_by_country",
    ),
    DemoRun(
        host="Airflow",
        name="out_of_memory",
        job="out_of_memory.bought_together",
        task="bought_together",
        state="failed",
        rule="worker-memory-limit",
    ),
)

PREFECT = (
    DemoRun(host="Prefect", name="recorded_etl", job="recorded-etl"),
    DemoRun(
        host="Prefect",
        name="out_of_memory",
        job="out-of-memory",
        state="failed",
        rule="worker-memory-limit",
    ),
)
