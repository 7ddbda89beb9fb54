"""From what an operator was told as `cluster=` to a running cluster and its client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.guard import guard

if TYPE_CHECKING:
    # The real one takes a second to import, and DAG files are parsed all day.
    from distributed import Client

__all__ = ["ClusterSpec", "check_cluster", "connected_client"]

ClusterSpec: TypeAlias = str | Mapping[str, Any] | Callable[[], Any] | None
"""Nothing for a `LocalCluster`, the address of a running scheduler,
`{"class": "package.Class", "kwargs": {…}}`, or a callable that returns a cluster."""

_DATABASE: Final = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CORE__SQL_ALCHEMY_CONN",
)
_CHOICES: Final = (
    "give nothing for a LocalCluster, an address such as 'tcp://scheduler:8786', "
    "{'class': 'package.Class', 'kwargs': {…}}, or a callable that returns a cluster"
)


def check_cluster(cluster: object) -> None:
    """Refuse a `cluster=` that cannot work, while the DAG is still being written.

    Raises:
        ConfigurationError: with what would work.
    """
    if isinstance(cluster, Mapping):
        surplus = set(cluster) - {"class", "kwargs"}
        named = cluster.get("class")
        if surplus or not isinstance(named, str) or "." not in named:
            raise ConfigurationError(
                f"cluster={dict(cluster)!r} does not name a class; {_CHOICES}"
            )
    elif cluster is not None and not isinstance(cluster, str) and not callable(cluster):
        raise ConfigurationError(
            f"cluster= is {type(cluster).__name__}, made while the DAG was parsed; "
            f"{_CHOICES}"
        )


@contextmanager
def connected_client(
    cluster: ClusterSpec,
    *,
    cluster_kwargs: Mapping[str, Any],
    client_kwargs: Mapping[str, Any],
    adapt: Mapping[str, Any] | None,
) -> Iterator[Client]:
    """Bring up (or find) the cluster and make its client the default one inside the block.

    What was brought up here is closed at the end; a cluster found at an address is left
    alone.

    Raises:
        ConfigurationError: if `cluster` names something that cannot be had.
        Exception: whatever bringing up the cluster, or connecting to it, raises.
    """
    from distributed import Client

    with ExitStack() as stack:
        where = _running(cluster, cluster_kwargs)
        if not isinstance(where, str):
            stack.callback(_close, where)
            if adapt:
                where.adapt(**adapt)
        client = Client(where, **client_kwargs)
        stack.callback(_close, client)
        stack.enter_context(client.as_current())
        yield client


def _running(cluster: ClusterSpec, cluster_kwargs: Mapping[str, Any]) -> Any:
    check_cluster(cluster)
    if isinstance(cluster, str):
        if "://" not in cluster:
            raise ConfigurationError(f"cluster={cluster!r} is no address; {_CHOICES}")
        return cluster
    if isinstance(cluster, Mapping):
        kwargs = {**cluster.get("kwargs", {}), **cluster_kwargs}
        return _class_named(cluster["class"])(**kwargs)
    if cluster is not None:
        return cluster(**cluster_kwargs)
    from distributed import LocalCluster

    return LocalCluster(**_local(cluster_kwargs))


def _local(cluster_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # Several tasks on one machine: each finds a free port without a warning, and nobody
    # else's browser reaches a dashboard that has no login.
    kwargs = {"dashboard_address": "127.0.0.1:0", **cluster_kwargs}
    if kwargs.get("processes", True) and "worker_class" not in kwargs:
        # A task's environment names a database that cannot be, so that importing Airflow
        # fails in new processes, and with it every module beside the DAG that does so.
        # An empty database in memory lets them import, and still gives nothing away.
        barred = {
            name: "sqlite://"
            for name in _DATABASE
            if os.environ.get(name, "").startswith("airflow-db-not-allowed")
        }
        if barred:
            kwargs["env"] = {**barred, **kwargs.get("env", {})}
    return kwargs


def _class_named(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"cluster class {name!r} is not to be had here ({error}); install its "
            "package where Airflow's tasks run, or correct the name"
        ) from error


def _close(opened: Any) -> None:
    # The callable's result is there (or its exception on the way): a cluster that does
    # not close cleanly is worth a line, not the task.
    with guard(f"closing {type(opened).__name__} cleanly"):
        opened.close()
