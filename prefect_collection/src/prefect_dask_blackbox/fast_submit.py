"""Submitting many tasks without repeating for each what is the same for all.

prefect-dask serialises all of Prefect's settings for each task, which takes most of the
time of `submit`, and has Dask hash the task's context to get a key that is random anyway.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dask.utils import funcname
from prefect.context import SettingsContext
from prefect_dask.client import PrefectDaskClient
from pydantic import PrivateAttr

if TYPE_CHECKING:
    # Types that only describe arguments.
    from prefect.tasks import Task

__all__ = ["FastSubmit"]


class _SerializedOnce(SettingsContext):
    """A context of settings that is serialised at the first time only."""

    _serialized: dict[str, object] | None = PrivateAttr(None)

    def serialize(self, include_secrets: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002 - Prefect's signature
        if not include_secrets:
            return super().serialize(include_secrets=False)
        if self._serialized is None:
            self._serialized = super().serialize()
        return self._serialized


class FastSubmit:
    """What is the same for all tasks of a flow run, kept from one to the next."""

    def __init__(self) -> None:
        self._of: SettingsContext | None = None
        self._ours: _SerializedOnce | None = None

    @staticmethod
    def is_possible() -> bool:
        """Return whether this version of Prefect and prefect-dask has what it takes."""
        submit = inspect.signature(PrefectDaskClient.submit).parameters
        serialize = getattr(SettingsContext, "serialize", None)
        return (
            "key" in submit
            and serialize is not None
            and "include_secrets" in inspect.signature(serialize).parameters
            and {*SettingsContext.model_fields} == {"profile", "settings"}
        )

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Have the settings that are in force serialised once, in this context only."""
        now = SettingsContext.get()
        if now is None:
            yield
            return
        if self._ours is None or self._of is not now:
            self._of = now
            self._ours = _SerializedOnce.model_construct(
                profile=now.profile, settings=now.settings
            )
        token = SettingsContext.__var__.set(self._ours)
        try:
            yield
        finally:
            SettingsContext.__var__.reset(token)

    @staticmethod
    def key(task: Task[Any, Any]) -> str:
        """Return a key like Dask's own, which would hash what is random already."""
        return f"{funcname(task.fn)}-{uuid4().hex}"
