"""A store in this process's memory, for tests and for runs that are not stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from threading import Lock

from dask_blackbox.errors import BlobNotFoundError
from dask_blackbox.store.base import (
    checked_name,
    checked_prefix,
    most_bytes,
    over_limit,
)


class MemoryStore:
    """Named blobs that end with the process."""

    url = "memory://"

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self._lock = Lock()

    def put(self, name: str, blob: bytes, *, content_type: str | None = None) -> None:
        with self._lock:
            self.blobs[checked_name(name)] = bytes(blob)

    def get(self, name: str) -> bytes:
        try:
            blob = self.blobs[checked_name(name)]
        except KeyError:
            raise BlobNotFoundError(name, self.url) from None
        if len(blob) > most_bytes(name):
            raise over_limit(name, len(blob))
        return blob

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        checked_prefix(prefix)
        with self._lock:
            found = sorted(n for n in self.blobs if n.startswith(prefix) and n > after)
        return islice(found, limit)

    def folders(self, prefix: str = "") -> Iterator[str]:
        checked_prefix(prefix)
        base = len(prefix.rpartition("/")[0]) + 1 if "/" in prefix else 0
        with self._lock:
            rests = [n[base:] for n in self.blobs if n.startswith(prefix)]
        found = {rest.partition("/")[0] + "/" for rest in rests if "/" in rest}
        return (folder[:-1] for folder in sorted(found))

    def delete(self, name: str) -> None:
        with self._lock:
            self.blobs.pop(checked_name(name), None)

    def link(self, name: str, *, expires: float) -> str | None:
        checked_name(name)
        return None

    def check(self) -> None:
        return
