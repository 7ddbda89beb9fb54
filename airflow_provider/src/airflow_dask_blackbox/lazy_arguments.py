"""The outputs of a mapped task, as an argument of Dask's functions.

Airflow passes them as a sequence that asks for each item when it is wanted.  Only the task's
own process can ask; and Dask looks at what it is given many times, and for lists by type.
"""

from __future__ import annotations

from typing import Any

__all__ = ["fetched"]


def fetched(value: Any) -> Any:
    """Return an argument with the outputs of mapped tasks in it as lists."""
    from airflow.sdk.execution_time.lazy_sequence import LazyXComSequence

    if isinstance(value, LazyXComSequence):
        return list(value)
    # Exactly these: a subclass may be made of other arguments.
    if type(value) is dict:
        return {name: fetched(each) for name, each in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(fetched(each) for each in value)
    return value
