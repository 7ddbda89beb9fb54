"""A store in a folder: blobs are files, and a reader never sees half of one.

Only regular files are read, and no link inside the folder is followed: who may write to a
folder must not choose which other files its readers open, or its writers replace.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from dask_blackbox.errors import (
    BlobNotFoundError,
    ConfigurationError,
    OverLimitError,
    StoreDeniedError,
    StoreError,
    StoreNotFoundError,
)
from dask_blackbox.store.base import (
    checked_name,
    checked_prefix,
    is_name,
    most_bytes,
    over_limit,
)

# No blob's name holds a `+`, so what is being written is never listed.
_PART = "+part"

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_PRIVATE, _SHARED = (0o700, 0o600), (0o2770, 0o660)
"""Modes of folders and of files."""

_INSIDE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for somebody who writes to it.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalStore:
    """Named blobs as the files of a folder, which is made when first needed.

    Args:
        shared: Whether its group reads and writes it: `True`, the group that the folder
            has, or the name of the group that it shall have.
    """

    def __init__(self, folder: Path, *, shared: bool | str = False) -> None:
        self.folder = folder
        self.url = str(folder)
        self.shared = bool(shared)
        self._group = _group_id(shared) if isinstance(shared, str) else -1
        self._folder_mode, self._file_mode = _SHARED if shared else _PRIVATE

    def put(self, name: str, blob: bytes, *, content_type: str | None = None) -> None:
        checked_name(name)
        with self._reported(f"write {name!r}"):
            self._make_store()
            with self._parent(name, make=True) as (folder, last):
                part = f"{last}.{uuid.uuid4().hex[:8]}{_PART}"
                try:
                    self._write(folder, part, blob)
                    os.replace(part, last, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with suppress(FileNotFoundError):
                        os.unlink(part, dir_fd=folder)
                    raise
                with suppress(OSError):  # where the file system supports it
                    os.fsync(folder)

    def get(self, name: str) -> bytes:
        checked_name(name)
        with self._reported(f"read {name!r}"):
            try:
                with self._parent(name) as (folder, last):
                    file = os.open(last, _READ, dir_fd=folder)
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise BlobNotFoundError(name, self.url) from None
            except OSError as error:
                if error.errno in {errno.ELOOP, errno.ENXIO, errno.ENODEV}:
                    raise _irregular(name, "a link or a device") from None
                raise
            try:
                return _whole(file, name, self.url)
            finally:
                os.close(file)

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
        checked_name(name)
        with (
            self._reported(f"delete {name!r}"),
            suppress(FileNotFoundError, NotADirectoryError),
            self._parent(name) as (folder, last),
        ):
            os.unlink(last, dir_fd=folder)

    def link(self, name: str, *, expires: float) -> str | None:
        return (self.folder / checked_name(name)).as_uri()

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

    def _make_store(self) -> None:
        """Make the store's folder; one that was there keeps its permissions."""
        missing = []
        folder = self.folder
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            each.mkdir(mode=_PRIVATE[0], exist_ok=True)
            self._own(os.open(each, os.O_RDONLY), self._folder_mode)

    @contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the open folder that a blob is in, and the last part of its name.

        Raises:
            NotADirectoryError: if a part of it is a link, or no folder.
        """
        *above, last = name.split("/")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in above:
                inside = self._inside(folder, part, make=make)
                os.close(folder)
                folder = inside
            yield folder, last
        finally:
            os.close(folder)

    def _inside(self, folder: int, part: str, *, make: bool) -> int:
        try:
            return os.open(part, _INSIDE, dir_fd=folder)
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):  # another process was faster
            os.mkdir(part, _PRIVATE[0], dir_fd=folder)
            # The umask may have taken some of it.
            self._own(os.open(part, _INSIDE, dir_fd=folder), self._folder_mode)
        return os.open(part, _INSIDE, dir_fd=folder)

    def _write(self, folder: int, name: str, blob: bytes) -> None:
        handle = os.open(name, _WRITE, _PRIVATE[1], dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            self._own(os.dup(handle), self._file_mode)
            file.write(blob)
            file.flush()
            os.fsync(handle)

    def _own(self, handle: int, mode: int) -> None:
        """Give a new file or folder its group and mode, and close it."""
        try:
            if self._group >= 0:
                os.fchown(handle, -1, self._group)
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    def _entries(self, folder: str) -> list[str]:
        """Return what a folder holds in the order of names, folders with a `/`."""
        with self._reported("list"):
            try:
                with (
                    self._parent(f"{folder}/." if folder else ".") as (opened, _),
                    os.scandir(opened) as entries,
                ):
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
        do = ""
        if error.errno in _FULL:
            do = "; free some space or choose a folder on another disk"
        elif error.errno == errno.EFBIG:
            do = "; raise the limit on the size of files of this process (`ulimit -f`)"
        reported = StoreError(f"cannot {doing} in {self.url}: {why}{do}")
        # A limit of this process on the size of files stays as it is.
        reported.transient = error.errno != errno.EFBIG
        return reported


def _whole(file: int, name: str, url: str) -> bytes:
    """Return what an open file holds, if it is a regular one and not too large.

    Raises:
        BlobNotFoundError: if it is a folder.
        OverLimitError: if it is not regular, or too large.
    """
    status = os.fstat(file)
    if stat.S_ISDIR(status.st_mode):
        raise BlobNotFoundError(name, url)
    if not stat.S_ISREG(status.st_mode):
        raise _irregular(name, "no regular file")
    if status.st_size > most_bytes(name):
        raise over_limit(name, status.st_size)
    parts, size = [], 0
    while part := os.read(file, max(1, min(2**24, most_bytes(name) + 1 - size))):
        parts.append(part)
        size += len(part)
        if size > most_bytes(name):  # it has grown meanwhile
            raise over_limit(name)
    return b"".join(parts)


def _irregular(name: str, what: str) -> OverLimitError:
    return OverLimitError(name, f"it is {what}; only regular files are read")


def _group_id(name: str) -> int:
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise ConfigurationError(
            f"blackbox.store.shared is {name!r}, and there is no such group; give the "
            "name of a group, or true for the group of the store's folder"
        ) from None
