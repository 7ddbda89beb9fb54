"""What is recorded and where to, as given to the task runner or the decorator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = ["RecordingOptions"]

_SECRET = frozenset({"key", "secret", "token", "session", "password"})


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """How a flow run is recorded.

    Attributes:
        store: `s3://bucket/prefix` or a folder; None: the setting `blackbox.store.url`,
            else a folder of the user's.
        job: What is run again and again; None: the flow's name, with its deployment's.
        parameters: What to record as the run's parameters; None: the flow run's own.
        required: Fail the flow run when it cannot be recorded.
        store_settings: Settings of the store that differ from `blackbox.store`.
        fail_flow_on_lost_tasks: A flow that does not notice that its tasks died with
            their workers fails instead of ending green.
        follow_retry_advice: A flow run whose verdict is sure that it would fail again is
            not tried again.
    """

    store: str | None = None
    job: str | None = None
    parameters: Mapping[str, Any] | None = None
    required: bool = False
    store_settings: Mapping[str, Any] | None = None
    fail_flow_on_lost_tasks: bool = True
    follow_retry_advice: bool = False

    def given(self) -> dict[str, Any]:
        """Return the options that are not as by default."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: mine[field.name]
            for field in fields(self)
            if mine[field.name] != field.default
        }

    def changed_by(self, other: RecordingOptions) -> RecordingOptions:
        """Return these options, with those that `other` gives in their place."""
        return replace(self, **other.given())

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
