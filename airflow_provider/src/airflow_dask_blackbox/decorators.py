"""`@task.dask_observed`: a function of a DAG as a `DaskObservedOperator`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

from airflow.sdk.bases.decorator import (
    DecoratedOperator,
    TaskDecorator,
    task_decorator_factory,
)

from airflow_dask_blackbox.clusters import (
    GivenArguments,
    GivenCluster,
    GivenText,
)
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

__all__ = ["dask_observed"]


class _DaskObservedDecoratedOperator(DecoratedOperator, DaskObservedOperator):
    """A `DaskObservedOperator` whose callable is the decorated function."""

    template_fields = DaskObservedOperator.template_fields
    template_fields_renderers = DaskObservedOperator.template_fields_renderers
    shallow_copy_attrs = DaskObservedOperator.shallow_copy_attrs
    custom_operator_name = "@task.dask_observed"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any],
        op_kwargs: Mapping[str, Any],
        **kwargs: Any,
    ) -> None:
        given: dict[str, Any] = {
            "python_callable": python_callable,
            "op_args": op_args,
            "op_kwargs": _with_client(python_callable, op_args, op_kwargs),
        }
        with _optional_client(python_callable):
            super().__init__(kwargs_to_upstream=given, **given, **kwargs)


@contextmanager
def _optional_client(function: Callable[..., Any]) -> Iterator[None]:
    """Have a function's `client` be optional while Airflow checks its signature.

    Airflow 3.1 refuses a parameter without a default after one that Airflow fills, as in
    `def work(ti, client)`; this one is filled, too.
    """
    signature = inspect.signature(function)
    if "client" not in signature.parameters or hasattr(function, "__signature__"):
        yield
        return
    parameters = [
        each.replace(default=None)
        if each.name == "client" and each.default is each.empty
        else each
        for each in signature.parameters.values()
    ]
    try:
        changed = signature.replace(parameters=parameters)
        function.__signature__ = changed  # type: ignore[attr-defined]
    except (AttributeError, ValueError):  # a bound method; more parameters after it
        yield
        return
    try:
        yield
    finally:
        del function.__signature__  # type: ignore[attr-defined]


def _with_client(
    function: Callable[..., Any], args: Collection[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return keyword arguments with a place for the client, which the task fills."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:  # Airflow's own check says so, better
        return dict(kwargs)
    if "client" in signature.parameters and "client" not in bound:
        return {**kwargs, "client": None}
    return dict(kwargs)


class _AsOperator:
    """Stands for an argument that is not given: its default is the operator's, or `default_args`."""

    def __repr__(self) -> str:
        return "..."


_OMITTED: Any = _AsOperator()


def dask_observed(
    python_callable: Callable[..., Any] | None = None,
    multiple_outputs: bool | None = None,  # noqa: FBT001 - as Airflow's own decorators
    *,
    cluster: GivenCluster = _OMITTED,
    cluster_kwargs: GivenArguments = _OMITTED,
    client_kwargs: GivenArguments = _OMITTED,
    adapt: GivenArguments = _OMITTED,
    dask_config: GivenArguments = _OMITTED,
    keep_cluster: bool = _OMITTED,
    dask_conn_id: GivenText = _OMITTED,
    store: GivenText | PathLike[str] = _OMITTED,
    store_conn_id: GivenText = _OMITTED,
    store_settings: Mapping[str, Any] | None = _OMITTED,
    job: GivenText = _OMITTED,
    parameters: GivenArguments = _OMITTED,
    required: bool = _OMITTED,
    fail_without_retry: Collection[str] = _OMITTED,
    on_memory: Mapping[str, str] | None = _OMITTED,
    **kwargs: Any,
) -> TaskDecorator:
    """Make a task of a function, as `@task`, whose Dask work goes to a cluster.

    The other arguments are those of `DaskObservedOperator`, which describes them.

    Args:
        python_callable: The function.
        multiple_outputs: Store each value of a returned dict as an XCom of its own.
        kwargs: Arguments of every operator: `retries`, `outlets`, …
    """
    arguments = {
        "cluster": cluster,
        "cluster_kwargs": cluster_kwargs,
        "client_kwargs": client_kwargs,
        "adapt": adapt,
        "dask_config": dask_config,
        "keep_cluster": keep_cluster,
        "dask_conn_id": dask_conn_id,
        "store": store,
        "store_conn_id": store_conn_id,
        "store_settings": store_settings,
        "job": job,
        "parameters": parameters,
        "required": required,
        "fail_without_retry": fail_without_retry,
        "on_memory": on_memory,
    }
    given = {name: each for name, each in arguments.items() if each is not _OMITTED}
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_DaskObservedDecoratedOperator,
        **given,
        **kwargs,
    )
