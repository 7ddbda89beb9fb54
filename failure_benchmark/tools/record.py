"""Record the cases of the open set with dask-blackbox, and judge what it answers.

    .venvs/core/bin/python failure_benchmark/tools/record.py NAME…

A recording is written into `failure_benchmark/open/recordings/NAME`; places of this machine are
replaced by places that say the same.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.run_tables import RunTables
from dask_failures import Answer, FailureSet, judge
from dask_failures.errors import WrongScriptError
from dask_failures.running import run_script

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnosers"))

from blackbox import TABLES, answer, recorded_in, run_of

__all__ = ["OPEN", "check_script", "record"]

ROOT = Path(__file__).parents[2]
OPEN = ROOT / "failure_benchmark" / "open"
RECORDER = (
    "env DASK_BLACKBOX__SPOOL={folder}/spool DASK_BLACKBOX__STORE__URL={folder} "
    f"{sys.executable} -P -m dask blackbox run --store {{folder}} --job {{name}} "
    "--run-id recorded --"
)


def record(name: str, *, place: Path = OPEN) -> str:
    """Record a case; return what the judge says of dask-blackbox's answer.

    Args:
        name: Of the case.
        place: The folder of the set.

    Raises:
        WrongScriptError: Not the script of the case would be run, but a module of it.
    """
    found = FailureSet.open(place)
    check_script(found, name)
    with tempfile.TemporaryDirectory(
        prefix="record-", ignore_cleanup_errors=True
    ) as temporary:
        folder, begun = Path(temporary), time.time()
        ended = run_script(found, name, folder, RECORDER)
        run = recorded_in(folder)
        seconds = round(time.time() - begun, 1)
        reported = {"exit": ended, "seconds": seconds, "at": begun}
        kept = place / "recordings" / name
        kept.mkdir(parents=True, exist_ok=True)
        for file, blob in _files(run, reported, _places(folder)):
            (kept / file).write_bytes(blob)
    read = run_of(kept)
    given = msgspec.convert(answer(card_of(read, findings_in(read))), Answer)
    result = judge(found.cases[name], given)
    return f"{result.kind:8}{name}: {given.cause} {result.problem}\n{given.text}"


def check_script(found: FailureSet, name: str) -> None:
    """Check that the file of a case that is run is not imported by another one of it.

    Args:
        found: The set.
        name: The case.

    Raises:
        WrongScriptError: It is.
    """
    files = found.script(name)
    if not files or not any("{file}" in word for word in found.cases[name].argv):
        return
    first = next(iter(files))
    module = first.removesuffix(".py").replace("/", ".")
    importers = [
        file
        for file, blob in files.items()
        if file != first and file.endswith(".py") and module in _imported(blob)
    ]
    if importers:
        raise WrongScriptError(name, first, importers)


def _imported(source: bytes) -> set[str]:
    """Return the modules that a script imports by name; none if it does not compile."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _places(folder: Path) -> dict[str, str]:
    """Return what this machine has where, and what is kept instead."""
    return {
        str(folder): "/srv/store",
        sys.prefix: "/opt/environment",
        str(ROOT): "/srv/dask-blackbox",
        sys.base_prefix: "/usr/local",
        str(Path.home()): "/home/me",
        f'"machine": "{platform.node()}"': '"machine": "machine-a"',
        f'"machine":"{platform.node()}"': '"machine":"machine-a"',
    }


def _files(
    run: RunTables, reported: Mapping[str, Any], places: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a recording, without what says where it was made."""
    beat = {"heartbeat": run.last_heartbeat}
    yield "reported.json", json.dumps({**reported, **beat}).encode()
    yield "run.json", _moved(msgspec.json.encode(run.manifest), places)
    if run.ending is not None:
        # Checksums are of blobs that are not kept.
        bare = msgspec.structs.replace(run.ending, blobs={}, segments={})
        yield "complete.json", _moved(msgspec.json.encode(bare), places)
    for name in TABLES:
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


def main() -> None:
    """Record the cases that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    for name in parser.parse_args().names:
        print(record(name))


if __name__ == "__main__":
    main()
