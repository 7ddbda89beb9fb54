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

from dask_blackbox.analyse.changes.asking import told_of_run
from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.changes.seen import seen_before
from dask_blackbox.analyse.changes.telling import Told, told_by

__all__ = ["Difference", "Told", "differences", "seen_before", "told_by", "told_of_run"]
