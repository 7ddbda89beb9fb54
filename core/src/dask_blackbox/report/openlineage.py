"""The facet of OpenLineage with the verdict and the measures of a run.

Its schema is `docs/openlineage/DaskRunFacet.json`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dask_blackbox.card_data import CardData

__all__ = ["FACET", "run_facet"]

FACET: Final = "daskRun"
"""Name of the facet among those of a run."""

_SCHEMA: Final = (
    "https://dask-blackbox.github.io/dask-blackbox/latest/openlineage/DaskRunFacet.json"
    "#/$defs/DaskRunFacet"
)


def run_facet(card: CardData, report: str) -> Any:
    """Return the facet of a run, as OpenLineage's client takes it.

    Args:
        card: Of the run.
        report: Where a person reads the report.

    Raises:
        ImportError: if OpenLineage's client is not installed.
    """
    verdict = card.verdict
    return _facet_class()(
        state=card.state,
        headline=card.headline,
        rule=verdict and verdict.rule,
        cause=verdict and verdict.cause,
        remedy=verdict and verdict.remedy,
        confidence=verdict and verdict.confidence,
        retry=verdict and verdict.retry_advice,
        report=report,
        numbers=dict(card.numbers),
    )


@cache
def _facet_class() -> Any:
    import attrs
    from openlineage.client.facet_v2 import RunFacet

    @attrs.define
    class DaskRunFacet(RunFacet):
        state: str
        headline: str
        rule: str | None
        cause: str | None
        remedy: str | None
        confidence: str | None
        retry: str | None
        report: str
        numbers: dict[str, float]

        @staticmethod
        def _get_schema() -> str:
            return _SCHEMA

    return DaskRunFacet
