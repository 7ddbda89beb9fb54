"""The bundles of a recording: found, checked, and never unpickled here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dask_blackbox.analyse.task_bundles import bundles_of, lost_bundles
from dask_blackbox.capture.worker.bundle_file import TaskBundle, read_bundle
from dask_blackbox.errors import (
    BlobNotFoundError,
    MalformedRecordingError,
    RecordingError,
)
from dask_blackbox.events import BundleStored
from dask_blackbox.reader.run import Run
from dask_blackbox.store.url import Bucket, place_of


def find_bundle(run: Run, key: str | None = None) -> TaskBundle:
    """Return the bundle of a failed task.

    Args:
        key: Of the task; None: of the one that the verdict is about, if that was kept,
            else of the last one that was.

    Raises:
        RecordingError: if there is none.
        MalformedRecordingError: if it is damaged, or was changed since it was recorded.
    """
    kept = bundles_of(run)
    chosen = _chosen(run, kept, key)
    name = f"bundles/{chosen.number}.bundle"
    try:
        blob = run.store.get(f"{run.folder}{name}")
    except BlobNotFoundError:
        raise RecordingError(
            f"{name} of {chosen.subject!r} is not in {run.url} (any more)"
        ) from None
    if hashlib.sha256(blob).hexdigest() != chosen.sha256:
        raise MalformedRecordingError(
            f"{name} is not the recorded file: its SHA-256 differs; nothing was "
            "unpickled"
        )
    try:
        return read_bundle(blob)
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedRecordingError(f"{name} cannot be read: {error}") from error


def _chosen(run: Run, kept: list[BundleStored], key: str | None) -> BundleStored:
    if not kept:
        raise RecordingError(_why_none(run))
    by_key = {each.subject: each for each in kept}
    if key is None:
        verdict = run.card().verdict
        about = verdict.subject if verdict is not None else None
        alike = [each for each in kept if about and each.prefix == about.prefix]
        return by_key.get((about and about.key) or "") or (alike or kept)[-1]
    if key not in by_key:
        listed = "\n".join(f"  {each}" for each in by_key)
        raise RecordingError(
            f"no task {key!r} was kept with its inputs; kept tasks:\n{listed}"
        )
    return by_key[key]


def _why_none(run: Run) -> str:
    lost = [sentence for _, sentence in lost_bundles(run)]
    if lost:
        return "; ".join(lost)
    return (
        "no task of this run was kept with its inputs; set blackbox.capture.values to "
        "true for the next run. Only tasks that raise are kept, not tasks that kill "
        "their worker"
    )


def is_trusted(url: str, trusted: Iterable[str]) -> bool:
    """Return whether a store is one of those that the user trusts, or lies within one.

    Args:
        trusted: URLs of buckets, of prefixes in buckets, or of folders.

    Raises:
        ConfigurationError: if one of them is no URL of a store.
    """
    place = place_of(url)
    return any(_within(place, place_of(each)) for each in trusted)


def _within(place: Bucket | Path, trusted: Bucket | Path) -> bool:
    if isinstance(place, Bucket) and isinstance(trusted, Bucket):
        # A prefix is empty or ends in `/`: `runs` is not the beginning of `runs-2/`.
        within = replace(place, prefix=trusted.prefix) == trusted
        return within and place.prefix.startswith(trusted.prefix)
    if isinstance(place, Path) and isinstance(trusted, Path):
        real = Path(os.path.realpath(place))
        return real.is_relative_to(os.path.realpath(trusted))
    return False
