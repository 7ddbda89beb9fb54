"""What lies in the spool besides segments: enough to bring the recording home later.

`run.json` and `store.json` are written when a recording begins, so that even one whose
recorder was killed can be uploaded; credentials are not among it.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.record.claiming import claimed

__all__ = ["Spooled", "Waiting", "forget", "note_beginning", "spooled_in"]

logger = logging.getLogger("dask_blackbox.record")

_CREDENTIALS = ("key", "secret")


@dataclass(frozen=True)
class Spooled:
    """A recording that waits in the spool.

    Attributes:
        folder: Its folder.
        manifest: Who it is.
        ending: How it ended; None if its recorder died.
        settings: How to reach its store, without credentials.
        segments: Its segments, oldest first.
    """

    folder: Path
    manifest: Manifest
    ending: Ending | None
    settings: dict[str, Any]
    segments: list[Path]


@dataclass(frozen=True)
class Waiting:
    """What lies in a spool.

    Attributes:
        ready: Recordings that nobody works on any more, oldest first.
        busy: Folders that somebody works on: their runs go on, or they are uploaded.
        broken: Folders that are no recordings, with why.
        problem: Why the spool cannot be read; None if it can, or is not there.
    """

    ready: tuple[Spooled, ...] = ()
    busy: tuple[Path, ...] = ()
    broken: tuple[tuple[Path, str], ...] = ()
    problem: str | None = None


def note_beginning(
    folder: Path, manifest: Manifest, settings: Mapping[str, Any]
) -> None:
    """Write what identifies a recording and its store into its spool folder."""
    plain = {k: v for k, v in settings.items() if k not in _CREDENTIALS}
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # `run.json` last: with it, the folder is a recording.
        (folder / "store.json").write_bytes(msgspec.json.encode(plain))
        (folder / "run.json").write_bytes(msgspec.json.encode(manifest))
    except OSError as error:
        logger.warning("the spool cannot be written: %s", error)


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
            # One that somebody has just brought home is nothing to talk of.
            if folder.is_dir() and any(folder.rglob("*.seg")):
                broken.append((folder, f"{Path(str(error.filename)).name} is missing"))
        except OSError as error:
            broken.append((folder, error.strerror or str(error)))
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
            broken.append((folder, f"not written by this dask-blackbox: {error}"))
    return Waiting(tuple(ready), tuple(busy), tuple(broken))


def _read(folder: Path) -> Spooled:
    manifest = msgspec.json.decode((folder / "run.json").read_bytes(), type=Manifest)
    settings = msgspec.json.decode(
        (folder / "store.json").read_bytes(), type=dict[str, Any]
    )
    ending = None
    try:
        told = (folder / "complete.json").read_bytes()
        ending = msgspec.json.decode(told, type=Ending)
    except (FileNotFoundError, msgspec.MsgspecError):
        pass  # then nobody has said how it ended, and its segments are all there is
    segments = sorted((folder / "segments").glob("*.seg"))
    return Spooled(folder, manifest, ending, settings, segments)
