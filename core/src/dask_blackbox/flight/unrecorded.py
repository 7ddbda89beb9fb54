"""The card of a run that could not be recorded: it says so, and what is known all the same."""

from __future__ import annotations

from dask_blackbox.attach import RunCard
from dask_blackbox.manifest import Ending, Manifest

__all__ = ["unrecorded_card"]


def unrecorded_card(manifest: Manifest, ending: Ending, reason: str) -> RunCard:
    """Return a card made of nothing but how the driver ended.

    Args:
        manifest: Who this is.
        ending: How the driver ended.
        reason: Why there is no recording, for people.
    """
    from dask_blackbox.analyse import findings_in
    from dask_blackbox.attach import card_of
    from dask_blackbox.run import RunTables

    run = RunTables.of_rows(manifest, ending, {})
    return card_of(run, findings_in(run), recorded=False, reason=reason)
