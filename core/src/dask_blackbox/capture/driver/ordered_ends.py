"""Which workers a cluster object of the driver requests, and which it ends.

Most cluster managers end a worker by a signal or by deleting it.  The scheduler takes that for a
death; only the cluster object knows that it was ordered by `scale`, `adapt` or `close`.  It also
knows by which id the manager has each (a job of a queue).
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any

from .patches import Patches

_MOST_NAMES = 1_000

Note = Callable[[str, dict[str, object]], None]


class OrderedEnds:
    """Reports the units that cluster objects request, and the workers that they end, before that.

    Args:
        note: Takes a kind of event and its particulars; must not block.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._noted: weakref.WeakKeyDictionary[object, set[str]] = (
            weakref.WeakKeyDictionary()
        )
        self._named: weakref.WeakKeyDictionary[object, set[str]] = (
            weakref.WeakKeyDictionary()
        )

    def watch(self, patches: Patches) -> None:
        """Watch the cluster objects that know their workers by name."""
        cluster = _class_of("distributed.deploy.cluster", "Cluster")
        logs = getattr(cluster, _LOGS, None)
        if cluster is not None and logs is not None:
            patches.replace(cluster, _LOGS, logs, self._watched_start(logs))
        owner = _class_of("distributed.deploy.spec", "SpecCluster")
        inner = getattr(owner, _CORRECTS, None)
        if owner is not None and inner is not None:
            patches.replace(owner, _CORRECTS, inner, self._watched(inner))

    def _watched(self, inner: Any) -> object:
        @functools.wraps(inner)
        async def correct(cluster: object, *args: object, **kwargs: object) -> object:
            try:
                self._note_ended(cluster)
            except Exception:  # a failure of ours must not keep a cluster from closing
                pass
            try:
                return await inner(cluster, *args, **kwargs)
            finally:
                try:
                    self._note_units(cluster)
                except Exception:  # nor from starting
                    pass

        return correct

    def _watched_start(self, inner: Any) -> object:
        @functools.wraps(inner)
        def log(cluster: object, *args: object, **kwargs: object) -> object:
            try:
                self._note_pods(cluster)
            except Exception:  # a failure of ours must not keep a cluster from starting
                pass
            return inner(cluster, *args, **kwargs)

        return log

    def _note_pods(self, cluster: Any) -> None:
        """Report the label of a cluster's pods, once: its scheduler may never start."""
        pods = pods_of(cluster)
        if pods and cluster not in self._named:
            self._named[cluster] = set(pods.values())
            self._note(
                "units-named", {"cluster": type(cluster).__name__, "units": pods}
            )

    def _note_units(self, cluster: Any) -> None:
        """Report the ids that a manager has given to what the cluster object requested."""
        known = self._named.setdefault(cluster, set())
        units, folder = units_of(cluster, known)
        if not units:
            return
        known.update(units.values())
        self._note(
            "units-named",
            {
                "cluster": type(cluster).__name__,
                "scheduler": cluster.scheduler_address,
                "units": dict(list(units.items())[:_MOST_NAMES]),
                "folder": folder,
                "more": max(len(units) - _MOST_NAMES, 0),
            },
        )

    def _note_ended(self, cluster: Any) -> None:
        workers = cluster.workers
        wanted = {
            each
            for key, spec in cluster.worker_spec.items()
            for each in (*_names(key, spec), *_own_name(workers.get(key)))
        }
        known = {
            each
            for key, worker in workers.items()
            for each in (str(key), *_own_name(worker))
        }
        if not wanted or _are_named_by(cluster):
            # Those that are still being started are not in the cluster's own table.
            known |= {name for each in cluster._created for name in _own_name(each)}
        noted = self._noted.setdefault(cluster, set())
        noted &= known - wanted  # the names of ended workers are given again
        names = known - wanted - noted
        if not names:
            return
        noted |= names
        self._note(
            "workers-ended-by-cluster",
            {
                "cluster": type(cluster).__name__,
                "scheduler": cluster.scheduler_address,
                "workers": sorted(names)[:_MOST_NAMES],
                "more": max(len(names) - _MOST_NAMES, 0),
            },
        )


