"""Starts or connects to the cluster that an operator was given as `cluster=`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from airflow.sdk import XComArg
from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import (
    OperatorConfigurationError,
    accepted_by,
    check_mapping,
    check_names,
    did_you_mean,
    is_given_later,
)
from airflow_dask_blackbox.templates import native, text_parameters

if TYPE_CHECKING:
    # The real one takes a second to import, and DAG files are parsed all day.
    from distributed import Client

__all__ = [
    "OWN_PROCESS_ONLY",
    "ClusterSpec",
    "GivenArguments",
    "GivenCluster",
    "GivenText",
    "adapt_cluster",
    "check_cluster",
    "check_shared",
    "check_use",
    "connected_client",
    "importable_airflow",
    "is_local",
    "is_owned",
    "prepared",
    "refuse_secrets_on_workers",
    "rendered_cluster",
    "started",
    "takes_text",
]

ClusterSpec: TypeAlias = str | Mapping[str, Any] | Callable[..., Any] | None
"""Nothing for a `LocalCluster`, the address of a running scheduler,
`{"class": "package.Class", "kwargs": {…}}`, or a callable that takes `cluster_kwargs`
and returns a cluster."""

GivenCluster: TypeAlias = ClusterSpec | XComArg
"""`cluster=` in a DAG file: as above, or another task's result that is such a value."""

GivenArguments: TypeAlias = Mapping[str, Any] | XComArg | str | None
"""Arguments for a cluster or a client in a DAG file, or what gives them in a run: another
task's result, or a template."""

GivenText: TypeAlias = str | XComArg | None
"""Text in a DAG file, a template, or another task's result that is text."""

_DATABASE: Final = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CORE__SQL_ALCHEMY_CONN",
)
_OURS: Final = ("dashboard_address", "env", "plugins")
"""Arguments of a `LocalCluster` that have values though nobody gave any."""
_CHOICES: Final = (
    "omit it for a LocalCluster, or give an address such as 'tcp://scheduler:8786', "
    "{'class': 'package.Class', 'kwargs': {…}}, or a callable that returns a cluster"
)


OWN_PROCESS_ONLY: Final = (
    "a LocalCluster with processes=False is reached by the process that starts it only, and "
    "each task is a process of its own; leave out processes=False, or add "
    "protocol='tcp://'"
)
_REACHABLE: Final = ("protocol", "scheduler_port", "security")
"""Arguments with which Dask gives a `LocalCluster` without processes an address of the network."""


def check_shared(cluster: object, cluster_kwargs: object) -> None:
    """Refuse a cluster for several tasks that no other process than its own reaches.

    Raises:
        OperatorConfigurationError: with what would work.
    """
    by_class = cluster.get("kwargs") if isinstance(cluster, Mapping) else None
    mappings = (
        each for each in (by_class, cluster_kwargs) if isinstance(each, Mapping)
    )
    given = {name: value for each in mappings for name, value in each.items()}
    if not is_local(cluster) or given.get("processes") is not False:
        return
    if "://" in str(given.get("host")) or any(given.get(n) for n in _REACHABLE):
        return
    raise OperatorConfigurationError(OWN_PROCESS_ONLY)


def check_cluster(cluster: object) -> None:
    """Refuse a `cluster=` that cannot work, while the DAG is still being written.

    Raises:
        OperatorConfigurationError: with what would work.
    """
    if isinstance(cluster, Mapping):
        _check_class(cluster)
    elif isinstance(cluster, str):
        if cluster and "{" not in cluster and "://" not in cluster:
            raise OperatorConfigurationError(
                f"cluster={cluster!r} is not an address; {_CHOICES}"
            )
    elif not (cluster is None or callable(cluster) or is_given_later(cluster)):
        raise OperatorConfigurationError(
            f"cluster= is {type(cluster).__name__}, created while the DAG was parsed; "
            f"{_CHOICES}"
        )


def _check_class(cluster: Mapping[object, object]) -> None:
    surplus = [str(name) for name in cluster if name not in {"class", "kwargs"}]
    named = cluster.get("class")
    if surplus or not (isinstance(named, str) or is_given_later(named)):
        close = did_you_mean(surplus[0], ("class", "kwargs")) if surplus else ""
        raise OperatorConfigurationError(
            f"cluster={dict(cluster)!r} does not name a class{close}; {_CHOICES}"
        )
    if isinstance(named, str) and "." not in named and "{" not in named:
        raise OperatorConfigurationError(
            f"cluster={dict(cluster)!r}: {named!r} lacks its package, as in "
            f"'distributed.LocalCluster'; {_CHOICES}"
        )


