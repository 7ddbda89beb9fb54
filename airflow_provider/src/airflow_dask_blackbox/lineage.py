"""What OpenLineage receives for a task: a run facet with the verdict and the measures.

Airflow's OpenLineage provider calls an operator's `get_openlineage_facets_on_…`; without it,
nobody calls these, and nothing of it is imported.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, tab_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["FACET", "OpenLineageFacets"]

FACET: Final = "daskRun"
"""Name of the facet among those of a run."""

_SCHEMA: Final = (
    "https://dask-blackbox.github.io/dask-blackbox/latest/openlineage/DaskRunFacet.json"
    "#/$defs/DaskRunFacet"
)
"""Of the facet, as JSON Schema: `docs/openlineage/DaskRunFacet.json`."""


class OpenLineageFacets:
    """For operators that have a `dask_card`: reports the Dask run to OpenLineage."""

    @property
    def dask_card(self) -> RunCard | None:
        """The card of the run, if this object has run and recorded a task."""
        raise NotImplementedError

    def get_openlineage_facets_on_complete(self, task_instance: object) -> object:
        """Return the facets of a task that succeeded."""
        return self._lineage(task_instance)

    def get_openlineage_facets_on_failure(self, task_instance: object) -> Any:
        """Return the facets of a task that failed."""
        return self._lineage(task_instance)

    def _lineage(self, task_instance: Any) -> Any:
        try:
            from airflow.providers.openlineage.extractors import OperatorLineage
        except ImportError:
            return None  # then nobody asks, either
        facets: dict[str, Any] = {}
        with guard("the OpenLineage facet of the Dask run"):
            if self.dask_card is not None:
                url = tab_of(TaskKey.of(task_instance), task_instance.try_number)
                facets[FACET] = _facet(self.dask_card, url)
        return OperatorLineage(run_facets=facets)


def _facet(card: RunCard, url: str) -> Any:
    verdict = card.verdict
    return _facet_class()(
        state=card.state,
        headline=card.headline,
        rule=verdict and verdict.rule,
        cause=verdict and verdict.cause,
        remedy=verdict and verdict.remedy,
        confidence=verdict and verdict.confidence,
        retry=verdict and verdict.retry_advice,
        report=url,
        numbers=dict(card.numbers),
    )


@cache
def _facet_class() -> Any:
    import attrs
    from openlineage.client.facet_v2 import RunFacet

    @attrs.define
    class DaskRunFacet(RunFacet):  # type: ignore[misc]
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
