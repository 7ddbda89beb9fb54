"""Cards with an advice on trying again, for tests of what Airflow decides."""

from __future__ import annotations

from typing import Any

from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding


def a_card(state: Any = "failed", *, confidence: Any, advice: Any) -> RunCard:
    """Return the card of a run; one that failed has a verdict with this advice."""
    verdict = Finding(
        rule="task-exception",
        title="ValueError in 'refuse'",
        cause="",
        remedy="",
        severity="failure",
        confidence="high",
        retry_advice=advice,
        retry_confidence=confidence,
    )
    return RunCard(
        job="d.t",
        run_id="r",
        state=state,
        headline="ValueError in 'refuse'",
        verdict=None if state in {"running", "succeeded"} else verdict,
    )
