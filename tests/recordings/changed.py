"""Nights on which one thing was changed: does the card report it first?

    python tests/recordings/changed.py [NAME …] [--store FOLDER] [--again]

Two jobs (`jobs/`) run six good nights each, once; every case goes on from a copy of
these, changes what it changes, and its night is recorded as a team would have it.  What
must be reported first was set down in `changed_nights.py` before any of them was reported.  With
`--again`, nothing is run: the cards of the last time are made anew.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from changed_jobs import Job
from changed_nights import NIGHTS, Night
from dask_blackbox import Run, RunCard

__all__ = ["judged", "reported"]

_GOOD = 6
_LONGEST = 150


def judged(night: Night, card: RunCard) -> str:
    """Return what is wrong with the card of a night, or nothing."""
    problems = []
    verdict = None if card.verdict is None else card.verdict.rule
    if night.verdicts and verdict not in night.verdicts:
        problems.append(f"verdict {verdict}, not {' or '.join(night.verdicts)}")
    reported = [f"{each.kind} {each.what}" for each in card.changes]
    first = reported[0] if reported else "nothing"
    if not any(first.startswith(each) for each in night.first):
        problems.append(f"first is {first!r}, not {' or '.join(night.first)}")
    blame = "" if card.past is None else card.past.blame
    if night.blames and blame not in night.blames:
        problems.append(f"blames {blame}, not {' or '.join(night.blames)}")
    found = {each.rule for each in card.findings}
    problems += [
        f"does not find {each}" for each in night.findings if each not in found
    ]
    return "; ".join(problems)


def _base(name: str, folder: Path) -> Path:
    """Return where a job's good nights are, which are run if they are not there yet."""
    base = folder / f"base-{name}"
    if not (base / "done").exists():
        shutil.rmtree(base, ignore_errors=True)
        job = Job(name, base)
        job.set_up()
        for _ in range(_GOOD):
            card = job.night()
            print(
                f"      {name} {card.run_id}: {card.state} {card.headline}"[:_LONGEST]
            )
            if card.state != "succeeded":
                raise RuntimeError(f"a good night was none: {card.headline}")
        (base / "done").touch()
    return base


def reported(night: Night, folder: Path) -> RunCard:
    """Run one night, and return its card."""
    place = folder / night.name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_base(night.job, folder), place, symlinks=True)
    job = Job(night.job, place, nights=_GOOD)
    night.change(job)
    return job.cards[-1] if job.cards else job.night()


def _again(night: Night, folder: Path) -> RunCard | None:
    """Return the card of the last night in a folder, by the rules of now."""
    recorded = [
        path.parent
        for path in (folder / night.name / "store").glob("runs/*/*/*/card.json")
    ]
    if not recorded:
        return None
    newest = max(recorded, key=lambda path: (path / "card.json").stat().st_mtime)
    return Run.open(newest).card()


def main() -> int:
    """Run the nights that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--store", default=tempfile.gettempdir() + "/changed-nights")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    folder, wrong, number = Path(asked.store), 0, 0
    for night in NIGHTS:
        if asked.names and night.name not in asked.names:
            continue
        began = time.monotonic()
        try:
            card = _again(night, folder) if asked.again else reported(night, folder)
        except Exception:  # noqa: BLE001 - the others shall be reported all the same
            traceback.print_exc()
            card = None
        if card is None:
            print(f"----- {night.name} could not be run")
            continue
        problem, number = judged(night, card), number + 1
        wrong += bool(problem)
        took = time.monotonic() - began
        print(
            f"{'WRONG' if problem else 'right':6}{night.name:36}{took:4.0f} s  {problem}"
        )
        print(f"      {card.headline}"[:_LONGEST])
        if card.past is not None:
            print(f"      {card.past.confidence}: {card.past.summary}"[: 2 * _LONGEST])
        for each in card.changes[:4]:
            step = f"{each.before} → {each.after}  ({each.rarity}; {each.why})"
            print(f"        {each.kind} {each.what}: {step}"[:_LONGEST], flush=True)
    print(f"{number - wrong} of {number} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
