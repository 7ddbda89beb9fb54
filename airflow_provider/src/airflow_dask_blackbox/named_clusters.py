"""Clusters that run elsewhere under a name: started, found again and deleted by it.

`GatewayCluster`, `KubeCluster` and `coiled.Cluster` are such classes: scheduler and workers
live outside the process that starts them.  A task in another pod finds the cluster by the
arguments in a `ClusterReference`, with credentials of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypedDict

from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import accepted_by
from airflow_dask_blackbox.clusters import (
    ClusterSpec,
    adapt_cluster,
    prepared,
    started,
    takes_text,
)
from airflow_dask_blackbox.task_log import Log

__all__ = ["ClusterReference", "NamedCluster", "close_named"]

_WHERE: Final = (
    "namespace",  # Kubernetes
    "port_forward_cluster_ip",
    *("address", "proxy_address", "public_address", "auth"),  # Dask Gateway
    *("account", "workspace"),  # Coiled
)
"""Arguments that say where a cluster is, and not what it is: whoever finds it needs them."""
_ANSWER: Final = 30.0
"""Seconds for a scheduler that has just started to answer."""
_GONE: Final = ("ValueError", "GatewayClusterError", "NotFoundError", "DoesNotExist")
"""What the classes raise where no cluster has the name any more; the message has the name.

A setting that is missing is a `ValueError`, too.
"""


ClusterReference = TypedDict(
    "ClusterReference", {"class": str, "kwargs": dict[str, Any]}
)
"""What finds a cluster again: what to call by its import path, and with which arguments.

`cluster=` of a task takes it as it is.
"""


class NamedCluster:
    """A cluster that runs elsewhere, of one setup task.

    Args:
        log: Of that task.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._cluster: Any = None

    @staticmethod
    def can_start(cluster: ClusterSpec) -> bool:
        """Return whether `cluster=` is of a class whose clusters run elsewhere, by name."""
        kind: Any = cluster
        if isinstance(cluster, Mapping):
            kind = prepared(cluster, {}, None)
            kind = kind.func if isinstance(kind, partial) else None
        return isinstance(kind, type) and _finder_of(kind) is not None

    def start(
        self,
        cluster: ClusterSpec,
        *,
        cluster_kwargs: Mapping[str, Any],
        adapt: Mapping[str, Any] | None,
        idle_timeout: str,
    ) -> tuple[ClusterReference, str]:
        """Start the cluster; return what finds it again, and its dashboard's address.

        If that fails after the cluster has started, the cluster is deleted.

        Raises:
            OperatorConfigurationError: if its class does not take its arguments.
            Exception: whatever starting it raises.
        """
        start = prepared(cluster, cluster_kwargs, adapt)
        assert isinstance(start, partial)  # noqa: S101 - `can_start` has looked
        kind, given = start.func, start.keywords
        limit = _limit(kind, cluster, idle_timeout)
        given = {**limit, **given}
        made = self._cluster = started(partial(kind, **given))
        try:
            if not limit:
                self._limit_scheduler(made, idle_timeout)
            if adapt:
                adapt_cluster(made, adapt)
            reference = _reference(kind, str(made.name), given)
            dashboard = str(getattr(made, "dashboard_link", "") or "")
        except BaseException:
            # A task's process ends without exit handlers, by which it would be deleted.
            self.abandon()
            raise
        made.shutdown_on_close = False
        with guard("disconnecting from the cluster that has started"):
            made.close()
        self._cluster = None
        self._log.info("The cluster is %s", made.name)
        return reference, dashboard

    def _limit_scheduler(self, made: Any, idle_timeout: str) -> None:
        """Have the scheduler end the cluster when nobody uses it: the class cannot be asked to.

        No other process can be relied on: the teardown may never run, and pods end.
        """
        from dask.utils import parse_timedelta
        from distributed import Client

        seconds = parse_timedelta(idle_timeout)
        try:
            with Client(made, set_as_default=False) as client:
                client.sync(
                    client._run_on_scheduler,  # noqa: SLF001 - the other has no limit
                    _closing_when_idle(seconds),
                    callback_timeout=_ANSWER,
                )
        except Exception as error:  # noqa: BLE001 - the cluster works without it
            self._log.warning(
                "The cluster %s will not close itself after %s without work, if no task is "
                "left to close it: %s",
                made.name,
                idle_timeout,
                " ".join(f"{type(error).__name__}: {error}".split()),
            )

    def abandon(self) -> None:
        """Delete a cluster that nobody has been told of yet."""
        made, self._cluster = self._cluster, None
        if made is not None:
            _delete(made)


