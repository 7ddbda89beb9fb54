"""What is recorded and where, as given to the task runner or the decorator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import dask.config
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.manifest import ARGUMENTS, LEAVABLE
from dask_blackbox.more_memory import MoreMemory
from dask_blackbox.settings import setting_classes
from dask_blackbox.store import StoreChoice

from prefect_dask_blackbox.block_names import BLOCK, check_block_name

__all__ = ["RecordingOptions"]

_SECRET = frozenset({"key", "secret", "token", "session", "password", "credentials"})


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """How a flow run is recorded.

    Attributes:
        store: `s3://bucket/prefix`, a folder, or `block:NAME`; None: the setting
            `blackbox.store.url`, otherwise the user's default folder.
        job: Job name, by which runs are compared; None: the flow's name, with that of its
            deployment.
        parameters: What to record as the run's parameters; None: the flow run's own.
        required: Fail the flow run if it cannot be recorded.
        store_settings: Settings of the store that differ from `blackbox.store`.
        fail_flow_on_lost_tasks: Fail a flow that does not notice that its tasks died with
            their workers, instead of completing it.
        follow_retry_advice: Don't retry a flow run if its retry advice says with high
            confidence that it would fail again.
        transient_retries: How often to retry a flow run, in addition to its own retries, if
            the verdict says with medium or high confidence that the failure was
            transient.
        fast_submit: Serialise Prefect's settings once per flow run, not for each task.
        task_parameters: Show on the card with which arguments the affected and the slowest
            tasks were called.
        on_memory: More memory for the next attempt, if the verdict on the one before was
            too little memory.
    """

    store: str | None = None
    job: str | None = None
    parameters: Mapping[str, object] | None = None
    required: bool = False
    store_settings: Mapping[str, object] | None = None
    fail_flow_on_lost_tasks: bool = True
    follow_retry_advice: bool = False
    transient_retries: int = 0
    fast_submit: bool = False
    task_parameters: bool = True
    on_memory: Mapping[str, str] | None = None

    def checked(self) -> Self:
        """Return these options, if they can work.

        Raises:
            ConfigurationError: if the store's URL, its type of block, or `on_memory` can't.
        """
        MoreMemory.of(self.on_memory)
        if self.store is None:
            return self
        if self.store.startswith(BLOCK):
            check_block_name(self.store.removeprefix(BLOCK))
        else:
            self.place().all_settings()
        return self

    def with_settings(self) -> RecordingOptions:
        """Return these options, completed by Prefect's settings."""
        from prefect_dask_blackbox.settings import DaskBlackboxSettings

        known = DaskBlackboxSettings()
        names = ("store", "required", "fail_flow_on_lost_tasks", "follow_retry_advice",
                 "transient_retries", "fast_submit", "task_parameters")  # fmt: skip
        given = self.given()
        if _values_are_refused():
            given["task_parameters"] = False
        more = {name: getattr(known, name) for name in names if name not in given}
        return replace(self, **{**given, **more})

    def place(self) -> StoreChoice:
        """Return the store, with the settings of its block.

        Raises:
            ConfigurationError: if there is no such block.
        """
        own = dict(self.store_settings) if self.store_settings else {}
        if self.store is None or not self.store.startswith(BLOCK):
            return StoreChoice(self.store, own or None)
        from prefect_dask_blackbox.blocks import store_of_block

        found = store_of_block(self.store.removeprefix(BLOCK))
        return found._replace(settings={**(found.settings or {}), **own})

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: mine[field.name]
            for field in fields(self)
            if mine[field.name] != field.default
        }

    def changed_by(self, other: RecordingOptions) -> RecordingOptions:
        """Return these options, with those that `other` gives in their place."""
        return replace(self, **other.given())

    def __reduce__(self) -> tuple[Any, ...]:
        # A flow is pickled into each of its tasks, to where this package may not be.
        return (_portable_revive(), (self.portable(),))

    def portable(self) -> dict[str, Any]:
        """Return what may travel in a pickle: the given options without credentials.

        A flow and its runner are pickled into each of its tasks, and into bundles that
        lie in a bucket.
        """
        given = self.given()
        given.pop("parameters", None)
        if self.store_settings:
            given["store_settings"] = {
                name: value
                for name, value in self.store_settings.items()
                if not _SECRET & set(name.lower().replace("_", "-").split("-"))
            }
        return given


def _values_are_refused() -> bool:
    """Return whether Dask's configuration leaves out arguments.

    By `capture.leave-out`, or by `capture.values: false` in a file or a variable: our own
    default is not among these.
    """
    try:
        if ARGUMENTS in setting_classes("capture.leave-out", LEAVABLE):
            return True
    except (
        ConfigurationError
    ):  # the recording says so; until it is corrected, none are shown
        return True
    configured = dask.config.collect()
    name = "blackbox.capture.values"
    return dask.config.get(name, default=True, config=configured) is False


def _portable_revive() -> Callable[[dict[str, Any]], Any]:
    # A nested function travels by value: it needs no import of this module.
    def revive(given: dict[str, Any]) -> Any:
        try:
            from prefect_dask_blackbox.options import RecordingOptions
        except ImportError:
            return None
        return RecordingOptions(**given)

    return revive
