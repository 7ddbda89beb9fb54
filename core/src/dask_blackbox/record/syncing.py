"""Bringing home what waits in the spool: recordings that their store did not take."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox.attach import RunCard
from dask_blackbox.errors import BlackboxError, StoreError
from dask_blackbox.record.finalise import finalise
from dask_blackbox.record.opening import open_recording
from dask_blackbox.record.orders import Config, End, Telling
from dask_blackbox.record.outcome import Outcome
from dask_blackbox.record.spool import checksum
from dask_blackbox.record.spooled import Spooled, claim, spooled_in

__all__ = ["bring_home", "bring_others_home"]

logger = logging.getLogger("dask_blackbox.record")


def bring_home(
    spooled: Spooled,
    *,
    settings: Mapping[str, Any] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunCard:
    """Upload a recording and finalise it; the spool forgets it if that worked.

    Args:
        spooled: The recording.
        settings: Goes before its own settings of the store, and holds the credentials.
        stop: Asked between two uploads; true ends it with `StoreError`.

    Raises:
        BlackboxError: if its store does not take it; it stays in the spool.
    """
    claim(spooled.folder)
    config = Config(
        manifest=spooled.manifest,
        store=None,
        store_settings={**spooled.settings, **(settings or {})},
        spool=str(spooled.folder),
        socket="",
        owner=0,
    )
    opening = open_recording(config)
    if opening.error is not None:
        raise opening.error
    assert opening.store is not None  # noqa: S101 - there is no error
    uploaded = {}
    for path in spooled.segments:
        if stop():
            raise StoreError("stopped half-way; the rest stays in the spool")
        blob = path.read_bytes()
        opening.store.put(f"{opening.address.folder}segments/{path.name}", blob)
        uploaded[path.name] = checksum(blob)
    cards: list[RunCard] = []

    def keep(telling: Telling) -> None:
        if telling.what == "final":
            cards.append(RunCard.from_json(bytes(telling.card)))

    finalise(config, opening, _outcome(spooled, uploaded), keep)
    if not cards[-1].completeness.get("recorded"):
        raise StoreError(str(cards[-1].completeness.get("reason")))
    return cards[-1]


def _outcome(spooled: Spooled, uploaded: dict[str, str]) -> Outcome:
    ending = spooled.ending
    if ending is None:  # its recorder died: nobody was left to say how it ended
        last = max((p.stat().st_mtime for p in spooled.segments), default=time.time())
        return Outcome(
            end=End(state="lost"),
            ended=last,
            sources={},
            segments=spooled.segments,
            uploaded=uploaded,
        )
    return Outcome(
        end=End(
            state=ending.state, exit_code=ending.exit_code, exception=ending.exception
        ),
        ended=ending.ended,
        sources=ending.sources,
        segments=spooled.segments,
        uploaded=uploaded,
        behind=ending.store_behind,
    )


def bring_others_home(
    own: Path, settings: Mapping[str, Any], stop: Callable[[], bool]
) -> None:
    """Upload what earlier recordings of this machine left for the same store.

    Args:
        own: The spool folder of the recording that this process makes.
        settings: Of its store.
        stop: Asked between two uploads.
    """
    for spooled in spooled_in(own.parent):
        if stop():
            return
        # Our own is claimed by this very process, which `spooled_in` takes for nobody.
        if spooled.folder == own:
            continue
        if spooled.settings.get("url") != settings.get("url"):
            continue
        try:
            card = bring_home(spooled, settings=settings, stop=stop)
            logger.info("brought home %s/%s", card.job, card.run_id)
        except (BlackboxError, OSError, msgspec.MsgspecError) as error:
            logger.warning("%s stays in the spool: %s", spooled.folder, error)
