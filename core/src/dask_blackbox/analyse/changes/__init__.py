"""Two sketches and a history → what changed, how rare that is, and which side it is on.

differences       in what two runs differ
code_changes      which function has changed
prefixes          what differs in the work of a task prefix
ranking           relevance to the verdict, how often it came up before, what follows from what
attribution       data, code or infrastructure, in a sentence
for_card          all of it for a card
"""

from __future__ import annotations

from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.changes.for_card import (
    CardChanges,
    changes_of_run,
    changes_on_card,
)
from dask_blackbox.analyse.earlier_runs import seen_before

__all__ = [
    "CardChanges",
    "Difference",
    "changes_of_run",
    "changes_on_card",
    "differences",
    "seen_before",
]
