"""Run → sketch: what is kept of a run for ever.

normal        what is the same in every run
prefixes      tasks by prefix
environment   packages, configuration, code, cluster
fingerprints  failures of a kind
"""

from __future__ import annotations

from dask_blackbox.analyse.sketching.making import facts_of_sketch, sketch_of
from dask_blackbox.analyse.sketching.normal import normal_prefix, normal_value

__all__ = ["facts_of_sketch", "normal_prefix", "normal_value", "sketch_of"]
