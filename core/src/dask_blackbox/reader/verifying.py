"""Is a recording still what was written?  Every blob of it is read, every checksum compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

from dask_blackbox.analyse.task_bundles import bundles_of
from dask_blackbox.errors import RecordingError
from dask_blackbox.manifest import Ending
from dask_blackbox.reader.documents import GONE, WRONG
from dask_blackbox.reader.reading import checksum_fits, each_blob
from dask_blackbox.run import RunTables
from dask_blackbox.segments import read_segment
from dask_blackbox.store import Store

__all__ = ["bundle_checksums", "damage_in"]

_SEGMENTS = "segments/"


def bundle_checksums(run: RunTables) -> dict[str, str]:
    """Return the SHA-256 of each failed task that was kept with its inputs, by name."""
    return {
        f"capsules/{each.number}.capsule": each.sha256 or "" for each in bundles_of(run)
    }


def damage_in(
    store: Store,
    folder: str,
    ending: Ending | None,
    bundles: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return what is wrong with the blobs of a recording, by name; empty if nothing is.

    Args:
        store: Where it lies.
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
        why = GONE if blob is None else _wrong_with(name, blob, noted.get(name))
        if blob is not None and name in bundles:
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
