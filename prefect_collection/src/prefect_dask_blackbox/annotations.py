"""`allow_failure` and Prefect's other annotations, which Dask does not keep.

They are tuples: Dask puts the state in the place of a future within one, and makes a plain
tuple of it, so that a task that allows a failed input never runs, and one with a quoted
argument gets a tuple. Here a Dask task makes the annotation, on the cluster.

`allow_failure` also allows an input that never ran, which gives None: older versions of
Prefect (3.4.7) allow only one that failed, so that a task after two others never runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prefect.utilities.annotations import BaseAnnotation, allow_failure
from prefect.utilities.collections import visit_collection
from prefect.utilities.engine import collect_task_run_inputs_sync
from prefect_dask.task_runners import PrefectDaskFuture

__all__ = ["bare", "dask_futures_in", "inputs_of_annotated"]


def dask_futures_in(client: Callable[[], Any], expression: Any) -> Any:
    """Return what a task is given, with futures of Dask for futures and annotations of Prefect.

    Args:
        client: Returns the client of the cluster that the task runs on.
        expression: What the task is given.
    """

    def visit(part: Any) -> Any:
        if isinstance(part, PrefectDaskFuture):
            return part.wrapped_future
        if isinstance(part, BaseAnnotation):
            value = dask_futures_in(client, part.unwrap())
            allows = isinstance(part, allow_failure)
            make = _allowing() if allows else type(part)
            return client().submit(make, value, pure=False)
        return part

    return visit_collection(expression, visit_fn=visit, return_data=True)


def _allowing() -> Callable[[Any], Any]:
    # A nested function travels by value: the cluster may lack this package.
    def allow_failure(value: Any) -> Any:
        from prefect.client.schemas.objects import State
        from prefect.utilities import annotations
        from prefect.utilities.collections import StopVisiting, visit_collection

        def ran(part: Any) -> Any:
            if isinstance(part, annotations.quote):
                raise StopVisiting
            if isinstance(part, State):
                if part.is_pending() and part.name == "NotReady":
                    return part.data
                raise StopVisiting
            return part

        return annotations.allow_failure(
            visit_collection(value, visit_fn=ran, return_data=True)
        )

    return allow_failure


def inputs_of_annotated(parameters: Mapping[str, Any]) -> dict[str, set[Any]]:
    """Return the task runs in annotated parameters: on the cluster, Prefect finds them no more."""
    return {
        name: collect_task_run_inputs_sync(value)
        for name, value in parameters.items()
        if isinstance(value, BaseAnnotation)
    }


def bare(value: Any) -> Any:
    """Return a value without the annotations around it."""
    while isinstance(value, BaseAnnotation):
        value = value.unwrap()
    return value
