"""The start of a recording in its store: the check that it can be written, and `run.json`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from dask_blackbox.card import RunCard
from dask_blackbox.errors import (
    BlackboxError,
    BlobNotFoundError,
    MalformedRecordingError,
)
from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.manifest import Manifest, decode_manifest, sealed
from dask_blackbox.protocol.messages import Config
from dask_blackbox.reader.documents import links_of
from dask_blackbox.report import placeholder_html
from dask_blackbox.store import open_store
from dask_blackbox.store.base import Store


@dataclass(frozen=True)
class Opening:
    """The result of opening the store.

    Attributes:
        manifest: The run, with the attempt that was free.
        store: The store, or None if there is none of that name.
        error: Why nothing can be written there (now).
        links: URLs by name.
    """

    manifest: Manifest
    store: Store | None
    error: BlackboxError | None = None
    links: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> RunAddress:
        """The address of the recording in the store."""
        return RunAddress.of_run(self.manifest)


def open_recording(config: Config) -> Opening:
    """Open the store and write `run.json`, the first index markers and a placeholder."""
    manifest = config.manifest
    try:
        store = open_store(settings=config.store_settings)
    except BlackboxError as error:
        return Opening(manifest, None, error)
    try:
        store.check()
        manifest = _with_free_attempt(store, manifest)
    except BlackboxError as error:
        return opening_of(config, store, manifest, error)
    opening = opening_of(config, store, manifest)
    try:
        write_beginning(opening)
    except BlackboxError as error:
        return replace(opening, error=error)
    return opening


def opening_of(
    config: Config,
    store: Store,
    manifest: Manifest,
    error: BlackboxError | None = None,
) -> Opening:
    """Return what is known of a store that is there, with new links to a recording in it."""
    address = RunAddress.of_run(manifest)
    expires, viewer = config.link_expires, config.viewer
    links = links_of(store, address, expires=expires, viewer=viewer)
    return Opening(manifest, store, error, links)


def _with_free_attempt(store: Store, manifest: Manifest) -> Manifest:
    """Return the manifest with a free attempt: another recording is never overwritten.

    A recorder that takes over from one that died finds the attempt that is its own.
    """
    runs = RunAddress.of_run(manifest).folder.rsplit("attempt=", 1)[0]
    numbers = [name.removeprefix("attempt=") for name in store.folders(runs)]
    taken = {int(number) for number in numbers if number.isdigit()}
    for attempt in sorted(taken, reverse=True):
        mine = msgspec.structs.replace(manifest, attempt=attempt)
        if _is_ours(store, mine):
            return mine
    if manifest.attempt in taken:
        return msgspec.structs.replace(manifest, attempt=max(taken) + 1)
    return manifest


def _is_ours(store: Store, manifest: Manifest) -> bool:
    try:
        blob = store.get(f"{RunAddress.of_run(manifest).folder}run.json")
        return decode_manifest(blob).recording == manifest.recording
    except (BlobNotFoundError, MalformedRecordingError):
        return False


def manifest_json(manifest: Manifest) -> bytes:
    """Return `run.json`."""
    return sealed(manifest)


def write_beginning(opening: Opening) -> None:
    """Write the blobs that announce the start of this run.

    Raises:
        StoreError: if the store does not accept it.
    """
    store, manifest = opening.store, opening.manifest
    assert store is not None  # noqa: S101 - callers have looked
    card = RunCard(
        job=manifest.job,
        run_id=manifest.run_id,
        attempt=manifest.attempt,
        state="running",
        headline="being recorded",
        completeness={"recorded": True, "kept": "store", "complete": False},
        links=opening.links,
    )
    folder = opening.address.folder
    document = manifest_json(manifest)
    store.put(f"{folder}run.json", document, content_type="application/json")
    page = placeholder_html(card).encode()
    for name in ("report.html", "performance_report.html"):
        store.put(f"{folder}{name}", page, content_type="text/html; charset=utf-8")
    for name in index_names(opening.address, manifest.started, "running"):
        store.put(name, b"")
