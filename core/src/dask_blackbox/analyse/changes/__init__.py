"""Two sketches and a history → what changed, how rare that is, and which side it is on.

differences   in what two runs differ
rarity        how often such a difference came up before
relevance     what it has to do with the verdict
blame         data, code or infrastructure, in a sentence
seen          failures of the same kind
telling       all of it for a card
asking        which of a run's facts that takes
"""

from __future__ import annotations

from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.changes.earlier_failures import seen_before
from dask_blackbox.analyse.changes.for_card import (
    CardChanges,
    changes_of_run,
    changes_on_card,
)

__all__ = [
    "CardChanges",
    "Difference",
    "changes_of_run",
    "changes_on_card",
    "differences",
    "seen_before",
]
