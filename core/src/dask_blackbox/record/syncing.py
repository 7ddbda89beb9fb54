"""Bringing home what waits in the spool: recordings that their store did not take."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox.analyse.asking import asking_or_default
from dask_blackbox.attach import RunCard
from dask_blackbox.errors import BlackboxError, StoreError
from dask_blackbox.record.claiming import Claim
from dask_blackbox.record.finalise import finalise
from dask_blackbox.record.opening import Opening, open_recording
from dask_blackbox.record.orders import Config, End, Telling
from dask_blackbox.record.outcome import Outcome
from dask_blackbox.record.spool import checksum
from dask_blackbox.record.spooled import Spooled, spooled_in
from dask_blackbox.record.uploading import PatientPut

__all__ = ["bring_home", "bring_others_home"]

logger = logging.getLogger("dask_blackbox.record")

_PATIENCE = 20.0


def bring_home(
    spooled: Spooled,
    *,
    settings: Mapping[str, Any] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunCard | None:
    """Upload a recording and finalise it; the spool forgets it if that worked.

    Args:
        spooled: The recording.
        settings: Goes before its own settings of the store, and holds the credentials.
        stop: Asked between two uploads; true ends it with `StoreError`.

    Returns:
        Its card; None if another process has brought it home, or is about to.

    Raises:
        BlackboxError: if its store does not take it; it stays in the spool.
        OSError: if the spool cannot be read.
    """
    claim = Claim(spooled.folder)
    try:
        if not claim.ours or not (spooled.folder / "run.json").is_file():
            return None
        return _brought(spooled, settings or {}, stop)
    finally:
        claim.release()


def _brought(
    spooled: Spooled, settings: Mapping[str, Any], stop: Callable[[], bool]
) -> RunCard:
    asked = asking_or_default()
    config = Config(
        manifest=spooled.manifest,
        store=None,
        store_settings={**spooled.settings, **settings},
        spool=str(spooled.folder),
        socket="",
        owner=0,
        muted=asked.muted,
        thresholds=dict(asked.thresholds),
    )
    opening = open_recording(config)
    if opening.error is not None:
        raise opening.error
    uploaded = _uploaded(spooled, opening, stop)
    cards: list[RunCard] = []

    def keep(telling: Telling) -> None:
        if telling.what == "final":
            cards.append(RunCard.from_json(bytes(telling.card)))

    finalise(config, opening, _outcome(spooled, uploaded), keep)
    if not cards[-1].completeness.get("recorded"):
        raise StoreError(str(cards[-1].completeness.get("reason")))
    return cards[-1]


def _uploaded(
    spooled: Spooled, opening: Opening, stop: Callable[[], bool]
) -> dict[str, str]:
    """Upload the segments that are here; return them, with those of before."""
    assert opening.store is not None  # noqa: S101 - there is no error
    put = PatientPut(opening.store, _PATIENCE)
    uploaded = dict(spooled.ending.segments) if spooled.ending is not None else {}
    for path in spooled.segments:
        if stop():
            raise StoreError("stopped half-way; the rest stays in the spool")
        blob = path.read_bytes()
        put(f"{opening.address.folder}segments/{path.name}", blob)
        uploaded[path.name] = checksum(blob)
    return uploaded


def _outcome(spooled: Spooled, uploaded: dict[str, str]) -> Outcome:
    ending = spooled.ending
    segments = {path.name: path.read_bytes for path in spooled.segments}
    if ending is None:  # its recorder died: nobody was left to say how it ended
        last = max((p.stat().st_mtime for p in spooled.segments), default=time.time())
        return Outcome(
            end=End(state="lost"),
            ended=last,
            sources={},
            segments=segments,
            uploaded=uploaded,
        )
    return Outcome(
        end=End(
            state=ending.state, exit_code=ending.exit_code, exception=ending.exception
        ),
        ended=ending.ended,
        sources=ending.sources,
        segments=segments,
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
    for spooled in spooled_in(own.parent).ready:
        if stop():
            return
        if spooled.folder == own:  # where nothing can be locked
            continue
        if spooled.settings.get("url") != settings.get("url"):
            continue
        try:
            card = bring_home(spooled, settings=settings, stop=stop)
            if card is not None:
                logger.info("brought home %s/%s", card.job, card.run_id)
        except (BlackboxError, OSError, msgspec.MsgspecError) as error:
            logger.warning("%s stays in the spool: %s", spooled.folder, error)
