"""From the findings of all rules to one verdict: the root of the chain that leads to the outcome.

kinds        kinds of incident
links        the one table: what can lead to what
incidents    what happened, on one clock: candidates of rules, facts, and the outcome
resolution   which candidate is the root, and why each of the others is not
earlier/     what finds what the run had survived before, and may have failed for in the end
choice       which of that led to the root
telling      the verdict with the words on what led to it
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
