"""Keep what `make.py` has recorded in the repository, an archive for each room.

    python tests/recordings/keep.py --store FOLDER [--store FOLDER …] [--place OLD=NEW …]

Only what is told and judged: a story that could not be told here stays as it was kept
before.  `diagnose.py --kept` asks the rules of now about all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dask_blackbox.opened import Run
from keeping import KEPT, Kept, keep, kept
from staging import Failure
from storytelling import load_failures

_ROOT = str(Path(__file__).parents[2])


def _told(story: Failure, stores: Sequence[Path]) -> Kept | None:
    """Return the recording of a story, from the last store that has it."""
    for store in reversed(stores):
        place = store / story.name
        if not (place / "told.json").exists():
            continue
        told = json.loads((place / "told.json").read_text())
        runs = sorted((place / "runs").glob("job=*/run=*/attempt=*"))
        opened = [Run.open(each) for each in runs]
        own = [run for run in opened if run.manifest.started >= told["at"]]
        if "not_here" not in told and opened:
            return Kept(story.name, told, (own or opened)[0])
    return None


def _of_room(room: str, stores: Sequence[Path]) -> Iterator[Kept]:
    archive = KEPT / f"{room}.tar.xz"
    before = {each.name: each for each in kept(archive)} if archive.exists() else {}
    for story in load_failures().values():
        if story.room == room:
            found = _told(story, stores) or before.get(story.name)
            if found is not None:
                yield found


def keep_all(stores: Sequence[Path], places: Mapping[str, str]) -> int:
    """Keep the recordings of all rooms; return how many there are."""
    number = 0
    for room in dict.fromkeys(each.room for each in load_failures().values()):
        found = list(_of_room(room, stores))
        if found:
            number += keep(KEPT / f"{room}.tar.xz", found, places)
            print(f"{room:28}{len(found):4}")
    return number


def main() -> int:
    """Keep what is in the stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, action="append", default=[])
    parser.add_argument(
        "--place",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="replace OLD, which says where something lies on this machine",
    )
    asked = parser.parse_args()
    places = dict(each.split("=", 1) for each in asked.place)
    places |= {
        f"{_ROOT}/.venvs/core": "/opt/environment",
        _ROOT: "/srv/dask-blackbox",
        sys.base_prefix: "/usr/local",
        str(Path.home()): "/home/me",
    }
    print(f"{keep_all(asked.store, places)} recordings are kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
