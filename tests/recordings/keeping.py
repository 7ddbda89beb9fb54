"""Recordings kept in the repository: rules are tried on real clusters within seconds.

An archive (`kept/*.tar.xz`) holds, of each recording, a folder with `reported.json`,
`run.json`, `complete.json` and its tables in Arrow's format.  Where things lay on the
machine that recorded is replaced by places that say the same.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import polars as pl
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import with_known_columns

__all__ = ["KEPT", "Kept", "Kind", "archive_of", "archives", "keep", "kept"]

Kind = Literal["failures", "scripts", "workloads"]

KEPT = Path(__file__).with_name("kept")
"""Where the archives are."""

_TABLES = ("tasks", "errors", "logs", "metrics", "events")
_BEAT = "heartbeat"
_REPORTED = "reported.json"


class Kept(NamedTuple):
    """A recording that was kept.

    Attributes:
        name: Of the case or workload.
        reported: How its run ended, as `case_runner.run_outside` returns it.
        run: The recording.
    """

    name: str
    reported: dict[str, Any]
    run: RunTables


def archive_of(kind: Kind, module: str) -> Path:
    """Return the file that holds the recordings of a module of cases or workloads."""
    return KEPT / f"{kind}_{module}.tar.xz"


def archives(kind: Kind) -> list[Path]:
    """Return the archives that there are of a kind, by name."""
    return sorted(KEPT.glob(f"{kind}_*.tar.xz"))


def keep(archive: Path, runs: Iterable[Kept], places: Mapping[str, str]) -> int:
    """Write an archive.

    Args:
        archive: The file.
        runs: What to keep.
        places: What stands in the recordings, and what shall stand there instead.

    Returns:
        How many there are.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        # Alike things side by side: that is what makes it small.
        for each in runs:
            number += 1
            for name, blob in _blobs(each, places):
                info = tarfile.TarInfo(f"{each.name}/{name}")
                info.size = len(blob)
                tar.addfile(info, io.BytesIO(blob))
    return number


def kept(archive: Path) -> Iterator[Kept]:
    """Yield the recordings of an archive."""
    with tarfile.open(archive, "r:xz") as tar:
        blobs: dict[str, dict[str, bytes]] = {}
        for member in tar:
            case, _, name = member.name.partition("/")
            file = tar.extractfile(member)
            if file is not None:
                blobs.setdefault(case, {})[name] = file.read()
    for case, of in blobs.items():
        reported = json.loads(of[_REPORTED])
        ending = of.get("complete.json")
        run = RunTables(
            msgspec.json.decode(of["run.json"], type=Manifest),
            None if ending is None else msgspec.json.decode(ending, type=Ending),
            {
                name: with_known_columns(name, pl.read_ipc(of[f"{name}.arrow"]))
                for name in _TABLES
            },
            last_heartbeat=reported.pop(_BEAT, None),
        )
        yield Kept(case, reported, run)


def _blobs(each: Kept, places: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    run = each.run
    reported = each.reported | {_BEAT: run.last_heartbeat}
    yield _REPORTED, json.dumps(reported).encode()
    yield "run.json", _moved(msgspec.json.encode(run.manifest), places)
    if run.ending is not None:
        # Checksums are of blobs that are not kept.
        bare = msgspec.structs.replace(run.ending, blobs={}, segments={})
        yield "complete.json", _moved(msgspec.json.encode(bare), places)
    for name in _TABLES:
        frame: pl.DataFrame = getattr(run, name)
        for old, new in places.items():
            frame = frame.with_columns(
                pl.col(pl.String).str.replace_all(old, new, literal=True)
            )
        file = io.BytesIO()
        frame.write_ipc(file, compression="uncompressed")
        yield f"{name}.arrow", file.getvalue()


def _moved(blob: bytes, places: Mapping[str, str]) -> bytes:
    for old, new in places.items():
        blob = blob.replace(old.encode(), new.encode())
    return blob
