"""`Run`: a recording, read from its store."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from dask_blackbox.analyse.task_bundles import bundles_of
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.card_data import RunState
from dask_blackbox.errors import (
    BlobNotFoundError,
    FutureFormatError,
    MalformedRecordingError,
    RecordingError,
    RunNotFoundError,
    StoreError,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import command
from dask_blackbox.guard import guard
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Completeness, Ending, Manifest
from dask_blackbox.patterns import bounded
from dask_blackbox.reader.documents import (
    GONE,
    WRONG,
    clock_ahead,
    last_heartbeat,
    links_of,
    read_ending,
    read_manifest,
    url_of,
)
from dask_blackbox.reader.recording_tables import Frames, checksum_fits, each_blob
from dask_blackbox.reader.run_index import marked_runs
from dask_blackbox.reader.unreadable import reading
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import read_segment
from dask_blackbox.store import Store, open_store

if TYPE_CHECKING:  # listing runs asks no rules
    from dask_blackbox.analyse.earlier_runs import History

logger = logging.getLogger("dask_blackbox")

_PAGES = bounded(
    r"/(?:run|card|complete|heartbeat)\.json$|/(?:performance_)?report\.html$"
)
_FOLDER = bounded(r"^(.*?)/?(runs/job=[^/]+/run=[^/]+/attempt=\d+)/?$")
_DOCUMENTS = ("run.json", "complete.json")


class Run(RunTables):
    """The facts of one run, read from a store, whatever the state of the recording is.

    Open one with `Run.open`.  Tables are polars frames; for a run that has ended, each
    table is fetched when it is first used.
    """

    store: Store
    folder: str

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        settings: Mapping[str, object] | None = None,
    ) -> Run:
        """Open a recording.

        Args:
            url: Its folder, in a bucket or on a disk, or a `card.json` or `report.html`
                in it.
            settings: Take precedence over those under `blackbox.store`.

        Raises:
            ConfigurationError: if this is no URL of a store.
            StoreError: if the store cannot be read.
            RecordingError: if there is no recording, or one that cannot be read.
        """
        text = _PAGES.sub("", os.fspath(url).rstrip("/"))
        found = _FOLDER.match(text)
        if found is not None and found[1]:
            store = open_store(found[1], settings=settings)
            return cls.at(store, f"{found[2]}/")
        return cls.at(open_store(text, settings=settings), "")

    @classmethod
    def latest(
        cls,
        job: str | None = None,
        store: str | os.PathLike[str] | None = None,
        *,
        settings: Mapping[str, object] | None = None,
    ) -> Run:
        """Open the newest run of a job, or of a store, that can be read.

        Args:
            job: Its name.
            store: Its URL.  None: the setting `blackbox.store.url`.
            settings: Take precedence over those under `blackbox.store`.

        Raises:
            ConfigurationError: if this is no URL of a store.
            RunNotFoundError: if there is none.
            StoreError: if the store cannot be read.
            RecordingError: if none of them can be read.
        """
        return cls.newest(open_store(store, settings=settings), job, job or "latest")

    @classmethod
    def newest(cls, store: Store, job: str | None, name: str) -> Run:
        """Open the newest run that can be read; the log names newer ones that cannot.

        Args:
            job: Of this job only.
            name: What somebody called it.

        Raises:
            StoreError: if the store cannot be read.
            RecordingError: if there is none, or none of them can be read.
        """
        deleted, first = False, None
        for entry in marked_runs(store, job=job):
            # A marker may outlive its recording, which a person or a lifecycle rule deleted.
            try:
                with reading(entry.address):
                    return cls.at(store, entry.address)
            except RunNotFoundError:
                deleted = True
            except (FutureFormatError, MalformedRecordingError) as error:
                logger.warning(
                    "%s: %s; the run before it is read instead",
                    entry.address.name,
                    error,
                )
                first = first or error
        if first is not None:
            raise first
        raise RunNotFoundError(name, store.url, deleted=deleted)

    @classmethod
    def at(cls, store: Store, where: RunAddress | str) -> Run:
        """Open the recording at an address in a store, or in a folder of the store.

        Raises:
            StoreError: if the store cannot be read.
            RecordingError: if there is no recording, or one that cannot be read.
        """
        folder = where.folder if isinstance(where, RunAddress) else where
        damaged: dict[str, str] = {}
        manifest = _manifest(store, folder, damaged)
        ending = read_ending(store, folder, damaged)
        ended = ending is not None and any(store.names(f"{folder}tables/", limit=1))
        frames = Frames(
            store,
            folder,
            manifest.recording,
            ending=ending,
            parquet=ended,
            damaged=damaged,
        )
        run = cls(
            manifest,
            ending,
            frames,
            url=url_of(store, folder),
            damaged=damaged,
            last_heartbeat=None if ending else last_heartbeat(store, folder),
        )
        # The very object that `Frames` notes in: an empty one is replaced by another.
        run.damaged = damaged
        run.store, run.folder = store, folder
        if ending is None:
            run.clock_ahead = clock_ahead(store, run.last_heartbeat or manifest.started)
        if not ended:
            _ = run.events  # so that `damaged` is known from the beginning
        if ending is None:
            run._end_by_other_evidence()
        return run

    def _end_by_other_evidence(self) -> None:
        from dask_blackbox.reader.damaged_documents import evidence_of_end

        reported = evidence_of_end(self, self.store, self.folder, self.damaged)
        if reported is not None:
            self.ending, self.ending_whole = reported

    @property
    def ending_is_stored(self) -> bool:
        """Whether its end was read from a `complete.json` that is whole."""
        return self.ending is not None and "complete.json" not in self.damaged

    @property
    def address(self) -> RunAddress:
        """The address of this recording in its store."""
        return RunAddress.of_run(self.manifest)

    @property
    def state(self) -> RunState:
        """How it ended; `lost` if no process reported the end and none is left to do so."""
        from dask_blackbox.analyse.run_state import state_of

        return state_of(self)

    @cached_property
    def _stored_tasks(self) -> pl.DataFrame | None:
        """The table of tasks as it was completed before it was written; None if it is not stored."""
        frames = self._frames
        return frames.stored("tasks") if isinstance(frames, Frames) else None

    @cached_property
    def _completed(self) -> RunTables:
        from dask_blackbox.analyse.complete_tables import completed

        recorded = RunTables(
            self.manifest, self.ending, self._frames, last_heartbeat=self.last_heartbeat
        )
        runs = [recorded]
        with guard("rows of tasks from several reports"):
            runs.append(completed(recorded))
        return runs[-1]

    @property
    def tasks(self) -> pl.DataFrame:
        """One row per execution of a task that ended, also with its worker."""
        stored = self._stored_tasks
        return self._completed.tasks if stored is None else stored

    @property
    def errors(self) -> pl.DataFrame:
        """One row per exception of a task, retried attempts included."""
        if self._stored_tasks is None:
            return self._completed.errors
        return super().errors

    @cached_property
    def workers(self) -> pl.DataFrame:
        """One row per worker process: when it joined, and when and how it left."""
        frames = self._frames
        stored = frames.stored("workers") if isinstance(frames, Frames) else None
        return super().workers if stored is None else stored

    def __repr__(self) -> str:
        reported = self.manifest
        name = f"{reported.job}/{reported.run_id}/{reported.attempt}"
        return f"<Run {name} {self.state}: {self.url}>"

    def _repr_html_(self) -> str:
        return self.stored_card().to_html()

    def _repr_markdown_(self) -> str:
        return self.stored_card().to_markdown()

    def stored_card(self) -> RunCard:
        """Return the card that the recorder stored; without one, `card()`, which is slower."""
        from dask_blackbox.reader.damaged_documents import read_card

        return read_card(self.store, self.folder, {}) or self.card()

    def findings(self) -> tuple[Finding, ...]:
        """Return everything that the rules find in this run, most severe first."""
        return self._found(None)

    def card(self) -> RunCard:
        """Return the card of this run, built from its recording."""
        # A run that continues is looked at again and again, and is compared with none.
        history = None if self.state == "running" else self.history()
        found = self._found(history)
        card = card_of(
            self, found, links=self.links(), history=history, history_of=self.history
        )
        if card.state == "lost" and self.ending_whole:
            self._write_sketch(card)
        return card

    def _found(self, history: History | None) -> tuple[Finding, ...]:
        from dask_blackbox.analyse import findings_in
        from dask_blackbox.analyse.rule_settings import asking_or_default

        asked = asking_or_default()
        return findings_in(
            self, muted=asked.muted, thresholds=asked.thresholds, history=history
        )

    def history(self) -> History:
        """Return the history of the job before this run; takes 3 s at most."""
        from dask_blackbox.reader.earlier_runs import earlier_runs

        return earlier_runs(self.store, self.manifest)

    def _write_sketch(self, card: RunCard) -> None:
        """Write the sketch for later runs that the lost recorder could not write."""
        from dask_blackbox.reader.earlier_runs import sketches_of, write_sketch

        try:
            if not sketches_of(self.store, self.address, self.manifest.started):
                write_sketch(self.store, self, card)
        except StoreError:
            return  # a reader without write access writes nothing

    def verify(self) -> dict[str, str]:
        """Read every blob of this recording and compare its checksum.

        Returns:
            What is wrong with them, by name; cards made from now on show it, too.

        Raises:
            StoreError: if the store cannot be read.
        """
        found = {n: w for n, w in self.damaged.items() if n in _DOCUMENTS}
        found |= _damage_in(
            self.store, self.folder, self.ending, _bundle_checksums(self)
        )
        for name, why in found.items():
            self.damaged.setdefault(name.removeprefix("segments/"), why)
        return found

    @property
    def completeness(self) -> Completeness:
        """What the recording lacks: `recorded`, `complete`, and what is `missing`."""
        from dask_blackbox.analyse.completeness import completeness_of

        return completeness_of(self)

    def links(self) -> dict[str, str]:
        """Return where the recording and its pages are; links that expire are new."""
        if self.ending is None:
            return {"recording": self.url or ""}  # the pages were not written
        from dask_blackbox.settings import setting, setting_seconds

        return links_of(
            self.store,
            self.address,
            expires=setting_seconds("store.link-expires"),
            viewer=setting("viewer"),
            folder=self.folder,
        )


def _manifest(store: Store, folder: str, damaged: dict[str, str]) -> Manifest:
    """Return the manifest of a recording; a `run.json` that cannot be read is noted as damaged.

    Raises:
        StoreError: if the store cannot be read.
        RecordingError: if there is no recording, or one of which too little is left.
    """
    from dask_blackbox.reader.damaged_documents import manifest_by_other_evidence

    try:
        return read_manifest(store, folder)
    except BlobNotFoundError:
        error: RecordingError = _not_there(store, folder)
        why = GONE
    except MalformedRecordingError as malformed:
        error, why = malformed, str(malformed)
    # A folder without anything is no recording, however often the index names it.
    known = manifest_by_other_evidence(store, folder) if folder else None
    if known is None or isinstance(error, RunNotFoundError):
        raise error
    damaged["run.json"] = why
    return known


def _not_there(store: Store, folder: str) -> RecordingError:
    if folder and any(store.names(folder, limit=1)):
        return MalformedRecordingError(
            f"{folder}run.json is missing, although other files of the recording "
            "exist; download it again, or"
            " open another attempt of the run"
        )
    if folder:
        return RunNotFoundError(folder.removesuffix("/"), store.url)
    if any(store.names("runs/", limit=1)):
        return RecordingError(
            f"{store.url} is a store with several runs; choose one: "
            f"`{command('ls', store=store.url)}` lists them"
        )
    return RecordingError(
        f"{store.url} contains no run.json, so it is not a recording; the folder of a "
        "recording ends in"
        " runs/job=…/run=…/attempt=…/"
    )


_SEGMENTS = "segments/"


def _bundle_checksums(run: RunTables) -> dict[str, str]:
    """Return the SHA-256 of each failed task that was kept with its inputs, by name."""
    return {
        f"bundles/{each.number}.bundle": each.sha256 or "" for each in bundles_of(run)
    }


def _damage_in(
    store: Store,
    folder: str,
    ending: Ending | None,
    bundles: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return what is wrong with the blobs of a recording, by name; empty if nothing is.

    Args:
        folder: Its folder there, ending in `/`.
        ending: What `complete.json` says; without it, only segments can be judged.
        bundles: SHA-256 of other blobs, by name.

    Raises:
        StoreError: if the store cannot be read.
    """
    noted = _noted(ending)
    there = {name.removeprefix(folder) for name in store.names(folder)}
    known = set(noted) | set(bundles)
    damage = dict.fromkeys(sorted(known - there), GONE)
    wanted = sorted(
        name for name in there if name in known or name.startswith(_SEGMENTS)
    )
    blobs = each_blob(store.get, [f"{folder}{name}" for name in wanted])
    for name, (_, blob) in zip(wanted, blobs, strict=True):
        if not isinstance(blob, bytes):
            damage[name] = GONE if blob is None else str(blob)
            continue
        why = _wrong_with(name, blob, noted.get(name))
        if name in bundles:
            same = hashlib.sha256(blob).hexdigest() == bundles[name]
            why = None if same else WRONG
        if why is not None:
            damage[name] = why
    return damage


def _noted(ending: Ending | None) -> dict[str, str]:
    if ending is None:
        return {}
    segments = {f"{_SEGMENTS}{name}": crc for name, crc in ending.segments.items()}
    return segments | ending.blobs


def _wrong_with(name: str, blob: bytes, crc: str | None) -> str | None:
    if name.startswith(_SEGMENTS):
        try:
            damage = read_segment(blob).damage
        except RecordingError as error:
            return str(error)
        if damage is not None:
            return damage
    return None if checksum_fits(blob, crc) else WRONG
