"""The cluster manager that runs a run's workers, as cluster object and workers name it."""

from __future__ import annotations

from dask_blackbox.events import DriverAttached, ProcessAncestors
from dask_blackbox.managers import manager_of_cluster, unit_named_in
from dask_blackbox.run_tables import RunTables

_WITHOUT = ("Cluster", "LocalCluster", "LocalCUDACluster", "SpecCluster", "SSHCluster")
"""Cluster objects that start processes themselves, or that do not name their kind."""

_NAMES = {
    "KubeCluster": "Kubernetes",
    "HelmCluster": "Kubernetes",
    "GatewayCluster": "dask-gateway",
    "YarnCluster": "YARN",
    "coiled.Cluster": "Coiled",
    "DatabricksCluster": "Databricks",
}


def manager_of(run: RunTables, worker: str | None = None) -> str | None:
    """Return the manager that may have ended workers of a run; None: none is known.

    It ends them for many reasons, of which it has to be asked.

    Args:
        run: The run.
        worker: Address of a worker, whose own environment may name the manager as well; None: of
            any worker.
    """
    kinds = [each.cluster.kind for each in run.of(DriverAttached) if each.cluster]
    found = [kind for kind in kinds if kind and kind not in _WITHOUT]
    if found:
        known = manager_of_cluster(found[-1])
        given = _NAMES.get(found[-1], f"the manager of the {found[-1]}")
        return known.name if known is not None else given
    for process in run.of(ProcessAncestors):
        if worker in (None, process.subject):
            named = unit_named_in(process.units)
            if named is not None:
                return named[0].name
    return None
