"""Arguments that a DAG file gives: templates in them, and what a wrong one should be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from airflow.sdk import BaseHook, XComArg
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.more_memory import MoreMemory
from dask_blackbox.patterns import bounded
from dask_blackbox.store.options import KEYS
from dask_blackbox.store.url import place_of

from airflow_dask_blackbox.compat import AirflowException, AirflowNotFoundException

__all__ = [
    "OperatorConfigurationError",
    "accepted_by",
    "check_flag",
    "check_mapping",
    "check_names",
    "check_operator_arguments",
    "check_store",
    "check_text",
    "connection_of",
    "did_you_mean",
    "is_given_later",
    "memory_policy",
]

_ELSEWHERE: Final = {
    "cluster_kwargs": (
        "n_workers",
        "threads_per_worker",
        "memory_limit",
        "processes",
        "dashboard_address",
        "local_directory",
        "worker_class",
        "scheduler_port",
    ),
    "client_kwargs": ("security", "timeout", "direct_to_workers"),
    "adapt": ("minimum", "maximum", "minimum_cores", "maximum_cores"),
}
"""Names that people give to the operator itself, by the argument where they belong."""


_URL = bounded(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_STORE_SETTINGS: Final = tuple(key for key in KEYS if key != "url")
_INSTEAD_OF_TEMPLATE: Final = "what differs from run to run belongs in store=, or in the connection of store_conn_id="


class OperatorConfigurationError(AirflowException, ConfigurationError):
    """An argument of the operator that cannot work; the sentence names it and a right one."""


def is_given_later(value: object) -> bool:
    """Return whether Airflow has the value only when the task runs: another task's result."""
    return isinstance(value, XComArg)


def memory_policy(on_memory: object, cluster: object) -> MoreMemory | None:
    """Return what `on_memory=` asks for; None: nothing.

    Raises:
        OperatorConfigurationError: if it cannot work, with what would.
    """
    try:
        return MoreMemory.of(on_memory, cluster)
    except ConfigurationError as error:
        raise OperatorConfigurationError(str(error)) from None


def check_operator_arguments(operator: type, arguments: Iterable[str]) -> None:
    """Refuse arguments that an operator does not have.

    Raises:
        OperatorConfigurationError: with the right name, if there is one that is close.
    """
    names = _arguments_of(operator)
    called = getattr(operator, "custom_operator_name", operator.__name__)
    for name in arguments:
        # What Airflow itself hands over, to mapped tasks among others.
        if name in names or name.startswith("_"):
            continue
        raise OperatorConfigurationError(
            f"{called} has no argument {name!r}{_instead(name, names)}"
        )


@cache
def _arguments_of(operator: type) -> frozenset[str]:
    each = (accepted_by(vars(base).get("__init__", int)) for base in operator.__mro__)
    return frozenset[str]().union(*(names for names in each if names))


def _instead(name: str, names: Collection[str]) -> str:
    for argument, belonging in _ELSEWHERE.items():
        if name in belonging:
            return f"; write {argument}={{{name!r}: …}}"
    return did_you_mean(name, names)


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return `; did you mean 'cluster'?` if one of the names is close, else nothing."""
    close = get_close_matches(name, sorted(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_mapping(argument: str, value: object) -> None:
    """Refuse what is neither a dict, nor a template or a task that may give one.

    Raises:
        OperatorConfigurationError: with what was given.
    """
    if value is None or isinstance(value, Mapping) or is_given_later(value):
        return
    if isinstance(value, str) and "{{" in value:
        return
    raise OperatorConfigurationError(
        f"{argument}= is {type(value).__name__} ({value!r:.60}); it has to be a dict of "
        "arguments by name"
    )


def check_text(argument: str, value: object) -> None:
    """Refuse what is neither text nor the result of another task.

    Raises:
        OperatorConfigurationError: with what was given.
    """
    if not (value is None or isinstance(value, str) or is_given_later(value)):
        raise OperatorConfigurationError(
            f"{argument}= is {type(value).__name__} ({value!r:.60}); it has to be text"
        )


def check_store(store: object, settings: object) -> None:
    """Refuse a store's URL, and settings, that no store has.

    A folder is not looked for: the machine that parses the DAG may lack it.  Settings are no
    template: among rendered templates, everybody could read a secret.

    Raises:
        OperatorConfigurationError: with what would work.
    """
    if isinstance(store, str) and _URL.match(store) and "{" not in store:
        try:
            place_of(store)
        except ConfigurationError as error:
            raise OperatorConfigurationError(f"store={error}") from None
    if settings is not None:
        _check_settings(settings)


def _check_settings(settings: object) -> None:
    if not isinstance(settings, Mapping):
        raise OperatorConfigurationError(
            f"store_settings= is {type(settings).__name__}; it has to be a dict of "
            f"settings, and is no template; {_INSTEAD_OF_TEMPLATE}"
        )
    for name, value in settings.items():
        if is_given_later(value) or (isinstance(value, str) and "{{" in value):
            raise OperatorConfigurationError(
                f"store_settings= has a template as {name!r}, and its values are no "
                f"templates; {_INSTEAD_OF_TEMPLATE}"
            )
        if str(name).replace("_", "-") not in _STORE_SETTINGS:
            raise OperatorConfigurationError(
                f"store_settings= has {name!r}, which is no setting of a store"
                f"{did_you_mean(str(name), _STORE_SETTINGS)}; there are "
                f"{', '.join(_STORE_SETTINGS)}"
            )


def check_flag(argument: str, value: object) -> None:
    """Refuse what is neither True nor False: Python takes the text "no" for True.

    Raises:
        OperatorConfigurationError: with what was given.
    """
    if not isinstance(value, bool):
        raise OperatorConfigurationError(
            f"{argument}= is {type(value).__name__} ({value!r:.60}); it has to be True "
            "or False"
        )


def connection_of(conn_id: str, argument: str, kind: str) -> Any:
    """Return an Airflow connection.

    Args:
        conn_id: Which.
        argument: Of the operator, that names it.
        kind: The type that it has to have.

    Raises:
        OperatorConfigurationError: if there is none of that id.
    """
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise OperatorConfigurationError(
            f"{argument}={conn_id!r}: Airflow has no such connection; create one of "
            f"type {kind!r}, or correct the id"
        ) from None


def check_names(
    argument: str,
    given: Iterable[str],
    names: Collection[str] | None,
    *,
    of: str,
) -> None:
    """Refuse names that a class or function does not take.

    Args:
        argument: Of the operator: `cluster_kwargs`.
        given: The names in it.
        names: What is taken; None: anything.
        of: The class or function.

    Raises:
        OperatorConfigurationError: with the right name, if there is one that is close.
    """
    for name in given if names is not None else ():
        if name not in (names or ()):
            raise OperatorConfigurationError(
                f"{argument}{'' if '=' in argument else '='} has {name!r}, which {of} "
                "does not take"
                f"{did_you_mean(name, names or ())}"
            )


def accepted_by(*functions: Callable[..., Any]) -> set[str] | None:
    """Return the names of the arguments that functions take; None if that is not known."""
    names: set[str] = set()
    for function in functions:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return None
        names |= {
            each.name
            for each in parameters
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        }
    return names - {"self"}
