"""Pack the open set into an archive, which is never rewritten, and begin a new one.

    .venvs/core/bin/python failure_benchmark/tools/close_set.py NAME TITLE

NAME is such as `reports-01`.  First answers are those of the current rules.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

import msgspec
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_failures import Answer, FailureSet, SetInfo, judge, write_archive
from dask_failures.sets import ARCHIVES

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnosers"))
sys.path.insert(0, str(Path(__file__).parent))

import index
from blackbox import answer, run_of
from record import OPEN

__all__ = ["close"]


def close(name: str, title: str, *, place: Path, archives: Path = ARCHIVES) -> Path:
    """Pack a set; return its archive.

    Args:
        name: Of the new set.
        title: What it is.
        place: The folder of the open set, which is empty afterwards.
        archives: Where archives are.
    """
    found = FailureSet.open(place)
    today = time.strftime("%Y-%m-%d")
    info = SetInfo(name=name, title=title, written=today)
    files = {
        each.relative_to(place).as_posix(): each.read_bytes()
        for each in sorted(place.rglob("*"))
        if each.is_file() and each.name != ".gitkeep"
    }
    files["set.json"] = msgspec.json.encode(info)
    answers = {case: _first(found, case, place) for case in found.recorded}
    first = {"given": today, "rules": "", "answers": answers}
    files["answers.json"] = json.dumps(first, indent=1).encode()
    archive = archives / f"{name}.tar.xz"
    write_archive(archive, files)
    for part in ("scripts", "recordings"):
        for each in (place / part).glob("[!.]*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    comment = (place / "expected.toml").read_text().partition("\n[")[0]
    (place / "expected.toml").write_text(f"{comment.strip()}\n")
    return archive


def _first(found: FailureSet, case: str, place: Path) -> dict[str, object]:
    run = run_of(place / "recordings" / case)
    given = msgspec.convert(answer(card_of(run, findings_in(run))), Answer)
    result = judge(found.cases[case], given)
    return {
        "kind": result.kind,
        "problem": result.problem,
        "cause": given.cause,
        "confidence": given.confidence if given.cause else "",
        "headline": given.text.partition("\n")[0],
        "state": given.state,
    }


def main() -> None:
    """Pack the open set, and write the index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("title")
    asked = parser.parse_args()
    print(close(asked.name, asked.title, place=OPEN))
    index.write()


if __name__ == "__main__":
    main()
