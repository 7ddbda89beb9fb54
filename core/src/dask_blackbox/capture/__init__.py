"""Capture: collects facts inside scheduler, workers, nannies and driver, as rows.

These modules need only the standard library and `distributed`: `shipping` sends their
source text to the cluster, so nothing has to be installed there and its Python may
be another one.  They import nothing else of this package.
"""

from __future__ import annotations
