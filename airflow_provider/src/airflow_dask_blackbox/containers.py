"""Passes a task on to the pod or the container that its operator starts.

That is one variable more in the environment that the operator gives to it, as the macro
`{{ macros.dask_blackbox.env(ti) }}` writes it.  A program that does not use Dask, or an image
without dask-blackbox, does not notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from airflow_dask_blackbox.macros import env

__all__ = ["VARIABLE", "pass_on", "starts_container"]

VARIABLE: Final = "BLACKBOX_TASK"


def starts_container(task: object) -> bool:
    """Return whether the operator of a task starts a pod or a container for its work."""
    return _adder_for(task) is not None


def pass_on(task: Any, ti: object) -> None:
    """Add the task to the environment of its pod or container, unless the DAG does that.

    Args:
        task: With rendered templates, before it is executed.
        ti: The task instance.
    """
    add = _adder_for(task)
    if add is not None:
        add(task, env(ti))


def _to_pod(task: Any, said: str) -> None:
    """Add it to a `KubernetesPodOperator`, or a `@task.kubernetes`."""
    variable: Any = import_module("kubernetes.client.models").V1EnvVar
    given = task.env_vars or []
    if isinstance(given, Mapping):
        task.env_vars = {VARIABLE: said, **given}
    elif all(getattr(each, "name", None) != VARIABLE for each in given):
        task.env_vars = [*given, variable(name=VARIABLE, value=said)]


def _to_docker(task: Any, said: str) -> None:
    """Add it to a `DockerOperator`, or a `@task.docker`."""
    task.environment = {VARIABLE: said, **(task.environment or {})}


def _to_ecs(task: Any, said: str) -> None:
    """Add it to those containers of an `EcsRunTaskOperator` for which it overrides something."""
    given = task.overrides.get("containerOverrides") or ()
    task.overrides = {
        **task.overrides,
        "containerOverrides": [_with_variable(each, said) for each in given],
    }


def _with_variable(container: Mapping[str, Any], said: str) -> dict[str, Any]:
    given = container.get("environment") or ()
    if any(each.get("name") == VARIABLE for each in given):
        return dict(container)
    new = {"name": VARIABLE, "value": said}
    return {**container, "environment": [*given, new]}


_KINDS: Final[tuple[tuple[tuple[str, ...], Callable[[Any, str], None]], ...]] = (
    (("env_vars", "build_pod_request_obj"), _to_pod),
    (("environment", "docker_url"), _to_docker),
    (("overrides", "task_definition"), _to_ecs),
)
"""Operators by what only they have: their packages need not be installed."""


def _adder_for(task: object) -> Callable[[Any, str], None] | None:
    return next(
        (add for names, add in _KINDS if all(hasattr(task, name) for name in names)),
        None,
    )
