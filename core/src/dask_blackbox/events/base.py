"""What all kinds of events have in common."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from dask_blackbox.formatting import utc


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment, to a subject.

    A subclass is a kind of event.  All of its fields have defaults: older writers do not
    know the newer fields, and a damaged recording still has the others.

    Attributes:
        at: Epoch seconds on the scheduler's clock.
        subject: Address of a worker, id of a client, key of a task, or empty.
        extra: Fields that this version does not declare; a newer one wrote them.
        malformed: Fields that cannot be read as declared, as they are stored; the field
            itself has its default.  Under an empty name: all of it.
    """

    kind: ClassVar[str] = ""
    """The word under which events of this kind are stored."""

    at: float = 0.0
    subject: str = ""
    extra: dict[str, object] = {}
    malformed: dict[str, object] = {}

    @property
    def moment(self) -> datetime:
        """The moment as the tables have it."""
        return utc(self.at)


class UserCodeEvent(Event, frozen=True, kw_only=True):
    """An event that a line of the user's own code caused.

    Attributes:
        file: File of the line.
        line: Its number.
        function: Function of the line.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None


class Unrecognised(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a kind that this version does not know.

    Attributes:
        at: Epoch seconds.
        kind: The word under which it is stored.
        subject: What it is about.
        detail: Its particulars, as they are stored.
    """

    at: float = 0.0
    kind: str = ""
    subject: str = ""
    detail: str = "{}"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A value inside an event."""
