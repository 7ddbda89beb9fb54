"""A callable's result that Airflow cannot store: found while the run is still recorded.

Airflow stores it after the task's work, where its error would say nothing of the callable,
and the recording would have succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from os import PathLike
from typing import Final

from dask_blackbox.errors import UnstorableResultError
from dask_blackbox.guard import guard

from airflow_dask_blackbox.compat import AirflowException, conf

__all__ = ["ResultError", "refused_result"]

_MOST_ITEMS: Final = 100
_DEEPEST: Final = 3
_LIBRARIES: Final = ("numpy", "pandas")
_DEFAULT_BACKEND: Final = "BaseXCom"


class ResultError(AirflowException, UnstorableResultError, TypeError):
    """The callable returned something that Airflow cannot store.

    Attributes:
        dask_blackbox_about: The callable: on the card, it is the place to look at.
    """

    def __init__(self, message: str, function: Callable[..., object]) -> None:
        super().__init__(message)
        self.dask_blackbox_about = function


def refused_result(
    value: object, function: Callable[..., object], *, multiple_outputs: bool = False
) -> ResultError | None:
    """Return what is wrong with a task's result that Airflow could not store as an XCom.

    Where that cannot be found out, Airflow will.

    Args:
        value: What the callable returned.
        function: The callable.
        multiple_outputs: Each of the result's values becomes an XCom of its own.
    """
    with guard("whether Airflow can store a task's result"):
        try:
            _check(value, function, multiple_outputs=multiple_outputs)
        except ResultError as error:
            return error
    return None


def _check(
    value: object, function: Callable[..., object], *, multiple_outputs: bool
) -> None:
    backend = str(conf.get("core", "xcom_backend", fallback="") or "")
    if backend and not backend.endswith(f".{_DEFAULT_BACKEND}"):
        return  # one of the user's own may keep whatever it wants
    name = _name_of(function)
    for lazy, call in _lazy_in(value):
        raise ResultError(
            f"{name} returned an uncomputed value, {_named(lazy, value)}: call {call}, "
            "because Airflow stores the result, and the cluster that could compute it "
            "closes with the task",
            function,
        )
    if multiple_outputs and value is not None and not isinstance(value, Mapping):
        raise ResultError(
            f"{name} returned {_named(value, value)}: return a dict, because "
            "multiple_outputs stores each of its values separately",
            function,
        )
    error = _storing_fails(value)
    if error is not None:
        refused = _refused_in(value)
        raise ResultError(
            f"{name} returned {_named(refused, value)}, which Airflow cannot store{_because(error)}: "
            f"{_instead_of(refused)}; or set do_xcom_push=False, if no task needs it",
            function,
        ) from error


def _name_of(function: Callable[..., object]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def _named(value: object, whole: object) -> str:
    """Return what a value is and what holds it: `a numpy.ndarray, in a dict`."""
    # As text, NumPy's numbers have their class around them.
    is_number = isinstance(value, float)
    kind = f"{value:g}" if is_number else _with_article(_kind(value))
    return kind if value is whole else f"{kind}, in {_with_article(_kind(whole))}"


def _kind(value: object) -> str:
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return f"{library}.{name}" if library in _LIBRARIES else name


def _with_article(noun: str) -> str:
    if noun == "bytes":
        return noun
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _lazy_in(value: object, depth: int = 0) -> Iterator[tuple[object, str]]:
    from dask import is_dask_collection
    from distributed import Future

    if isinstance(value, Future):
        yield value, ".result()"
    elif is_dask_collection(value):
        yield value, ".compute()"
    elif depth < _DEEPEST:
        for each in _items(value):
            yield from _lazy_in(each, depth + 1)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple | set | Mapping):
        inside = value.values() if isinstance(value, Mapping) else value
        yield from islice(inside, _MOST_ITEMS)


def _storing_fails(value: object) -> Exception | None:
    """Return what Airflow would raise as it stores a value, by doing all but that."""
    import httpx
    from airflow.sdk.execution_time.xcom import XCom

    try:
        stored = XCom.serialize_value(value)
        # As the task's supervisor sends it, to nobody: JSON has no word for nan.
        httpx.Request("POST", "http://airflow", json=stored)
    except Exception as error:  # noqa: BLE001 - of any class that serializes itself
        return error
    return None


def _refused_in(value: object, depth: int = 0) -> object:
    """Return the innermost value for which storing a result fails."""
    if depth < _DEEPEST:
        for each in _items(value):
            if _storing_fails(each) is not None:
                return _refused_in(each, depth + 1)
    return value


def _because(error: Exception) -> str:
    """Return what is wrong, unless the kind of the value is, or that there is no number."""
    if isinstance(error, TypeError | ValueError):
        return ""
    # What follows the first colon is what to do.
    text = str(error).replace(": ", ", ")
    return f" ({type(error).__name__}, {text})"


def _instead_of(value: object) -> str:
    """Return what to return in the place of a value that cannot be stored."""
    if isinstance(value, float):
        return "return None instead"
    if isinstance(value, PathLike):
        return "return it as text, by str()"
    if isinstance(value, Iterator):
        return "return its items as a list"
    call = _CALLS.get(_kind(value))
    small = (
        f"call {call} if it is small"
        if call
        else "return numbers, text, lists or dicts"
    )
    return f"{small}, or write it to storage and return its address"


_CALLS: Final = {
    "numpy.ndarray": ".tolist()",
    "pandas.DataFrame": ".to_dict()",
    "pandas.Index": ".tolist()",
    "pandas.Series": ".to_list()",
}
