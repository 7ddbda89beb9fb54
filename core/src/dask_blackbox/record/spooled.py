"""What lies in the spool besides segments: enough to bring the recording home later.

`run.json` and `store.json` are written when a recording begins, so that even one whose
recorder was killed can be uploaded; credentials are not among it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dask_blackbox.capture.certificate import process_started
from dask_blackbox.manifest import Ending, Manifest

__all__ = ["Spooled", "claim", "forget", "note_beginning", "spooled_in"]

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


def note_beginning(
    folder: Path, manifest: Manifest, settings: Mapping[str, Any]
) -> None:
    """Write what identifies a recording and its store into its spool folder."""
    claim(folder)  # first: a folder with a run.json and without a claim is an orphan
    plain = {k: v for k, v in settings.items() if k not in _CREDENTIALS}
    (folder / "run.json").write_bytes(msgspec.json.encode(manifest))
    (folder / "store.json").write_bytes(msgspec.json.encode(plain))


def claim(folder: Path) -> None:
    """Say that this process works on the folder."""
    told = f"{os.getpid()} {process_started(os.getpid())}"
    (folder / "recorder.pid").write_text(told, encoding="ascii")


def forget(folder: Path) -> None:
    """Remove a recording that is safe in its store."""
    shutil.rmtree(folder, ignore_errors=True)


def spooled_in(root: Path) -> list[Spooled]:
    """Return the recordings under `root` that nobody works on any more, oldest first."""
    try:
        folders = sorted(p for p in root.iterdir() if (p / "run.json").is_file())
    except OSError:
        return []
    found = (_read(folder) for folder in folders if not _claimed(folder))
    return [each for each in found if each is not None]


def _claimed(folder: Path) -> bool:
    try:
        pid, _, started = (folder / "recorder.pid").read_text("ascii").partition(" ")
        return int(pid) != os.getpid() and process_started(int(pid)) == started
    except (OSError, ValueError):
        return False


def _read(folder: Path) -> Spooled | None:
    try:
        manifest = msgspec.json.decode(
            (folder / "run.json").read_bytes(), type=Manifest
        )
        settings = msgspec.json.decode((folder / "store.json").read_bytes())
        told = folder / "complete.json"
        ending = None
        if told.is_file():
            ending = msgspec.json.decode(told.read_bytes(), type=Ending)
    except (OSError, msgspec.MsgspecError):
        return None
    segments = sorted((folder / "segments").glob("*.seg"))
    return Spooled(folder, manifest, ending, dict(settings), segments)