def units_of(
    cluster: Any, known: Container[str] = ()
) -> tuple[dict[str, str], str | None]:
    """Return the ids that a manager gave to what a cluster object requested, by name.

    Args:
        cluster: A cluster object that knows its workers by name.
        known: Ids that are left out.

    Returns:
        They, and the folder of their logs, if the cluster object says it.
    """
    units: dict[str, str] = {}
    folder = None
    for key, worker in list(cluster.workers.items()):
        unit = unit_of(worker)
        if unit is not None and unit not in known:
            name = getattr(worker, "name", None)  # those of clouds choose it themselves
            units[str(key if name is None else name)] = unit
            folder = folder or getattr(worker, "log_directory", None)
    return units, None if folder is None else os.path.abspath(str(folder))


_UNITS = (
    ("job_id", ""),  # of a queue
    ("task_arn", ""),  # of Amazon ECS
    ("instance", "InstanceId"),  # of Amazon EC2
    ("instance", "id"),  # of OpenStack
    ("droplet", "id"),
)
"""Where worker objects hold the ids of their units: attribute, and key or attribute of that."""
_NAMED = ("vm", "gcp_config", "server")
"""What worker objects hold whose virtual machines are called as their workers."""


def unit_of(worker: object) -> str | None:
    """Return the id that a manager gave to what runs a worker; None: not known.

    Args:
        worker: Of a cluster object.
    """
    held = getattr(worker, "__dict__", {})
    for attribute, part in _UNITS:
        found: Any = held.get(attribute)
        if part and isinstance(found, dict):
            found = found.get(part)
        elif part and found is not None:
            found = getattr(found, part, None)
        if isinstance(found, (str, int)) and str(found):
            return str(found).rpartition("/")[2]
    name = held.get("name")
    called_so = any(held.get(each) is not None for each in _NAMED)
    return name if called_so and isinstance(name, str) else None


def pods_of(cluster: Any) -> dict[str, str] | None:
    """Return the label of all pods of a cluster object of dask-kubernetes, by its name."""
    held = getattr(cluster, "__dict__", {})  # a property may ask a remote service
    release = held.get("release_name")  # of a `HelmCluster`
    namespace = held.get("namespace")
    info = held.get("_cluster_info")
    name = release or (info.get("name") if isinstance(info, dict) else None)
    if not isinstance(name, str) or not isinstance(namespace, str) or not name:
        return None
    label = "release" if release else "dask.org/cluster-name"
    return {name: f"{namespace}//{label}={name}"}


def _names(key: object, spec: Any) -> tuple[str, ...]:
    """Return what a worker that is wanted may be called: its options may name it otherwise."""
    named = spec.get("options", {}).get("name")
    return (str(key),) if named is None else (str(key), str(named))


def _own_name(worker: object) -> tuple[str, ...]:
    """Return what a worker object calls its worker; nothing if it has no name."""
    name = getattr(worker, "name", None)
    return () if name is None else (str(name),)


def _are_named_by(cluster: Any) -> bool:
    """Return whether worker objects take the names that their cluster object gives them.

    Those of virtual machines choose their own.
    """
    return all(
        set(_own_name(worker)) <= set(_names(key, cluster.worker_spec.get(key, {})))
        for key, worker in cluster.workers.items()
    )


_LOGS = "_log"
"""Notes how far the start of a cluster object has come."""
_CORRECTS = "_correct_state_internal"
"""Closes the workers that a `SpecCluster` no longer wants, and opens those that it lacks."""


def scheduler_that_ends(
    owner: Any, call: str, given: Mapping[str, object] = MappingProxyType({})
) -> str | None:
    """Return the address of the scheduler whose workers a call ends; None: it ends none.

    Args:
        owner: The object whose method is called.
        call: Name of the method.
        given: Its keyword arguments.
    """
    if call == "_stop_internal":  # of a `GatewayCluster`, which is no `Cluster`
        asked = given.get("shutdown")
        ends = owner.shutdown_on_close if asked is None else asked
        return str(owner.scheduler_address or "") if ends else None
    if call == "_stop_cluster":
        return ""
    cluster = _class_of("distributed.deploy.cluster", "Cluster")
    if cluster is not None and isinstance(owner, cluster):
        spec = _class_of("distributed.deploy.spec", "SpecCluster")
        made_here = spec is not None and isinstance(owner, spec)
        # Other objects may stand for a cluster that outlives them.
        if not made_here and getattr(owner, "shutdown_on_close", None) is not True:
            return None
        return str(owner.scheduler_address) if owner.scheduler_comm else ""
    if call == "_shutdown":
        return str(getattr(getattr(owner, "scheduler", None), "address", "") or "")
    return None


def _class_of(module: str, name: str) -> Any:
    """Return a class of Dask's; None: the process does not use it."""
    return getattr(sys.modules.get(module), name, None)
