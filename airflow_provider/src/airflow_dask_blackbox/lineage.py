"""What OpenLineage receives for a task: what it read and wrote, and a facet with the verdict.

Airflow's OpenLineage provider calls an operator's `get_openlineage_facets_on_…`; without it,
nobody calls these, and nothing of it is imported.  It calls them in the task's process: of a task
that was stopped or killed, the recorder sends the same to the run that `run_at_service` names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey, tab_of

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard
    from dask_blackbox.protocol.messages import HostLineage

__all__ = ["OpenLineageFacets", "run_at_service"]


class OpenLineageFacets:
    """For operators that have a `dask_card`: reports the Dask run to OpenLineage."""

    @property
    def dask_card(self) -> RunCard | None:
        """The card of the run, if this object has run and recorded a task."""
        raise NotImplementedError

    @property
    def dask_data(self) -> tuple[Sequence[str], Sequence[str]]:
        """The paths that its graphs have read, and those that they have written."""
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
        lineage = OperatorLineage()
        with guard("the OpenLineage facet of the Dask run"):
            from dask_blackbox.report.openlineage import FACET, run_facet

            if self.dask_card is not None:
                url = tab_of(TaskKey.of(task_instance), task_instance.try_number)
                lineage.run_facets[FACET] = run_facet(self.dask_card, url)
        with guard("the OpenLineage datasets of the Dask run"):
            from dask_blackbox.report.openlineage import datasets_at

            read, written = (datasets_at(each) for each in self.dask_data)
            if read or written:
                # Airflow adds what the DAG declares only where there is nothing else.
                known = [_declared(getattr(self, n, ())) for n in ("inlets", "outlets")]
                lineage.inputs.extend(_each_once(read, known[0]))
                lineage.outputs.extend(_each_once(written, known[1]))
        return lineage


def run_at_service(ti: Any) -> HostLineage | None:
    """Return the run that OpenLineage has of a task instance; None: it gets no events of it.

    Args:
        ti: The task instance that runs in this process.
    """
    known: list[HostLineage | None] = [None]
    with guard("the run that OpenLineage has of this task"):
        known.append(_run_at_service(ti))
    return known[-1]


def _run_at_service(ti: Any) -> HostLineage | None:
    try:
        from airflow.providers.openlineage import conf
        from airflow.providers.openlineage.plugins import macros
        from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
    except ImportError:
        return None
    if conf.is_disabled() or not _sends_events_of(ti):
        return None
    from dask_blackbox.protocol.messages import HostLineage

    return HostLineage(
        settings=OpenLineageAdapter().get_openlineage_config(),
        namespace=macros.lineage_job_namespace(),
        job=macros.lineage_job_name(ti),
        run_id=macros.lineage_run_id(ti),
        report=tab_of(TaskKey.of(ti), ti.try_number),
    )


def _sends_events_of(ti: Any) -> bool:
    """Return whether Airflow's settings want events of a task."""
    try:
        from airflow.providers.openlineage.utils.emission_policy import (
            resolve_task_emission_policy,
        )
    except ImportError:  # an older provider
        utils: Any = import_module("airflow.providers.openlineage.utils.utils")
        wanted = utils.is_selective_lineage_enabled(ti.task)
        return bool(wanted) and not utils.is_operator_disabled(ti.task)
    policy = resolve_task_emission_policy(
        operator=ti.task, dag_id=ti.dag_id, task_id=ti.task_id
    )
    return bool(policy.emit)


def _declared(assets: Iterable[object]) -> list[Any]:
    """Return the datasets that assets of the DAG are, as Airflow's provider translates them."""
    try:
        from airflow.providers.openlineage.extractors.manager import ExtractorManager
    except ImportError:
        return []
    found = map(ExtractorManager.convert_to_ol_dataset, assets or ())
    return [each for each in found if each is not None]


def _each_once(*datasets: Iterable[Any]) -> list[Any]:
    found = (each for some in datasets for each in some)
    return list({(each.namespace, each.name): each for each in found}.values())