def check_use(
    cluster: object,
    *,
    cluster_kwargs: object,
    adapt: object,
    keep_cluster: bool = False,
    dask_conn_id: object = None,
) -> None:
    """Refuse arguments that nothing could take: the cluster at an address is there already.

    A `LocalCluster` cannot be kept: its processes end with the task's.

    Raises:
        OperatorConfigurationError: with the argument to leave out.
    """
    if keep_cluster and is_local(cluster) and dask_conn_id is None:
        raise OperatorConfigurationError(
            "keep_cluster=True is for clusters that outlive the task's process, and a "
            "LocalCluster ends with it; remove keep_cluster=, or use dask_cluster(…) for "
            "a cluster of several tasks"
        )
    if cluster is not None and dask_conn_id is not None:
        raise OperatorConfigurationError(
            "cluster= and dask_conn_id= both name a cluster; remove one of them "
            "(cluster_kwargs= and client_kwargs= can be given beside a connection)"
        )
    if not isinstance(cluster, str) or "{" in cluster:
        return
    for name, value in (
        ("cluster_kwargs", cluster_kwargs),
        ("adapt", adapt),
        ("keep_cluster", keep_cluster),
    ):
        if value:
            raise OperatorConfigurationError(
                f"{name}= is for a cluster that the task starts, and the one at "
                f"{cluster!r} already exists; remove {name}="
            )


def is_local(cluster: object) -> bool:
    """Return whether `cluster=` stands for a `LocalCluster`."""
    named = cluster.get("class") if isinstance(cluster, Mapping) else cluster
    name = named if isinstance(named, str) else getattr(named, "__name__", "")
    return cluster is None or name.rpartition(".")[2] == "LocalCluster"


@contextmanager
def connected_client(
    cluster: ClusterSpec,
    *,
    cluster_kwargs: Mapping[str, Any],
    client_kwargs: Mapping[str, Any],
    adapt: Mapping[str, Any] | None,
    keep: bool = False,
    on_start: Callable[[Any], None] = lambda _cluster: None,
) -> Iterator[Client]:
    """Bring up (or find) the cluster and make its client the default one inside the block.

    What was brought up here is closed at the end, unless `keep`; a cluster found at an
    address is left alone.  `on_start` is called with a cluster that ends with the task, as
    soon as it is there.

    Raises:
        OperatorConfigurationError: if an argument cannot work.
        Exception: whatever bringing up the cluster, or connecting to it, raises.
    """
    from dask_blackbox.driver.host_task import longer_worker_timeout
    from distributed import Client

    for argument, value in (
        ("cluster_kwargs", cluster_kwargs),
        ("client_kwargs", client_kwargs),
        ("adapt", adapt),
    ):
        check_mapping(argument, value)
    _check_client(client_kwargs)
    with ExitStack() as stack:
        where = prepared(cluster, cluster_kwargs, adapt)
        if not isinstance(where, str):
            if adapt and isinstance(where.func, type):
                _check_adapt(where.func, adapt)  # before it costs anything
            with guard("settings of the cluster"):
                stack.enter_context(longer_worker_timeout())
            where = started(where)
            if not isinstance(where, str):
                if not keep:
                    stack.callback(_close, where)
                    if _ends_with_client(where):
                        on_start(where)
                if adapt:
                    adapt_cluster(where, adapt)
        with _suiting("client_kwargs", "Client", client_kwargs):
            client = Client(where, **client_kwargs)
        stack.callback(_close, client)
        if is_owned(client) and not keep:
            with guard("refusing Airflow's variables on workers"):
                refuse_secrets_on_workers(client)
        stack.enter_context(client.as_current())
        yield client


def is_owned(client: Client) -> bool:
    """Return whether the cluster of a client is the task's, and meant to end with it."""
    cluster = getattr(client, "cluster", None)
    return cluster is not None and _ends_with_client(cluster)


def _ends_with_client(cluster: object) -> bool:
    # As classes for Kubernetes, Coiled and Dask Gateway have it.
    return getattr(cluster, "shutdown_on_close", True) is True


