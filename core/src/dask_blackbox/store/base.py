"""What a store is: named blobs under a prefix, each put whole, none ever half-written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from dask_blackbox.errors import ConfigurationError, OverLimitError
from dask_blackbox.patterns import bounded


class Store(Protocol):
    """Named blobs.

    Names are relative, `/`-separated, of the characters `A-Z a-z 0-9 . _ - = ~`; no part
    is empty, `.` or `..`.  Anything else is refused with `ConfigurationError`, so that no
    name climbs out of the store's prefix.

    Every method raises `StoreError`s only, and each within the store's timeouts; `get`
    raises an `OverLimitError` as well.
    """

    url: str
    """How to name this store again; never holds credentials."""

    def put(self, name: str, blob: bytes, *, content_type: str = ...) -> None:
        """Write a blob whole, replacing one of the same name."""

    def get(self, name: str) -> bytes:
        """Return a blob; no more of one is read than `most_bytes` allows.

        Raises:
            BlobNotFoundError: if there is none of that name.
            OverLimitError: if it is larger than blobs of its kind can be, or no regular
                file.  That concerns this blob alone, and is not a `StoreError`.
        """

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        """Yield names that begin with `prefix` and sort after `after`, in ascending order.

        Listing lazily page by page: stopping early costs nothing more.
        """

    def folders(self, prefix: str = "") -> Iterator[str]:
        """Yield the distinct next parts of names below `prefix` (which ends in `/` or is empty)."""

    def delete(self, name: str) -> None:
        """Remove a blob; none of that name is fine."""

    def link(self, name: str, *, expires: float) -> str | None:
        """Return a URL that a browser can open for `expires` seconds, or None."""

    def check(self) -> None:
        """Prove that this store can be written and read back; leave nothing behind.

        Raises:
            StoreError: with what is wrong and what to do about it.
        """


@runtime_checkable
class KeepsDeleted(Protocol):
    """A store that may keep what was deleted."""

    def kept_of_deleted(self) -> str:
        """Return what it keeps of the blobs that were deleted, in sentences; empty: nothing."""


CHECK = "check-"
"""How the names of blobs begin that prove that a store works; they are deleted at once."""

_PARTS = bounded(r"[A-Za-z0-9._=~-]+(?:/[A-Za-z0-9._=~-]+)*")
_LONGEST_NAME = 800  # of the 1,024 bytes of an S3 key; the rest is the store's prefix
_LONGEST_PART = 240  # of the 255 bytes of a file's name; the rest is for `.part` files

_CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "txt": "text/plain; charset=utf-8",
}


def is_name(name: str) -> bool:
    """Return whether a blob may have this name."""
    return (
        len(name) <= _LONGEST_NAME
        and _PARTS.fullmatch(name) is not None
        and all(
            part not in {".", ".."} and len(part) <= _LONGEST_PART
            for part in name.split("/")
        )
    )


def checked_name(name: str) -> str:
    """Return `name`.

    Raises:
        ConfigurationError: if no blob may have it.
    """
    if not is_name(name):
        raise ConfigurationError(
            f"{name[:200]!r} is not a valid blob name; names consist of parts of "
            "A-Z a-z 0-9 . _ - = ~ with / between them, none of them empty, . or .."
        )
    return name


def checked_prefix(prefix: str) -> str:
    """Return `prefix`, which names of blobs can begin with.

    Raises:
        ConfigurationError: if no name can begin so.
    """
    # Wherever a valid name is cut off, one more letter makes it a valid name again.
    if prefix and not (is_name(prefix) or is_name(prefix + "x")):
        raise ConfigurationError(
            f"{prefix[:200]!r} is not a valid prefix; names consist of parts of "
            "A-Z a-z 0-9 . _ - = ~ with / between them"
        )
    return prefix


def content_type_of(name: str) -> str:
    """Return what a browser should take the blob of this name for."""
    return _CONTENT_TYPES.get(name.rpartition(".")[2], "application/octet-stream")


def with_charset(content_type: str) -> str:
    """Return a content type that says how its text is encoded."""
    if content_type.startswith("text/") and "charset" not in content_type:
        return f"{content_type}; charset=utf-8"
    return content_type


_MIB = 2**20
_MOST_BYTES = {
    "json": 16 * _MIB,
    "html": 128 * _MIB,
    "md": 16 * _MIB,
    "txt": 16 * _MIB,
    "seg": 64 * _MIB,
    "parquet": 512 * _MIB,
}
"""A run of a million tasks has tables of 20 MB, segments of 8 MiB, a page of 11 MB."""

_MOST_OF_SKETCH = _MIB
_MOST_OF_NOTE = 2**16
_MOST_OF_ANY = 2048 * _MIB  # failed tasks with their inputs: their limit is a setting


def most_bytes(name: str) -> int:
    """Return how large a blob of this name can be; a larger one is not read."""
    if name.startswith("sketches/"):
        return _MOST_OF_SKETCH
    if name.startswith("notes/"):
        return _MOST_OF_NOTE
    return _MOST_BYTES.get(name.rpartition(".")[2], _MOST_OF_ANY)


def over_limit(name: str, size: int | None = None) -> OverLimitError:
    """Return the error for a blob that is larger than `most_bytes`.

    Args:
        size: Its bytes, where they are known.
    """
    has = "it is larger than" if size is None else f"it has {_mib(size)}, more than"
    return OverLimitError(
        name, f"{has} the {_mib(most_bytes(name))} that a blob of its kind may have"
    )


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"
