"""The end of a recording: tables, verdict, reports, card, and the report to the driver."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox import report
from dask_blackbox.analyse import History, findings_in
from dask_blackbox.analyse.complete_tables import completed
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.card_data import Overview, RunState, TraceSpan
from dask_blackbox.errors import BlackboxError
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import command, counted, short
from dask_blackbox.guard import guard
from dask_blackbox.layout import index_names
from dask_blackbox.manifest import Completeness, Ending, Kept, Manifest, sealed
from dask_blackbox.protocol.messages import Config, Limits, Reply
from dask_blackbox.reader.earlier_runs import earlier_runs, write_sketch
from dask_blackbox.recorder.news import news_of
from dask_blackbox.recorder.opening import (
    Opening,
    manifest_json,
    opening_of,
    write_beginning,
)
from dask_blackbox.recorder.run_ending import Outcome
from dask_blackbox.recorder.spool import checksum, size_of
from dask_blackbox.recorder.spool_folder import forget, note_beginning, write_last
from dask_blackbox.recorder.uploading import RetryingPut, heartbeat
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import Allowance, Batch, read_segment
from dask_blackbox.tables import frames_of_batches, write_tables

logger = logging.getLogger("dask_blackbox.recorder")

_TIMEOUT = 20.0
_SPACE_FOR_PAGES = 10
_AT_ONCE = 6  # requests
_LONGEST = 120


def settings_for(manifest: Manifest, *, spool: str = "", **more: Any) -> Config:
    """Return a configuration by the current settings, for a recording whose recorder is gone.

    Args:
        spool: Folder of the recording on the local disk.
        more: Further fields of the configuration.
    """
    # They import Dask, which a recorder at the end of its own run can do without.
    from dask_blackbox.analyse.rule_settings import asking_or_default
    from dask_blackbox.protocol.destinations import openlineage_set, otlp_set
    from dask_blackbox.protocol.notify_settings import notify_set
    from dask_blackbox.settings import setting, setting_bytes, setting_seconds

    asked = asking_or_default()
    return Config(
        limits=Limits(
            cpu=setting_seconds("recorder.finalise-cpu"),
            memory=setting_bytes("recorder.finalise-memory"),
            time=setting_seconds("recorder.finalise-time"),
        ),
        manifest=manifest,
        spool=spool,
        link_expires=setting_seconds("store.link-expires"),
        viewer=setting("viewer"),
        performance_report=setting_seconds("performance-report"),
        muted=asked.muted,
        thresholds=dict(asked.thresholds),
        notify=notify_set(),
        otlp=otlp_set(),
        openlineage=openlineage_set(),
        **more,
    )


def finalise(
    config: Config,
    opening: Opening,
    outcome: Outcome,
    send: Callable[[Reply], None],
    undiagnosed: str | None = None,
) -> None:
    """Make tables, verdict, reports and card from the spool; store them and report them.

    Args:
        opening: The result of opening the store.
        outcome: How it ended, and what became of the segments.
        send: Says something to the parent.
        undiagnosed: Why no verdict and no pages are made; None: they are.
    """
    reason = _reason(config, opening, outcome)
    stored = dict(_only_in_store(opening, outcome)) if reason is None else {}
    run, ending = _read_back(opening, outcome, stored)
    links = spooled = {"spool": config.spool}
    history = None
    if reason is None and opening.store is not None:
        if undiagnosed is None:
            history = earlier_runs(opening.store, run.manifest)
        # Signed again: the credentials of the beginning may have expired since.
        links = opening_of(config, opening.store, opening.manifest).links

    def card_with(
        links: dict[str, str], reason: str | None, *, spooled: bool = True
    ) -> RunCard:
        if undiagnosed is not None:
            kept: Kept = "store" if reason is None else "spool" if spooled else "none"
            return _undiagnosed_card(
                run, ending, undiagnosed, links=links, reason=reason, kept=kept
            )
        return _card(config, run, links, reason, history, spooled=spooled)

    card = card_with(links, reason)
    send(Reply(what="card", card=msgspec.Raw(msgspec.json.encode(_so_far(card)))))
    if reason is None:
        try:
            _restore_deleted(opening, outcome)
            _store(config, opening, run, ending, card)
        except (BlackboxError, OSError) as error:
            reason = f"the store failed at the end: {error}; {_waiting(config)}"
            card = card_with(spooled, reason)
    if reason is not None:
        if (lost := _keep(config, run, ending, card)) is not None:
            if reason.endswith(advice := _advice(config)):
                reason = reason.removesuffix(advice).rpartition("; ")[0]
            reason = f"{reason}; nothing could be kept in {config.spool} ({lost})"
            card = card_with({}, reason, spooled=False)
    else:
        forget(Path(config.spool))
    overview = None if undiagnosed else _overview(config, run, card)
    raw = msgspec.Raw(msgspec.json.encode(card))
    news = news_of(card, history) if config.notify.urls else ""
    trace = _trace(config, run, card)
    send(Reply(what="final", card=raw, overview=overview, news=news, trace=trace))


def _overview(config: Config, run: RunTables, card: RunCard) -> Overview | None:
    found: Overview | None = None
    if config.overview:
        with guard("the overview of the run"):
            found = report.overview_of(run, card)
    return found


def _trace(config: Config, run: RunTables, card: RunCard) -> tuple[TraceSpan, ...]:
    found: tuple[TraceSpan, ...] = ()
    if config.otlp is not None:
        # Its words need the libraries of the pages.
        from dask_blackbox.report.trace_spans import trace_spans

        with guard("the trace of the run"):
            found = trace_spans(run, card)
    return found


def _so_far(card: RunCard) -> RunCard:
    """Return the report before the store has everything, which may be the parent's only one."""
    completeness = card.completeness
    if not completeness["recorded"]:
        return card
    missing: dict[str, list[str]] = dict(completeness.get("missing", {}))
    missing["store"] = [
        *missing.get("store", []),
        "had not received all data when this card was made; the recorder continues",
    ]
    unsure: Completeness = {**completeness, "complete": False, "missing": missing}
    return msgspec.structs.replace(card, completeness=unsure)


