"""The cluster manager that runs a run's workers, as far as the driver's cluster object names it."""

from __future__ import annotations

from dask_blackbox.events import DriverAttached
from dask_blackbox.run_tables import RunTables

_WITHOUT = ("Cluster", "LocalCluster", "LocalCUDACluster", "SpecCluster", "SSHCluster")
"""Cluster objects that start processes themselves, or that do not name their kind."""

_NAMES = {
    "SLURMCluster": "Slurm",
    "PBSCluster": "PBS",
    "LSFCluster": "LSF",
    "SGECluster": "Grid Engine",
    "OARCluster": "OAR",
    "HTCondorCluster": "HTCondor",
    "KubeCluster": "Kubernetes",
    "HelmCluster": "Kubernetes",
    "GatewayCluster": "dask-gateway",
    "YarnCluster": "YARN",
}


def manager_of(run: RunTables) -> str | None:
    """Return the manager that may have ended workers of a run; None: none is known.

    It ends them for many reasons, of which the recording knows nothing.
    """
    kinds = [each.cluster.kind for each in run.of(DriverAttached) if each.cluster]
    found = [kind for kind in kinds if kind and kind not in _WITHOUT]
    return _NAMES.get(found[-1], f"the manager of the {found[-1]}") if found else None
