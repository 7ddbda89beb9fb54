"""Jobs from outside with one changed night: does the card list the change that explains it first?

    python tests/recordings/changed_scripts.py --store FOLDER [CASE …] [--set N] [--again] [--out FILE]

Each folder in `nights/<what changed>/` is a job with its input and its `night.sh`, which prepares and
runs one of four nights; `expected.toml` beside it has what was changed for the last one.  Authors had
read nothing of the project; all was committed before the first night of a set was recorded, and
`answers/nights_02.json` has the first answers to set 2.
With `--again`, nothing is run: the cards of the recordings in FOLDER are made with the current rules.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dask_blackbox import Run, RunCard
from dask_blackbox.report.wording import explained_text

__all__ = ["all_jobs", "judged"]

_JOBS = Path(__file__).with_name("nights")
_NIGHTS = 4
_LONGEST_NIGHT = 300.0


class Expected(NamedTuple):
    """What must be reported of a changed night.

    Attributes:
        set: The set that it belongs to.
        first: Patterns that the first listed change must match, in any letter case.
        blame: The side that is to blame; empty: none, as the night succeeded.
        slugs: Accepted names of the failure's cause.
        state: How the night ends.
        truth: Its author's words.
    """

    set: int
    first: list[str]
    blame: str
    slugs: list[str]
    state: str
    truth: str


def judged(expected: Expected, card: RunCard) -> list[str]:
    """Return what is wrong with the card of a changed night; nothing if all is right."""
    problems = []
    if card.state != expected.state:
        problems.append(f"state {card.state}, not {expected.state}")
    rule = None if card.verdict is None else card.verdict.rule
    if expected.slugs and rule not in expected.slugs:
        problems.append(f"verdict {rule}, not {' or '.join(expected.slugs)}")
    first = _shown(card)[0] if card.changes else "nothing"
    problems += [
        f"first is {first!r}, which lacks {pattern!r}"
        for pattern in expected.first
        if not re.search(pattern, first, re.IGNORECASE)
    ]
    blame = "" if card.past is None else card.past.blame
    if card.state == "failed" and expected.blame and blame != expected.blame:
        problems.append(f"blames {blame}, not {expected.blame}")
    return problems


def _shown(card: RunCard) -> list[str]:
    """Return the changes of a card, as texts."""
    return [
        f"{each.kind} {each.what}: {each.before} → {each.after} ({each.why}) "
        f"{explained_text(each)}".rstrip()
        for each in card.changes
    ]


def _run(job: Path, folder: Path) -> None:
    """Run all nights of a job, recorded."""
    case = job.name
    place = folder / case
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(job, place / "work")
    (place / "out").mkdir()
    command = Path(sys.executable).with_name("dask")
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "RUN": f"{command} blackbox run --store {place / 'store'} --job {case} --",
    }
    for night in range(1, _NIGHTS + 1):
        with (place / f"night-{night}.log").open("w") as log:
            ended = subprocess.run(
                ["bash", "night.sh", str(night), str(place / "out")],
                cwd=place / "work",
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=_LONGEST_NIGHT,
                check=False,
            )
        print(f"      {case} night {night}: exit code {ended.returncode}", flush=True)


def all_jobs() -> Iterator[tuple[Path, Expected]]:
    """Yield the folder of each job, and what must be reported of its last night."""
    for file in sorted(_JOBS.glob("*/expected.toml")):
        for name, fields in tomllib.loads(file.read_text("utf-8")).items():
            yield file.with_name(name), Expected(**fields)


def _last_card(case: str, folder: Path) -> RunCard | None:
    """Return the card of the last night, by the current rules."""
    runs = (folder / case / "store").glob("runs/*/run=*/*/card.json")
    recorded = sorted(path.parent for path in runs)  # names begin with the time
    return Run.open(recorded[-1]).card() if len(recorded) == _NIGHTS else None


def _report(case: str, expected: Expected, card: RunCard) -> list[str]:
    problems = judged(expected, card)
    print(f"{'WRONG' if problems else 'right':6}{case:30}{'; '.join(problems)}")
    print(f"      {card.headline}")
    if card.past is not None:
        print(f"      {card.past.blame}, {card.past.confidence}: {card.past.summary}")
    for each in _shown(card)[:4]:
        print(f"        {each}", flush=True)
    return problems


def main() -> int:
    """Run and judge the cases that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--set", type=int, metavar="N")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    results = {}
    for job, expected in all_jobs():
        case = job.name
        if (asked.names and case not in asked.names) or (
            asked.set not in {None, expected.set}
        ):
            continue
        if not asked.again:
            _run(job, asked.store)
        card = _last_card(case, asked.store)
        if card is None:
            print(f"----- {case} has not {_NIGHTS} recordings")
            continue
        problems = _report(case, expected, card)
        results[case] = {"problems": problems, "changes": _shown(card)[:4]}
    right = sum(not each["problems"] for each in results.values())
    print(f"{right} of {len(results)} right")
    if asked.out is not None:
        asked.out.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    return 0 if right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
