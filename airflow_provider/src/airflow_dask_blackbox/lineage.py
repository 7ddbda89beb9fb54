"""What OpenLineage receives for a task: a run facet with the verdict and the measures.

Airflow's OpenLineage provider calls an operator's `get_openlineage_facets_on_…`; without it,
nobody calls these, and nothing of it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, tab_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

__all__ = ["OpenLineageFacets"]


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
            from dask_blackbox.report.openlineage import FACET, run_facet

            if self.dask_card is not None:
                url = tab_of(TaskKey.of(task_instance), task_instance.try_number)
                facets[FACET] = run_facet(self.dask_card, url)
        return OperatorLineage(run_facets=facets)
