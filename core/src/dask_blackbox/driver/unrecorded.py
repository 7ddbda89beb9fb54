"""The card of a run that could not be recorded: it says so, and what is known all the same."""

from __future__ import annotations

import msgspec

from dask_blackbox.attach import RunCard, RunState
from dask_blackbox.driver.known_secrets import known_secrets
from dask_blackbox.guard import guard
from dask_blackbox.manifest import DriverException, Ending, Manifest
from dask_blackbox.recorder.redact import Redactor
from dask_blackbox.settings import setting

__all__ = ["unrecorded_card"]


def unrecorded_card(manifest: Manifest, ending: Ending, reason: str) -> RunCard:
    """Return a card made of nothing but how the driver ended.

    Args:
        manifest: Who this is.
        ending: How the driver ended.
        reason: Why there is no recording, for people.
    """
    cards: list[RunCard] = []
    ending = _redacted(ending)
    with guard("the verdict on a run that was not recorded"):
        from dask_blackbox.analyse import findings_in
        from dask_blackbox.analyse.rule_settings import asking_or_default
        from dask_blackbox.attach import card_of
        from dask_blackbox.run import RunTables

        run, asked = RunTables.of_rows(manifest, ending, {}), asking_or_default()
        found = findings_in(run, muted=asked.muted, thresholds=asked.thresholds)
        cards.append(card_of(run, found, recorded=False, reason=reason))
    return cards[0] if cards else _minimal_card(manifest, ending, reason)


def _redacted(ending: Ending) -> Ending:
    if ending.exception is None:
        return ending
    clean: list[DriverException] = []
    with guard("the exception of a run that was not recorded"):
        clean.append(
            Redactor(setting("redact"), values=known_secrets()).exception(
                ending.exception
            )
        )
    return msgspec.structs.replace(ending, exception=clean[0] if clean else None)


def _minimal_card(manifest: Manifest, ending: Ending, reason: str) -> RunCard:
    """Return a card that nothing is needed for."""
    return RunCard(
        job=manifest.job,
        run_id=manifest.run_id,
        attempt=manifest.attempt,
        state=msgspec.convert(ending.state, RunState),
        headline=f"not recorded: {reason}",
        completeness={"recorded": False, "complete": False, "reason": reason},
    )
