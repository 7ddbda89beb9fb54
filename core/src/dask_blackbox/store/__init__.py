"""Stores: named blobs in a bucket or a folder, whatever they contain."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.store.base import Store
from dask_blackbox.store.local import LocalStore
from dask_blackbox.store.memory import MemoryStore
from dask_blackbox.store.options import StoreOptions, gathered, shared_with
from dask_blackbox.store.url import Bucket, default_folder, place_of

_NEEDED = {
    "s3": ("boto3", "s3"),
    "gs": ("obstore", "gcs"),
    "az": ("obstore", "azure"),
}
"""The library that each kind of bucket needs, and the extra that installs it."""

__all__ = ["MemoryStore", "Store", "StoreChoice", "open_store", "store_settings"]


class StoreChoice(NamedTuple):
    """The store that somebody chose.

    Attributes:
        url: As of `open_store`; None: the configured one.
        settings: Those that differ from `blackbox.store`.
    """

    url: str | None = None
    settings: Mapping[str, object] | None = None

    def open(self) -> Store:
        """Return the store, as `open_store` does."""
        return open_store(self.url, settings=self.settings)

    def all_settings(self) -> dict[str, object]:
        """Return all settings of the store, as `store_settings` does."""
        return store_settings(self.url, settings=self.settings)


def open_store(
    url: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, object] | None = None,
) -> Store:
    """Return the store at `url`; nothing is connected before the first blob.

    Args:
        url: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`,
            `abfs://container@account.dfs.core.windows.net/prefix`, `file:///folder` or
            the path of a folder.  None: the setting `blackbox.store.url`, else the user's
            default folder.
        settings: Goes before what is configured under `blackbox.store`, by the same
            names.

    Raises:
        ConfigurationError: if `url` or a setting cannot work.
    """
    known = gathered(settings)
    place = _place(url, known)
    if isinstance(place, Bucket):
        return _bucket_store(place, StoreOptions.of(known, place.scheme))
    return LocalStore(place, shared=shared_with(known["shared"]))


def _bucket_store(place: Bucket, options: StoreOptions) -> Store:
    library, extra = _NEEDED[place.scheme]
    if find_spec(library) is None:
        raise ConfigurationError(
            f"{place.url} needs {library}: pip install 'dask-blackbox[{extra}]'"
        )
    if place.scheme == "s3":
        from dask_blackbox.store.s3 import S3Store

        return S3Store(place, options)
    from dask_blackbox.store.cloud import CloudStore

    return CloudStore(place, options)


def store_settings(
    url: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return all settings of the store that `open_store` would return.

    They are plain values that another process of the same user can use, whatever its
    configuration and working directory: `open_store(None, settings=…)`.  The dictionary
    holds the secret key if one is configured; it belongs into a pipe, not into a log.

    Raises:
        ConfigurationError: if `url` or a setting cannot work.
    """
    known = gathered(settings)
    place = _place(url, known)
    if isinstance(place, Bucket):
        StoreOptions.of(known, place.scheme)
    return known | {"url": place.url if isinstance(place, Bucket) else str(place)}


def _place(
    url: str | os.PathLike[str] | None, known: Mapping[str, object]
) -> Bucket | Path:
    chosen = known["url"] if url is None else url
    if chosen is None:
        return default_folder()
    if not isinstance(chosen, str | os.PathLike):
        raise ConfigurationError(
            f"blackbox.store.url is {chosen!r}, which is not text; quote it"
        )
    return place_of(chosen)
