"""What a store is: named blobs under a prefix, each put whole, none ever half-written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

__all__ = ["Store"]


class Store(Protocol):
    """Named blobs.

    Names are relative, `/`-separated, of the characters `A-Z a-z 0-9 . _ - = ~`; no part
    is empty, `.` or `..`.  Anything else is refused with `ConfigurationError`, so that no
    name climbs out of the store's prefix.

    Every method raises `StoreError`s only, and each within the store's timeouts.
    """

    url: str
    """How to name this store again; never holds credentials."""

    def put(self, name: str, blob: bytes, *, content_type: str = ...) -> None:
        """Write a blob whole, replacing one of the same name."""

    def get(self, name: str) -> bytes:
        """Return a blob.

        Raises:
            BlobNotFoundError: if there is none of that name.
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
