"""Who runs a run's workers, and where: their cluster manager, or the driver's own host."""

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


def on_drivers_host(run: RunTables, worker: str | None = None) -> bool:
    """Return whether workers share the driver's host, and its file system.

    As both report it; those of a `LocalCluster` do where nobody says.

    Args:
        run: The run.
        worker: Address of the worker that is meant; None: all of them.
    """
    attached = run.of(DriverAttached)
    drivers = {each.boot for each in attached} - {None}
    workers = {
        each.boot for each in run.of(ProcessAncestors) if worker in (None, each.subject)
    } - {None}
    if drivers and workers:
        return workers <= drivers
    return {each.cluster.kind for each in attached if each.cluster} == {"LocalCluster"}
