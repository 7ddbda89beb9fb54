"""`@task.dask_observed`: a function of a DAG as a `DaskObservedOperator`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow.sdk.bases.decorator import (
    DecoratedOperator,
    TaskDecorator,
    task_decorator_factory,
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


def dask_observed(
    python_callable: Callable[..., Any] | None = None,
    multiple_outputs: bool | None = None,  # noqa: FBT001 - as Airflow's own decorators
    **kwargs: Any,
) -> TaskDecorator:
    """Make a task of a function, as `@task`, whose Dask work goes to a cluster.

    Args:
        python_callable: The function.
        multiple_outputs: Store each value of a returned dict as an XCom of its own.
        kwargs: Arguments of `DaskObservedOperator`.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_DaskObservedDecoratedOperator,
        **kwargs,
    )
