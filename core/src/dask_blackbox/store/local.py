"""A store in a folder: blobs are files, and a reader never sees half of one."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from dask_blackbox.errors import (
    BlobNotFoundError,
    StoreDeniedError,
    StoreError,
    StoreNotFoundError,
)
from dask_blackbox.store.base import checked_name, checked_prefix, is_name

# No blob's name holds a `+`, so what is being written is never listed.
_PART = "+part"

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


class LocalStore:
    """Named blobs as the files of a folder, which is made when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = str(folder)

    def put(self, name: str, blob: bytes, *, content_type: str | None = None) -> None:
        path = self._path(name)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{_PART}")
        with self._reported(f"write {name!r}"):
            self._make_folder(path.parent)
            try:
                with open(part, "xb", opener=_private) as file:
                    file.write(blob)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            _sync_folder(path.parent)

    def get(self, name: str) -> bytes:
        path = self._path(name)
        with self._reported(f"read {name!r}"):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise BlobNotFoundError(name, self.url) from None

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        checked_prefix(prefix)
        return islice(self._walk(prefix.rpartition("/")[0], prefix, after), limit)

    def folders(self, prefix: str = "") -> Iterator[str]:
        return self._folders(checked_prefix(prefix))

    def _folders(self, prefix: str) -> Iterator[str]:
        folder, _, start = prefix.rpartition("/")
        for entry in self._entries(folder):
            inner = f"{folder}/{entry}" if folder else entry
            # A folder without blobs is none: object stores know no empty folders.
            if (
                entry.startswith(start)
                and entry.endswith("/")
                and any(True for _ in self._walk(inner[:-1], inner, ""))
            ):
                yield entry[:-1]

    def delete(self, name: str) -> None:
        with self._reported(f"delete {name!r}"), suppress(NotADirectoryError):
            self._path(name).unlink(missing_ok=True)

    def link(self, name: str, *, expires: float) -> str | None:
        return self._path(name).as_uri()

    def check(self) -> None:
        name = f"check-{uuid.uuid4().hex[:12]}"
        blob = uuid.uuid4().bytes
        self.put(name, blob)
        with self._reported("read back what was written"):
            found = self.get(name)
        with suppress(StoreError):
            self.delete(name)
        if found != blob:
            raise StoreError(
                f"{self.url} returns different bytes than were written; "
                "check the file system with its own tools or choose another folder"
            )

    def _make_folder(self, folder: Path) -> None:
        """Make a folder that only its owner may read: recordings hold log lines.

        What was there before keeps its permissions, so that a team may share a store.
        """
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / checked_name(name)

    def _entries(self, folder: str) -> list[str]:
        """Return what a folder holds in the order of names, folders with a `/`."""
        with self._reported("list"):
            try:
                with os.scandir(self.folder / folder) as entries:
                    return sorted(
                        entry.name
                        + ("/" if entry.is_dir(follow_symlinks=False) else "")
                        for entry in entries
                        if is_name(entry.name)
                    )
            except (FileNotFoundError, NotADirectoryError):
                return []

    def _walk(self, folder: str, prefix: str, after: str) -> Iterator[str]:
        for entry in self._entries(folder):
            name = f"{folder}/{entry}" if folder else entry
            if not entry.endswith("/"):
                if name.startswith(prefix) and name > after:
                    yield name
                continue
            overlaps = name.startswith(prefix) or prefix.startswith(name)
            passed = after[: len(name)] > name
            if overlaps and not passed:
                yield from self._walk(name[:-1], prefix, after)

    @contextmanager
    def _reported(self, doing: str) -> Iterator[None]:
        """Translate an error of the file system into one of ours."""
        try:
            yield
        except OSError as error:
            raise self._translated(error, doing) from error

    def _translated(self, error: OSError, doing: str) -> StoreError:
        why = error.strerror or str(error)
        if error.errno in _DENIED:
            return StoreDeniedError(
                f"cannot {doing} in {self.url}: {why}; give this user write "
                "permission or set blackbox.store.url to a folder that it may write"
            )
        if error.errno in {errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG}:
            return StoreNotFoundError(
                f"cannot {doing} in {self.url}: {why}; "
                "set blackbox.store.url to a folder, not a file"
            )
        full = error.errno in _FULL
        reported = StoreError(
            f"cannot {doing} in {self.url}: {why}"
            + ("; free some space or choose a folder on another disk" if full else "")
        )
        reported.transient = True
        return reported


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, if the file system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
