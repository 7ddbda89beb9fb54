"""Which explanation fits a message."""

from __future__ import annotations

from dask_blackbox.analyse.explanations import arrow, frames, services
from dask_blackbox.analyse.explanations.explained import Context, Explained

__all__ = ["explained"]

_ALL = (*frames.EXPLANATIONS, *arrow.EXPLANATIONS, *services.EXPLANATIONS)


def explained(context: Context) -> Explained | None:
    """Return what a message means; None if it is of no kind that is known."""
    for signature, explain in _ALL:
        found = signature.search(context.message)
        reported = None if found is None else explain(found, context)
        if reported is not None:
            return reported
    return None
