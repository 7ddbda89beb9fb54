"""Counts recorded tasks in Airflow's own metrics: StatsD, Datadog or OpenTelemetry.

Airflow sends nothing unless its section `[metrics]` says where to.  The names are few: one
for each state of a run and one for each rule, whatever the number of tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["PREFIX", "count_run"]

PREFIX: Final = "dask_blackbox"
"""What the names of all metrics begin with, after Airflow's own prefix."""


def count_run(ti: Any, card: RunCard) -> None:
    """Count an ended run by its state, and one that did not succeed by its verdict.

    Backends with tags get the DAG and the task, and the retry advice of a verdict.

    Args:
        ti: The task instance that was recorded.
        card: Of its run, which has ended.
    """
    with guard("the metrics of the Dask run"):
        stats, tags = _stats(), {"dag_id": ti.dag_id, "task_id": ti.task_id}
        if not card.completeness.get("recorded", True):
            stats.incr(f"{PREFIX}.not_recorded", tags=tags)
        stats.incr(f"{PREFIX}.runs.{card.state}", tags=tags)
        if card.state != "succeeded" and card.verdict is not None:
            tags = {**tags, "retry": card.verdict.retry_advice}
            stats.incr(f"{PREFIX}.verdicts.{card.verdict.rule}", tags=tags)


def _stats() -> Any:
    try:
        from airflow.sdk.observability import stats
    except ImportError:  # Airflow 3.1
        from airflow.stats import Stats as stats  # type: ignore[no-redef] # noqa: N813
    return stats