def takes_text(cluster: ClusterSpec) -> Callable[[str], bool]:
    """Return what says whether an argument of a cluster takes text, and no number."""
    taker: Any = cluster
    if isinstance(cluster, Mapping):
        try:
            taker = _class_named(str(cluster.get("class")))
        except OperatorConfigurationError:  # whatever starts the cluster says it
            taker = None
    if not callable(taker):
        return text_parameters(*_local_cluster_takers({}))
    kinds = taker.__mro__ if isinstance(taker, type) else (taker,)
    return text_parameters(*(each for each in kinds if each is not object))


def rendered_cluster(template: Any, rendered: Any) -> Any:
    """Return `cluster=` as a template gave it: an address, a class with arguments, or None.

    Args:
        template: As the DAG file gives it.
        rendered: As Airflow has rendered it.
    """
    if not (isinstance(template, Mapping) and isinstance(rendered, Mapping)):
        found = native(template, rendered)
        return rendered if isinstance(found, int | float) else found
    kwargs = native(
        template.get("kwargs"), rendered.get("kwargs"), takes_text(rendered)
    )
    return {**rendered, "kwargs": kwargs} if "kwargs" in rendered else dict(rendered)


def started(start: partial[object]) -> Any:
    """Return the cluster that `prepared` prepared, or what the user's callable returns.

    Raises:
        OperatorConfigurationError: if its class does not take its arguments.
    """
    if not isinstance(start.func, type):
        return start()
    with _suiting("cluster_kwargs", start.func.__name__, start.keywords):
        return start()


def _check_client(client_kwargs: Mapping[str, Any]) -> None:
    from distributed import Client

    if "address" in client_kwargs:
        raise OperatorConfigurationError(
            "client_kwargs= has 'address'; give the address as cluster="
        )
    if client_kwargs.get("asynchronous"):
        raise OperatorConfigurationError(
            "client_kwargs= has 'asynchronous', and a task's client is synchronous; "
            "leave it out"
        )
    check_names("client_kwargs", client_kwargs, accepted_by(Client), of="Client")


