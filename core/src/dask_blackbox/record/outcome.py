"""How a recording ended, and what became of its segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dask_blackbox.errors import StoreError
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.record.orders import End

__all__ = ["Outcome"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a recording ended.

    Attributes:
        end: What the driver said, or what its silence means.
        ended: Epoch seconds.
        sources: What came from whom, and what did not.
        segments: All segments, on the local disk.
        uploaded: Names of those that the store has, with their checksums.
        behind: Seconds by which the store was behind at the worst.
        store_error: What the store last said, if it was no.
    """

    end: End
    ended: float
    sources: dict[str, SourceAccount]
    segments: list[Path] = field(default_factory=list)
    uploaded: dict[str, str] = field(default_factory=dict)
    behind: float = 0.0
    store_error: StoreError | None = None
