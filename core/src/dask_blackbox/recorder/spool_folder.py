"""The spool folder: its place, its files besides segments, and its lock.

`run.json` and `store.json` are written when a recording begins, so that even one whose
recorder was killed can be uploaded later; credentials are not among it.

One process at a time works on a spool.  The lock is the kernel's, because it ends with its
process, however that ends, and because it holds for processes of other containers that share
the folder.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dask_blackbox.decoding import checked
from dask_blackbox.errors import ConfigurationError, MalformedRecordingError
from dask_blackbox.manifest import (
    Ending,
    Manifest,
    decode_ending,
    decode_manifest,
    seal_is_whole,
)
from dask_blackbox.private_files import (
    close_to_others,
    is_own_folder,
    make_private_folder,
    write_private,
)
from dask_blackbox.protocol.messages import End
from dask_blackbox.store.options import CREDENTIALS

logger = logging.getLogger("dask_blackbox.recorder")

_END = "end.json"
_ATTEMPTS = "attempts"
_RESERVE = "reserve"
_RESERVED = 8 * 2**10
"""Bytes that are kept free for what is written last, on a disk that is nearly full."""
_LEAST_FREE = 4 * _RESERVED
_decode_settings = checked(msgspec.json.Decoder(dict[str, object]).decode)


@dataclass(frozen=True)
class Spooled:
    """A recording that waits in the spool.

    Attributes:
        folder: Its folder.
        manifest: Who it is.
        ending: How it ended; None if its recorder died.
        settings: How to reach its store, without credentials.
        segments: Its segments, oldest first.
        left: How it ended by the driver, whose recorders had all died; None: not known.
        attempts: How many processes have begun to finish it, and were not done.
    """

    folder: Path
    manifest: Manifest
    ending: Ending | None
    settings: dict[str, object]
    segments: list[Path]
    left: Left | None = None
    attempts: int = 0


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """What a driver leaves in the spool when no recorder is there any more.

    Attributes:
        end: How the run ended.
        reason: What became of the recorders.
        at: Epoch seconds.
    """

    end: End
    reason: str
    at: float


_decode_left = checked(msgspec.json.Decoder(Left).decode)


@dataclass(frozen=True)
class Waiting:
    """The recordings in a spool.

    Attributes:
        ready: Recordings that no process works on any more, oldest first.
        busy: Folders that a process works on: their runs continue, or they are uploaded.
        broken: Folders that are no recordings, with why.
        problem: Why the spool cannot be read; None if it can, or is not there.
    """

    ready: tuple[Spooled, ...] = ()
    busy: tuple[Path, ...] = ()
    broken: tuple[tuple[Path, str], ...] = ()
    problem: str | None = None


def note_beginning(
    folder: Path, manifest: Manifest, settings: Mapping[str, object]
) -> None:
    """Write what identifies a recording and its store into its spool folder."""
    plain = {k: v for k, v in settings.items() if k not in CREDENTIALS}
    try:
        make_private_folder(folder)
        # `run.json` last: with it, the folder is a recording.
        _write(folder / "store.json", msgspec.json.encode(plain))
        _write(folder / "run.json", msgspec.json.encode(manifest))
        reserve, free = folder / _RESERVE, shutil.disk_usage(folder).free
        if not reserve.is_file():
            # Random, as a file system may compress it; empty where there is no space.
            _write(reserve, os.urandom(_RESERVED) if free >= _LEAST_FREE else b"")
    except OSError as error:
        logger.warning("the spool cannot be written: %s", error)


def had_no_space(folder: Path) -> bool:
    """Return whether what is written last found no space, if it is not there.

    A recorder of an earlier version reserved none, which says nothing.
    """
    reserve = folder / _RESERVE
    return reserve.is_file() and not reserve.stat().st_size


def write_last(path: Path, blob: bytes) -> None:
    """Write how a run ended into its folder; for this, some space was reserved.

    Raises:
        OSError: if there is none all the same.
    """
    reserve = path.parent / _RESERVE
    if reserve.is_file():
        os.truncate(reserve, 0)
    _write(path, blob)


def _write(path: Path, blob: bytes) -> None:
    """Write a file as a whole, or none; one that another recorder has written stays.

    Raises:
        OSError: if that is not possible.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == blob:
            return
    try:
        write_private(path, blob)
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def note_end(folder: Path, end: End, reason: str) -> None:
    """Write how a run ended whose recorders have all died.

    Args:
        folder: Of the recording in the spool.
        end: How the run ended, without secrets.
        reason: What became of the recorders.
    """
    left = Left(end=end, reason=reason, at=time.time())
    try:
        write_last(folder / _END, msgspec.json.encode(left))
    except OSError as error:
        logger.warning("the spool cannot be written: %s", error)