@contextmanager
def _suiting(argument: str, taker: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Raise an error that names the argument whose value a class of Dask refuses.

    With their types, as templates give text; a value may be a password.
    """
    try:
        yield
    except OperatorConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        types = ", ".join(
            f"{name}: {type(value).__name__}"
            for name, value in given.items()
            if name not in _OURS
        )
        raise OperatorConfigurationError(
            f"{taker} does not take this {argument}= ({types}): {error}"
        ) from error


def adapt_cluster(cluster: Any, adapt: Mapping[str, Any]) -> None:
    """Let a cluster scale with its work.

    Raises:
        OperatorConfigurationError: if it cannot, or not with these arguments.
    """
    _check_adapt(type(cluster), adapt)
    with _suiting("adapt", f"{type(cluster).__name__}.adapt", adapt):
        cluster.adapt(**adapt)


def _check_adapt(kind: type, adapt: Mapping[str, Any]) -> None:
    """Refuse arguments that the `adapt()` of a class of clusters does not take."""
    from distributed.deploy.adaptive import Adaptive

    scale, name = getattr(kind, "adapt", None), kind.__name__
    if scale is None:
        raise OperatorConfigurationError(
            f"{name} has no adapt(); leave adapt= out, or use another class of cluster"
        )
    names = accepted_by(scale)
    if names is not None and "Adaptive" in names:  # as Dask's own: it hands on the rest
        names |= accepted_by(Adaptive) or set()
        check_names("adapt", adapt, names - {"cluster", "self"}, of=f"{name}.adapt")


def refuse_secrets_on_workers(client: Client) -> Any:
    """Have what only a task can ask Airflow for raise on a client's workers.

    Only on a cluster that ends with the task (`is_owned`): elsewhere it would change what
    look-ups return in the tasks of others.

    Args:
        client: Connected.

    Returns:
        On the client's own event loop: what is to be awaited.
    """
    from airflow_dask_blackbox.worker_secrets import AirflowSecrets

    return client.register_plugin(AirflowSecrets())


def prepared(
    cluster: ClusterSpec,
    cluster_kwargs: Mapping[str, Any],
    adapt: Mapping[str, Any] | None,
) -> str | partial[Any]:
    """Return the address of a cluster, or what starts it: nothing costs anything yet.

    Raises:
        OperatorConfigurationError: if an argument cannot work.
    """
    check_cluster(cluster)
    check_use(cluster, cluster_kwargs=cluster_kwargs, adapt=adapt)
    if isinstance(cluster, str):
        return cluster
    if isinstance(cluster, Mapping):
        kwargs = {**(cluster.get("kwargs") or {}), **cluster_kwargs}
        named = "cluster_kwargs" if cluster_kwargs else "cluster={'kwargs': …}"
        return _starting(_class_named(cluster["class"]), kwargs, named)
    if cluster is None or isinstance(cluster, type):
        from distributed import LocalCluster

        return _starting(cluster or LocalCluster, cluster_kwargs)
    check_names(
        "cluster_kwargs",
        cluster_kwargs,
        _parameter_names(cluster),
        of=getattr(cluster, "__name__", "cluster="),
    )
    return partial(cluster, **cluster_kwargs)


def _starting(
    kind: Callable[..., Any],
    kwargs: Mapping[str, Any],
    argument: str = "cluster_kwargs",
) -> partial[Any]:
    from distributed import LocalCluster

    names, name = _parameter_names(kind), getattr(kind, "__name__", repr(kind))
    if isinstance(kind, type) and issubclass(kind, LocalCluster):
        kwargs = _local(kwargs)
        if kind is LocalCluster:
            names = _local_cluster_parameters(kwargs)
    check_names(argument, kwargs, names, of=name)
    return partial(kind, **kwargs)


def _parameter_names(function: Callable[..., Any]) -> set[str] | None:
    """Return the names of a function's arguments; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return accepted_by(function)


def _local_cluster_parameters(kwargs: Mapping[str, Any]) -> set[str] | None:
    """Return what a `LocalCluster` takes: what it does not know goes to its workers."""
    takers = _local_cluster_takers(kwargs)
    return accepted_by(*takers) if takers else None


def _local_cluster_takers(kwargs: Mapping[str, Any]) -> list[Callable[..., Any]]:
    """Return what takes the arguments of a `LocalCluster`; nothing if that is not known."""
    from distributed import LocalCluster, Nanny, Worker

    workers = kwargs.get("worker_class") or Nanny
    if not isinstance(workers, type):
        return []
    kinds = dict.fromkeys((*workers.__mro__, *Worker.__mro__))
    inits = (vars(kind).get("__init__") for kind in kinds if kind is not object)
    return [LocalCluster, *(each for each in inits if each is not None)]


def _local(cluster_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # Several tasks on one machine: each finds a free port without a warning, and nobody
    # else's browser reaches a dashboard that has no login.
    kwargs = {"dashboard_address": "127.0.0.1:0", **cluster_kwargs}
    if kwargs.get("processes", True) and "worker_class" not in kwargs:
        from airflow_dask_blackbox.worker_log import FewerWarnings
        from airflow_dask_blackbox.worker_secrets import AirflowSecrets

        kwargs["env"] = {**importable_airflow(), **(kwargs.get("env") or {})}
        # Whatever client they get: with that database, defaults would be given for values.
        ours = (AirflowSecrets(), FewerWarnings())
        kwargs["plugins"] = (*(kwargs.get("plugins") or ()), *ours)
    return kwargs


def importable_airflow() -> dict[str, str]:
    """Return environment variables with which processes of a task can import Airflow.

    A task's environment names a database that cannot be, so that importing Airflow fails
    in new processes, and with it every module beside the DAG that does so.  An empty
    database in memory lets them import, and still gives nothing away.
    """
    found = {
        name: "sqlite://"
        for name in _DATABASE
        if os.environ.get(name, "").startswith("airflow-db-not-allowed")
    }
    if "_AIRFLOW_PROCESS_CONTEXT" in os.environ:
        # Of the scheduler that the task was forked from: new processes would take
        # themselves for one, and look for variables in that empty database.
        found["_AIRFLOW_PROCESS_CONTEXT"] = "client"
    return found


def _class_named(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    try:
        if attribute == "from_name":  # a class of Dask's finds its cluster so
            return getattr(_class_named(module), attribute)  # type: ignore[no-any-return]
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise OperatorConfigurationError(
            f"cluster class {name!r} cannot be imported here ({error}); install its "
            "package where Airflow's tasks run, or correct the name"
        ) from error


def _close(opened: Any) -> None:
    # The callable's result is there (or its exception on the way): a cluster that does
    # not close cleanly is worth a line, not the task.
    with guard(f"closing {type(opened).__name__} cleanly"):
        opened.close()
