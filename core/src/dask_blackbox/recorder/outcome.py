"""How a recording ended, and what became of its segments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dask_blackbox.errors import BlackboxError
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.protocol.messages import End

__all__ = ["Outcome"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a recording ended.

    Attributes:
        end: What the driver said, or what its silence means.
        ended: Epoch seconds.
        sources: What came from whom, and what did not.
        segments: The segments that are here, by name; called, they are read (`OSError`
            where that fails).
        uploaded: Names of those that the store has, with their checksums.
        behind: Seconds by which the store was behind at the worst.
        store_error: What the store last said, if it was no.
    """

    end: End
    ended: float
    sources: dict[str, SourceAccount]
    segments: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    uploaded: dict[str, str] = field(default_factory=dict)
    behind: float = 0.0
    store_error: BlackboxError | None = None
