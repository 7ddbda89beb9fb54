"""From the findings of all rules to one verdict: the root of the chain that leads to the outcome.

mechanisms   the catalogue: which kind of incident can bring about which other
incidents    what happened, on one clock: candidates of rules, facts, and the outcome
resolution   which candidate is the root, and why each of the others is not
chain        the steps from the root to the outcome
"""

from __future__ import annotations

from dask_blackbox.analyse.causes.chain import chain_of
from dask_blackbox.analyse.causes.resolution import (
    Rejected,
    Resolution,
    resolve,
    unexplained,
)

__all__ = ["Rejected", "Resolution", "chain_of", "resolve", "unexplained"]
