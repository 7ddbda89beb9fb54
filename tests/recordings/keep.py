"""Keep what was recorded in the repository, an archive for each module of cases.

    python tests/recordings/keep.py --store FOLDER [--store FOLDER …] [--place OLD=NEW …]
    python tests/recordings/keep.py --workloads --store FOLDER …

What `make.py` has reported, or what the commands of workloads have.  Only what is reported and judged: a case that could not be reported here stays as it was kept
before.  `diagnose.py --kept` asks the rules of now about all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from case_runner import load_failures
from dask_blackbox.analyse import findings_in
from dask_blackbox.reader import Run
from keeping import Kept, archive_of, keep, kept
from staging import Failure
from workload import all_workloads, judged, newest
from workload_list import Workload

_MOST_TASKS = 20_000
_ROOT = str(Path(__file__).parents[2])


def _recorded(case: Failure, stores: Sequence[Path]) -> Kept | None:
    """Return the recording of a case, from the last store that has it."""
    for store in reversed(stores):
        place = store / case.name
        if not (place / "reported.json").exists():
            continue
        reported = json.loads((place / "reported.json").read_text())
        runs = sorted((place / "runs").glob("job=*/run=*/attempt=*"))
        opened = [Run.open(each) for each in runs]
        own = [run for run in opened if run.manifest.started >= reported["at"]]
        if "not_here" not in reported and opened:
            return Kept(case.name, reported, (own or opened)[0])
    return None


def _of_module(module: str, stores: Sequence[Path]) -> Iterator[Kept]:
    archive = archive_of("failures", module)
    before = {each.name: each for each in kept(archive)} if archive.exists() else {}
    for case in load_failures().values():
        if case.module == module:
            found = _recorded(case, stores) or before.get(case.name)
            if found is not None:
                yield found


def _of_workloads(
    module: str, workloads: Mapping[str, Workload], stores: Sequence[Path]
) -> Iterator[Kept]:
    """Yield the newest recording of each workload that is reported once, if it is right."""
    archive = archive_of("workloads", module)
    before = {each.name: each for each in kept(archive)} if archive.exists() else {}
    for name, workload in workloads.items():
        runs = [run for store in stores for run in newest(str(store), name, 1)]
        small = [run for run in runs if len(run.tasks) <= _MOST_TASKS]
        if len(workload.nights) > 1 or (runs and not small):
            continue
        found = Kept(name, {}, small[-1]) if small else before.get(name)
        if found is not None and not judged(workload, findings_in(found.run))[0]:
            yield found


def keep_workloads(stores: Sequence[Path], places: Mapping[str, str]) -> int:
    """Keep the recordings of workloads; return how many there are."""
    number = 0
    for module, workloads in all_workloads().items():
        found = list(_of_workloads(module, workloads, stores))
        if found:
            number += keep(archive_of("workloads", module), found, places)
            print(f"{module:28}{len(found):4}")
    return number


def keep_all(stores: Sequence[Path], places: Mapping[str, str]) -> int:
    """Keep the recordings of the modules that have new ones; return how many there are."""
    number = 0
    cases = load_failures()
    new = {name for name in cases for store in stores if (store / name).exists()}
    for module in dict.fromkeys(cases[name].module for name in cases if name in new):
        found = list(_of_module(module, stores))
        if found:
            number += keep(archive_of("failures", module), found, places)
            print(f"{module:28}{len(found):4}")
    return number


def usual_places() -> dict[str, str]:
    """Return what says where this machine has things, and what is kept instead."""
    return {
        f"{_ROOT}/.venvs/core": "/opt/environment",
        _ROOT: "/srv/dask-blackbox",
        sys.base_prefix: "/usr/local",
        str(Path.home()): "/home/me",
    }


def main() -> int:
    """Keep what is in the stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, action="append", default=[])
    parser.add_argument("--workloads", action="store_true")
    parser.add_argument(
        "--place",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="replace OLD, which says where something lies on this machine",
    )
    asked = parser.parse_args()
    places = dict(each.split("=", 1) for each in asked.place) | usual_places()
    chosen = keep_workloads if asked.workloads else keep_all
    print(f"{chosen(asked.store, places)} recordings are kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
