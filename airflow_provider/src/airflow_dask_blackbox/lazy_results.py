"""A callable that returns a graph instead of its result: said before XCom fails on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from airflow_dask_blackbox.compat import AirflowException, conf

__all__ = ["LazyResultError", "refuse_lazy"]

_MOST_ITEMS: Final = 100
_DEEPEST: Final = 3
_DEFAULT_BACKEND: Final = "BaseXCom"


class LazyResultError(AirflowException, TypeError):
    """The callable returned something that Dask has not computed.

    Attributes:
        dask_blackbox_about: The callable: on the card, it is the place to look at.
    """

    def __init__(self, message: str, function: Callable[..., Any]) -> None:
        super().__init__(message)
        self.dask_blackbox_about = function


def refuse_lazy(value: object, function: Callable[..., Any]) -> None:
    """Raise if a task's result is not computed yet: its cluster is about to close.

    Args:
        value: What the callable returned.
        function: The callable.

    Raises:
        LazyResultError: with what to call.
    """
    backend = str(conf.get("core", "xcom_backend", fallback="") or "")
    if backend and not backend.endswith(f".{_DEFAULT_BACKEND}"):
        return  # one of the user's own may keep whatever it wants
    for lazy, call in _lazy_in(value):
        name = getattr(function, "__name__", None) or repr(function)
        kind = type(lazy).__name__
        where = "" if lazy is value else f", in {_with_article(type(value).__name__)}"
        raise LazyResultError(
            f"{name} returned something lazy, {_with_article(kind)}{where}: call {call}, as a task's "
            "result is stored, and the cluster that could compute it closes with the task",
            function,
        )


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _lazy_in(value: object, depth: int = 0) -> Iterator[tuple[object, str]]:
    from dask import is_dask_collection
    from distributed import Future

    if isinstance(value, Future):
        yield value, ".result()"
    elif is_dask_collection(value):
        yield value, ".compute()"
    elif depth < _DEEPEST and isinstance(value, list | tuple | set | Mapping):
        inside = value.values() if isinstance(value, Mapping) else value
        for each in islice(inside, _MOST_ITEMS):
            yield from _lazy_in(each, depth + 1)