def begin_attempt(folder: Path) -> int:
    """Note that a process begins to finish a recording; return how many have by now.

    One that ends before it is done says nothing: its attempt stays counted.
    """
    number = attempts_at(folder) + 1
    with contextlib.suppress(OSError):
        (folder / _ATTEMPTS).write_text(str(number))
    return number


def end_attempt(folder: Path) -> None:
    """Note that a process that finishes a recording has ended as it should."""
    number = attempts_at(folder) - 1
    with contextlib.suppress(OSError):
        if number > 0:
            (folder / _ATTEMPTS).write_text(str(number))
        else:
            (folder / _ATTEMPTS).unlink(missing_ok=True)


def attempts_at(folder: Path) -> int:
    """Return how many processes have begun to finish a recording and were not done."""
    try:
        return int((folder / _ATTEMPTS).read_text())
    except (OSError, ValueError):
        return 0


def forget(folder: Path) -> None:
    """Remove a recording that is safe in its store."""
    shutil.rmtree(folder, ignore_errors=True)


def spooled_in(root: Path) -> Waiting:
    """Return what lies under `root`."""
    try:
        folders = sorted(p for p in root.iterdir() if p.is_dir())
    except FileNotFoundError:
        return Waiting()
    except OSError as error:
        return Waiting(problem=f"{root} cannot be read: {error.strerror}")
    ready: list[Spooled] = []
    busy: list[Path] = []
    broken: list[tuple[Path, str]] = []
    for folder in folders:
        if claimed(folder):
            busy.append(folder)
            continue
        try:
            ready.append(_read(folder))
        except FileNotFoundError as error:
            # One that was uploaded just now needs no message.
            if folder.is_dir() and any(folder.rglob("*.seg")):
                broken.append((folder, f"{Path(str(error.filename)).name} is missing"))
        except OSError as error:
            broken.append((folder, error.strerror or str(error)))
        except (MalformedRecordingError, TypeError) as error:
            broken.append((folder, f"not written by this dask-blackbox: {error}"))
    return Waiting(tuple(ready), tuple(busy), tuple(broken))


def _read(folder: Path) -> Spooled:
    manifest = decode_manifest((folder / "run.json").read_bytes())
    settings = _decode_settings((folder / "store.json").read_bytes())
    ending = None
    try:
        document = (folder / "complete.json").read_bytes()
        ending = decode_ending(document) if seal_is_whole(document) else None
    except (FileNotFoundError, MalformedRecordingError):
        pass  # then its end was not reported, and only its segments exist
    left = None
    with contextlib.suppress(FileNotFoundError, MalformedRecordingError):
        left = _decode_left((folder / _END).read_bytes())
    segments = sorted((folder / "segments").glob("*.seg"))
    attempts = attempts_at(folder)
    return Spooled(folder, manifest, ending, settings, segments, left, attempts)


def default_spool() -> Path:
    """Return the folder that holds the spools of this user's recordings."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"dask-blackbox-{user}"
    if not is_own_folder(folder):  # somebody else might read its files
        folder = Path("~/.cache/dask-blackbox").expanduser()
    elif folder.exists():  # made by an earlier version, or with another mask
        with contextlib.suppress(OSError):
            close_to_others(folder)
    return folder / "spool"


def chosen_spool() -> Path:
    """Return the folder that holds the spools, as the settings have it.

    Raises:
        ConfigurationError: if `blackbox.spool` is no path.
    """
    from dask_blackbox.settings import setting

    chosen = setting("spool")
    if chosen and not isinstance(chosen, str | os.PathLike):
        raise ConfigurationError(
            f"blackbox.spool is {chosen!r}; give the path of a folder"
        )
    return Path(chosen or default_spool())


_NAME = "recorder.pid"


class Claim:
    """The right to work on a spool folder, until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._file: int | None = None
        self.ours = self._taken(folder)

    def _taken(self, folder: Path) -> bool:
        try:
            file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            return False
        except OSError:  # where nothing can be written, nothing can be claimed either
            return True
        self._file = file
        if not _locked(file):
            self.release()
            return False
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()}".encode())  # for people who look
        return True

    def release(self) -> None:
        """Release the lock."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def claimed(folder: Path) -> bool:
    """Return whether a process works on a folder, this one included."""
    try:
        file = os.open(folder / _NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _locked(file)
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    """Lock a file; False if another process has. File systems without locks lock nothing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
