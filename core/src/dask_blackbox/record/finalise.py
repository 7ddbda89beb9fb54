"""The end of a recording: tables, verdict, reports, card; and word to the owner."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox import report
from dask_blackbox.analyse import History, findings_in
from dask_blackbox.attach import RunCard, card_of
from dask_blackbox.errors import BlackboxError
from dask_blackbox.guard import guard
from dask_blackbox.layout import index_names
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.opened.earlier import earlier_runs
from dask_blackbox.opened.sketching import leave_sketch
from dask_blackbox.record.opening import Opening, write_beginning
from dask_blackbox.record.orders import Config, Telling
from dask_blackbox.record.outcome import Outcome
from dask_blackbox.record.spooled import forget
from dask_blackbox.run import RunTables
from dask_blackbox.segments import read_segment
from dask_blackbox.tables import frames_of_batches, write_tables

__all__ = ["finalise"]

logger = logging.getLogger("dask_blackbox.record")


def finalise(
    config: Config, opening: Opening, outcome: Outcome, tell: Callable[[Telling], None]
) -> None:
    """Make tables, verdict, reports and card of what the spool holds; store and tell them.

    Args:
        config: Of this recording.
        opening: What came of opening the store.
        outcome: How it ended, and what became of the segments.
        tell: Says something to the owner.
    """
    run, ending = _read_back(opening.manifest, outcome)
    reason = _reason(opening, outcome)
    spooled = {"spool": config.spool}
    history = None
    if reason is None and opening.store is not None:
        history = earlier_runs(opening.store, run.manifest)
    card = _card(
        config, run, opening.links if reason is None else spooled, reason, history
    )
    tell(Telling(what="card", card=msgspec.Raw(msgspec.json.encode(card))))
    if reason is None:
        try:
            _store(config, opening, run, ending, card)
        except BlackboxError as error:
            reason = f"the store failed at the end: {error}"
            card = _card(config, run, spooled, reason, history)
    if reason is not None:
        _keep(Path(config.spool), run, ending, card)
    else:
        forget(Path(config.spool))
    tell(Telling(what="final", card=msgspec.Raw(msgspec.json.encode(card))))


def _read_back(manifest: Manifest, outcome: Outcome) -> tuple[RunTables, Ending]:
    batches: list[Any] = []
    damaged: dict[str, str] = {}
    for path in outcome.segments:
        segment = read_segment(path.read_bytes())
        batches.extend(segment.frames)
        if segment.damage is not None:
            damaged[path.name] = segment.damage
    frames = frames_of_batches(batches)
    end = outcome.end
    ending = Ending(
        state=end.state,
        ended=outcome.ended,
        exit_code=end.exit_code,
        exception=end.exception,
        sources=outcome.sources,
        rows={name: frame.height for name, frame in sorted(frames.items())},
        segments=outcome.uploaded,
        lost_segments=damaged,
        store_behind=outcome.behind,
    )
    return RunTables(manifest, ending, frames, damaged=damaged), ending


def _reason(opening: Opening, outcome: Outcome) -> str | None:
    """Return why the recording is not in the store, or None if it is."""
    if opening.store is None:
        return str(opening.error)
    waiting = [p for p in outcome.segments if p.name not in outcome.uploaded]
    if waiting:
        why = outcome.store_error or opening.error or "the store does not answer"
        return f"{why}; {len(waiting)} segment(s) wait in {waiting[0].parent}"
    if opening.error is not None and not getattr(opening.error, "transient", False):
        return str(opening.error)
    return None


def _card(
    config: Config,
    run: RunTables,
    links: dict[str, str],
    reason: str | None,
    history: History | None,
) -> RunCard:
    findings = findings_in(
        run,
        muted=config.muted,
        thresholds=config.thresholds,
        history=history,
        broken=(config.rules_problem,) if config.rules_problem else (),
    )
    return card_of(
        run,
        findings,
        links=links,
        recorded=reason is None,
        reason=reason,
        history=history,
    )


def _store(
    config: Config, opening: Opening, run: RunTables, ending: Ending, card: RunCard
) -> None:
    store, folder = opening.store, opening.address.folder
    assert store is not None  # noqa: S101 - there is no reason without one
    if opening.error is not None:  # it works by now
        write_beginning(opening)
    for path in sorted(Path(config.spool).glob("capsules/*.capsule")):  # that came late
        store.put(f"{folder}capsules/{path.name}", path.read_bytes())
    for name, (blob, kind) in _pages(run, card).items():
        store.put(f"{folder}{name}", blob, content_type=kind)
    for name, blob in write_tables(run).items():
        store.put(f"{folder}tables/{name}.parquet", blob)
    told = msgspec.json.format(msgspec.json.encode(ending), indent=2)
    store.put(f"{folder}complete.json", told, content_type="application/json")
    for name in index_names(opening.address, run.manifest.started, card.state):
        store.put(name, b"")
    with guard("the sketch for later runs"):
        leave_sketch(store, run, card)


def _pages(run: RunTables, card: RunCard) -> dict[str, tuple[bytes, str]]:
    pages = {"card.json": (card.to_json(), "application/json")}
    for name, renderer in (
        ("report.html", "html"),
        ("performance_report.html", "performance_html"),
    ):
        begun = time.perf_counter()
        try:
            page = getattr(report, renderer)(run, card)
        except Exception as error:  # the verdict must get out all the same
            logger.exception("could not render %s", name)
            page = f"<!doctype html><p>{name} failed: {type(error).__name__}"
        logger.info("%s: %.2f s", name, time.perf_counter() - begun)
        pages[name] = (page.encode("utf-8", "replace"), "text/html; charset=utf-8")
    return pages


def _keep(folder: Path, run: RunTables, ending: Ending, card: RunCard) -> None:
    """Leave in the spool what the store would have, so that it can follow later."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "complete.json").write_bytes(msgspec.json.encode(ending))
        for name, (blob, _) in _pages(run, card).items():
            (folder / name).write_bytes(blob)
    except OSError as error:
        logger.warning("could not keep the recording in %s: %s", folder, error)