def close_named(reference: Mapping[str, Any], log: Log) -> None:
    """Delete a cluster, if there is one.

    Args:
        reference: What `NamedCluster.start` returned.
        log: Of the task that deletes it.

    Raises:
        Exception: if it is not known whether there is one.
    """
    find = prepared(reference, {}, None)
    assert isinstance(find, partial)  # noqa: S101 - a reference names no address
    name = " ".join(str(each) for each in list(find.keywords.values())[:1])
    try:
        cluster = find()
    except Exception as error:
        if type(error).__name__ not in _GONE or name not in str(error):
            raise
        log.info("The cluster %s is closed already", name)
        return
    _delete(cluster)
    log.info("The cluster %s is closed", name)


def _delete(cluster: Any) -> None:
    cluster.shutdown_on_close = True
    delete = getattr(cluster, "shutdown", None)  # not each has it
    (delete if callable(delete) else cluster.close)()


def _finder_of(kind: type) -> Callable[..., Any] | None:
    """Return what finds a cluster of a class by its name; None: nothing does.

    A `SpecCluster` keeps the list of its workers in the process that made it.
    """
    from distributed.deploy.spec import SpecCluster

    takes = accepted_by(kind) or set()
    if issubclass(kind, SpecCluster) or "shutdown_on_close" not in takes:
        return None
    finder = getattr(kind, "from_name", None)
    if callable(finder):
        return finder  # type: ignore[no-any-return]
    return kind if "name" in takes else None


def _limit(
    kind: Callable[..., Any], cluster: ClusterSpec, idle_timeout: str
) -> dict[str, object]:
    """Return the argument by which a cluster deletes itself when nobody uses it."""
    if "idle_timeout" not in (accepted_by(kind) or ()):
        return {}
    from dask.utils import parse_timedelta

    as_text = takes_text(cluster)("idle_timeout")
    seconds = parse_timedelta(idle_timeout)
    return {"idle_timeout": idle_timeout if as_text else int(seconds)}


def _closing_when_idle(seconds: float) -> Callable[[Any], None]:
    """Return what gives a scheduler an idle timeout, unless it has one.

    It refers to nothing of this module, which schedulers need not have.
    """

    def limit(dask_scheduler: Any) -> None:
        gateway = dask_scheduler.services.get("gateway")
        if not (dask_scheduler.idle_timeout or getattr(gateway, "idle_timeout", 0)):
            dask_scheduler.idle_timeout = seconds

    return limit


def _reference(
    kind: Callable[..., Any], name: str, given: Mapping[str, Any]
) -> ClusterReference:
    assert isinstance(kind, type)  # noqa: S101 - `can_start` has looked
    finder = _finder_of(kind)
    assert finder is not None  # noqa: S101 - `can_start` has looked
    parameters = inspect.signature(finder).parameters
    of_name = "name" if "name" in parameters else next(iter(parameters))
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    where = {
        word: given[word]
        for word in _WHERE
        if (takes_all or word in parameters)
        and isinstance(given.get(word), str | bool | int)
    }
    method = "" if finder is kind else ".from_name"
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}{method}",
        "kwargs": {of_name: name, **where, "shutdown_on_close": False},
    }