def _only_in_store(
    opening: Opening, outcome: Outcome
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield segments that are not here (any more), by name: the store has them."""
    store, folder = opening.store, f"{opening.address.folder}segments/"
    assert store is not None  # noqa: S101 - else there is a reason
    names = set(outcome.uploaded)
    with guard("the segments that only the store has"):
        names |= {name.removeprefix(folder) for name in store.names(folder)}
    for name in sorted(names - set(outcome.segments)):
        yield name, partial(store.get, f"{folder}{name}")


def _read_back(
    opening: Opening, outcome: Outcome, stored: Mapping[str, Callable[[], bytes]]
) -> tuple[RunTables, Ending]:
    batches: list[Batch] = []
    damaged: dict[str, str] = {}
    allowance = Allowance()
    uploaded = dict(outcome.uploaded)
    for name, read in sorted({**stored, **outcome.segments}.items()):
        try:
            blob = read()
            segment = read_segment(blob, allowance)
        except (BlackboxError, OSError) as error:
            damaged[name] = str(error)
            continue
        if name in stored:
            uploaded.setdefault(name, checksum(blob))
        batches.extend(segment.frames)
        if segment.damage is not None:
            damaged[name] = segment.damage
    frames = frames_of_batches(batches)
    end = outcome.end
    ending = Ending(
        state=end.state,
        ended=outcome.ended,
        lasted=end.lasted,
        exit_code=end.exit_code,
        exception=end.exception,
        stopped=end.stopped,
        sources=outcome.sources,
        segments=dict(sorted(uploaded.items())),
        lost_segments=damaged,
        store_behind=outcome.behind,
    )
    run = RunTables(
        opening.manifest,
        ending,
        frames,
        url=opening.links.get("recording"),  # commands name the run by it
        damaged=damaged,
    )
    with guard("rows of tasks from several reports"):
        run = completed(run)
    rows = {name: getattr(run, name).height for name in sorted(frames)}
    ending = msgspec.structs.replace(ending, rows=rows)
    run.ending = ending
    return run, ending


def _reason(config: Config, opening: Opening, outcome: Outcome) -> str | None:
    """Return why the recording is not in the store, or None if it is."""
    if opening.store is None:
        return str(opening.error)
    waiting = [name for name in outcome.segments if name not in outcome.uploaded]
    if opening.error is None and not waiting:
        return None
    why = outcome.store_error or opening.error or "the store does not answer"
    number = counted(len(waiting), "segment waits", "segments wait")
    return f"{why}; {_waiting(config, number)}"


def _waiting(config: Config, what: str = "it waits") -> str:
    return f"{what} in {config.spool}{_advice(config)}"


def _advice(config: Config) -> str:
    again = command("sync", "--spool", str(Path(config.spool).parent))
    return f"; `{again}` uploads the recording"


def _undiagnosed_card(
    run: RunTables,
    ending: Ending,
    undiagnosed: str,
    *,
    links: dict[str, str],
    reason: str | None,
    kept: Kept,
) -> RunCard:
    """Return a card of what is known without any rule."""
    manifest, state = run.manifest, msgspec.convert(ending.state, RunState)
    title = f"The run could not be diagnosed, because {undiagnosed}"
    completeness: Completeness = {
        "recorded": kept == "store",
        "kept": kept,
        "complete": False,
        "missing": {"card": [f"could not be diagnosed, because {undiagnosed}"]},
    }
    if reason is not None:
        completeness["reason"] = reason
    verdict = Finding(
        rule="unknown",
        title=short(title, _LONGEST),
        cause=f"{title}. Its tables can be read all the same.",
        severity="failure",
        confidence="low",
        remedy="Look for what is extraordinary in its messages, in its numbers of rows, "
        "and in rules of your own (`blackbox.rules.mute` switches one off).",
    )
    return RunCard(
        job=manifest.job,
        run_id=manifest.run_id,
        attempt=manifest.attempt,
        state=state,
        headline=short(f"{state.capitalize()}; could not be diagnosed", _LONGEST),
        verdict=None if state == "succeeded" else verdict,
        completeness=completeness,
        links=links,
    )


def _card(
    config: Config,
    run: RunTables,
    links: dict[str, str],
    reason: str | None,
    history: History | None,
    *,
    spooled: bool = True,
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
        spooled=spooled and reason is not None,
        reason=reason,
        history=history,
    )


def _restore_deleted(opening: Opening, outcome: Outcome) -> None:
    """Write again what was deleted meanwhile: a folder, a bucket, old objects."""
    store, folder = opening.store, opening.address.folder
    assert store is not None  # noqa: S101 - there is no reason without one
    there = set(store.names(folder))
    put = RetryingPut(store, _TIMEOUT)
    if f"{folder}run.json" not in there:
        logger.warning("%s was deleted from the store", folder)
        write_beginning(opening)
    for name, read in outcome.segments.items():
        if f"{folder}segments/{name}" not in there:
            put(f"{folder}segments/{name}", read())


def _store(
    config: Config, opening: Opening, run: RunTables, ending: Ending, card: RunCard
) -> None:
    store, folder = opening.store, opening.address.folder
    assert store is not None  # noqa: S101 - there is no reason without one
    put = RetryingPut(store, _TIMEOUT)
    for path in sorted(Path(config.spool).glob("bundles/*.bundle")):  # that came late
        put(f"{folder}bundles/{path.name}", path.read_bytes())
    blobs: dict[str, str] = {"run.json": checksum(manifest_json(opening.manifest))}
    with _at_once(put) as putting:
        for name, (blob, kind) in _blobs(config, run, card):
            putting(f"{folder}{name}", blob, kind)
            blobs[name] = checksum(blob)
    beat = heartbeat(ending.ended, len(ending.segments))
    put(f"{folder}heartbeat.json", beat, "application/json")
    blobs["heartbeat.json"] = checksum(beat)
    document = sealed(msgspec.structs.replace(ending, blobs=blobs))
    put(f"{folder}complete.json", document, "application/json")
    with _at_once(put) as putting:
        for name in index_names(opening.address, run.manifest.started, card.state):
            putting(name, b"")
    with guard("the sketch for later runs"):
        write_sketch(store, run, card)


@contextmanager
def _at_once(put: RetryingPut) -> Iterator[Callable[..., object]]:
    """Yield a function that puts blobs in threads; all are stored when the block ends.

    Each waits for a disk or a server, and the next page is made meanwhile.

    Raises:
        StoreError: if the store does not accept one of them.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        puts: list[Future[None]] = []
        yield lambda *blob: puts.append(pool.submit(put, *blob))
        for each in puts:
            each.result()


def _blobs(
    config: Config, run: RunTables, card: RunCard
) -> Iterator[tuple[str, tuple[bytes, str | None]]]:
    for name, blob in write_tables(run).items():
        yield f"tables/{name}.parquet", (blob, None)
    yield from _pages(config, run, card)


def _pages(
    config: Config, run: RunTables, card: RunCard
) -> Iterator[tuple[str, tuple[bytes, str]]]:
    # The copy in the store is sealed: without `complete.json` it vouches for itself.
    yield "card.json", (sealed(card), "application/json")
    if "card" in card.completeness.get("missing", {}):  # it could not be diagnosed
        for name in ("report.html", "performance_report.html"):
            page = f"<!doctype html><p>{escape(card.headline)}"
            yield name, (page.encode(), "text/html; charset=utf-8")
        return
    on_demand = card.numbers.get("duration", 0.0) < config.performance_report
    for name, renderer in (
        ("report.html", "html"),
        (
            "performance_report.html",
            "on_demand_html" if on_demand else "performance_html",
        ),
    ):
        begun = time.perf_counter()
        try:
            page = getattr(report, renderer)(run, card)
        except Exception as error:  # the verdict must get out all the same
            logger.exception("could not render %s", name)
            page = f"<!doctype html><p>{name} failed: {type(error).__name__}"
        logger.info("%s: %.2f s", name, time.perf_counter() - begun)
        yield name, (page.encode("utf-8", "replace"), "text/html; charset=utf-8")


def _keep(config: Config, run: RunTables, ending: Ending, card: RunCard) -> str | None:
    """Write the blobs into the spool, to be uploaded later; return why nothing is kept."""
    folder = Path(config.spool)
    if not (folder / "run.json").is_file():  # it was deleted, or the disk was full
        note_beginning(folder, config.manifest, config.store_settings)
    try:
        write_last(folder / "complete.json", sealed(ending))
        for name, (blob, _) in _pages(config, run, card):
            # Pages can be made again from the rows, so they never use the last space.
            free = shutil.disk_usage(folder).free >= _SPACE_FOR_PAGES * len(blob)
            if free and size_of(folder.parent) + len(blob) <= config.spool_limit:
                (folder / name).write_bytes(blob)
    except OSError as error:
        logger.warning("could not keep the recording in %s: %s", folder, error)
        if not (folder / "run.json").is_file() or not size_of(folder / "segments"):
            return error.strerror or str(error)
    return None
