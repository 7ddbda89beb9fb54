"""Uploads recordings that wait in the spool because their store did not take them."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError, StoreError
from dask_blackbox.manifest import SPOOL, Ending, SourceAccount
from dask_blackbox.protocol.messages import Config, End, Limits, Reply
from dask_blackbox.reader.damaged_documents import end_in_segments
from dask_blackbox.recorder.finalise import finalise, settings_for
from dask_blackbox.recorder.opening import Opening, open_recording
from dask_blackbox.recorder.process_limits import EXPECTED, limited, put_aside
from dask_blackbox.recorder.run_ending import Outcome, RunEndResolver
from dask_blackbox.recorder.spool import checksum
from dask_blackbox.recorder.spool_folder import (
    Claim,
    Spooled,
    begin_attempt,
    end_attempt,
    had_no_space,
)
from dask_blackbox.recorder.uploading import RetryingPut
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import Batch, read_segment
from dask_blackbox.tables import frames_of_batches

logger = logging.getLogger("dask_blackbox.recorder")

_TIMEOUT = 20.0


def upload_recording(
    spooled: Spooled,
    *,
    settings: Mapping[str, object] | None = None,
    limits: Limits | None = None,
) -> RunCard | None:
    """Upload a recording and finalise it; the spool forgets it if that worked.

    Args:
        settings: Goes before its own settings of the store, and holds the credentials.
        limits: What this process may use for it; None: as the settings have it.

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
        config = settings_for(
            spooled.manifest,
            spool=str(spooled.folder),
            store_settings={**spooled.settings, **(settings or {})},
        )
        attempts = begin_attempt(spooled.folder)
        try:
            with limited(limits := limits or config.limits):
                card = _brought(spooled, config, put_aside(attempts, limits))
        except EXPECTED:
            end_attempt(spooled.folder)
            raise
        # One that is killed, or fails in another way, stays counted.
        end_attempt(spooled.folder)
        return card
    finally:
        claim.release()


def _brought(spooled: Spooled, config: Config, undiagnosed: str | None) -> RunCard:
    opening = open_recording(config)
    if opening.error is not None:
        raise opening.error
    uploaded = _uploaded(spooled, opening)
    cards: list[RunCard] = []

    def keep(reply: Reply) -> None:
        if reply.what == "final":
            cards.append(RunCard.from_json(bytes(reply.card)))

    finalise(config, opening, _outcome(spooled, uploaded), keep, undiagnosed)
    if not cards[-1].completeness.get("recorded"):
        raise StoreError(str(cards[-1].completeness.get("reason")))
    return cards[-1]


def _uploaded(spooled: Spooled, opening: Opening) -> dict[str, str]:
    """Upload the segments that are here; return them, with those of before."""
    assert opening.store is not None  # noqa: S101 - there is no error
    put = RetryingPut(opening.store, _TIMEOUT)
    uploaded = dict(spooled.ending.segments) if spooled.ending is not None else {}
    for path in spooled.segments:
        blob = path.read_bytes()
        put(f"{opening.address.folder}segments/{path.name}", blob)
        uploaded[path.name] = checksum(blob)
    return uploaded


def _outcome(spooled: Spooled, uploaded: dict[str, str]) -> Outcome:
    segments = {path.name: path.read_bytes for path in spooled.segments}
    ending = spooled.ending or _ending_of(spooled)
    return Outcome(
        end=End.of(ending),
        ended=ending.ended,
        sources=ending.sources,
        segments=segments,
        uploaded=uploaded,
        behind=ending.store_behind,
    )


def _ending_of(spooled: Spooled) -> Ending:
    """Return how a run ended whose recorder died: by its segments, or by its driver."""
    resolve = RunEndResolver(
        lambda exception: exception
    )  # what lies in the spool is redacted
    batches = list(_batches(spooled.segments))
    for batch in batches:
        resolve.add_rows(batch.rows)
    run = RunTables(spooled.manifest, None, frames_of_batches(batches))
    reported = end_in_segments(run)
    if reported is not None:
        if not had_no_space(spooled.folder):
            return reported
        # What was dropped is in the document that found no space.
        account = SourceAccount(error="its disk was full at the end")
        return msgspec.structs.replace(reported, sources={SPOOL: account})
    left = spooled.left
    if left is None:  # its end was not reported
        last = max((p.stat().st_mtime for p in spooled.segments), default=time.time())
        return Ending(state="lost", ended=last)
    end = resolve.resolve(left.end)
    return Ending(
        state=end.state,
        ended=left.at,
        lasted=end.lasted,
        exit_code=end.exit_code,
        exception=end.exception,
        stopped=end.stopped,
        sources={"recorder": SourceAccount(error=left.reason)},
    )


def _batches(segments: list[Path]) -> Iterator[Batch]:
    for path in segments:
        with contextlib.suppress(BlackboxError):  # finalising says what is damaged
            yield from read_segment(path.read_bytes()).frames


def upload_waiting_recordings(
    waiting: Iterable[Spooled], settings: Mapping[str, object], limits: Limits
) -> None:
    """Upload what earlier recordings of this machine left for the same store.

    Args:
        limits: What this process may use for each of them.
    """
    for spooled in waiting:
        try:
            card = upload_recording(spooled, settings=settings, limits=limits)
            if card is not None:
                logger.info("uploaded %s/%s", card.job, card.run_id)
        except (BlackboxError, OSError) as error:
            logger.warning("%s remains in the spool: %s", spooled.folder, error)
