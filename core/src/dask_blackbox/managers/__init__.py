"""Cluster managers: what runs workers in units of its own (jobs of a queue), and is asked for them.

A manager recognises its cluster objects and the environment of its units; `asking` asks it what
became of a unit: requested, pending and why, started, ended when, with which state, limits,
exit code and signal, and by whom; and reads the end of the unit's own log.
"""

from __future__ import annotations

from collections.abc import Mapping

from dask_blackbox.managers.base import Manager
from dask_blackbox.managers.kubernetes import KUBERNETES
from dask_blackbox.managers.queues import QUEUES
from dask_blackbox.managers.slurm import SLURM
from dask_blackbox.managers.unasked import UNASKED

MANAGERS: tuple[Manager, ...] = (SLURM, *QUEUES, KUBERNETES, *UNASKED)
"""The managers that are known; those whose `asked` is true are asked."""

__all__ = [
    "MANAGERS",
    "Manager",
    "manager_named",
    "manager_of_cluster",
    "unit_named_in",
    "unit_of_host",
]


def manager_of_cluster(cluster: str) -> Manager | None:
    """Return the manager that runs the workers of a class of cluster objects."""
    return next((each for each in MANAGERS if cluster in each.clusters), None)


def manager_named(name: str) -> Manager | None:
    """Return a manager by its name."""
    return next((each for each in MANAGERS if each.name == name), None)


def unit_named_in(variables: Mapping[str, str]) -> tuple[Manager, str] | None:
    """Return the manager and the unit that environment variables name; None: none."""
    for each in MANAGERS:
        if each.variable and (unit := variables.get(each.variable)):
            return each, each.id_of(unit)
    return None


def unit_of_host(host: Mapping[str, object]) -> tuple[Manager, str] | None:
    """Return the manager and the unit that the driver itself runs in; None: in none.

    Args:
        host: What the manifest says of the run's host.
    """
    within = host.get("within")
    for each in (host, *(within if isinstance(within, list) else ())):
        for manager in MANAGERS if isinstance(each, dict) else ():
            if each.get("kind") == manager.kind and each.get(manager.fact):
                return manager, manager.id_of(str(each[manager.fact]))
    return None
