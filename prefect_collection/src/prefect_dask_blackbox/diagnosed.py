"""The event `dask.run.diagnosed`: what automations can act upon."""

from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

from dask_blackbox.attach import RunCard
from prefect.events import emit_event

__all__ = ["emit_diagnosed"]

EVENT = "dask.run.diagnosed"


def emit_diagnosed(card: RunCard, flow_run_id: UUID) -> None:
    """Tell Prefect the verdict of a run, if there is one.

    Telling it twice is telling it once: the event's id follows from run and attempt.
    """
    if card.verdict is None:
        return
    verdict = card.verdict
    emit_event(
        EVENT,
        resource={
            "prefect.resource.id": f"dask.run.{flow_run_id}.{card.attempt}",
            "prefect.resource.name": card.job,
            "dask.cause": verdict.rule,
            "dask.confidence": verdict.confidence,
            "dask.retry_advice": verdict.retry_advice,
            "dask.report_uri": card.links.get("report", ""),
        },
        related=[
            {
                "prefect.resource.id": f"prefect.flow-run.{flow_run_id}",
                "prefect.resource.role": "flow-run",
            }
        ],
        payload={"headline": card.headline, "cause": verdict.cause},
        id=uuid5(NAMESPACE_URL, f"{EVENT}/{flow_run_id}/{card.attempt}/{verdict.rule}"),
    )
