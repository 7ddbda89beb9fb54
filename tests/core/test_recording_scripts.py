"""The held-out scripts of `tests/recordings/scripts`, without running them.

The recordings that `run.py --keep` has kept are diagnosed again.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from keeping import archives, kept

FOLDER = Path(__file__).parents[1] / "recordings" / "scripts"


def _runner() -> Any:
    found = importlib.util.spec_from_file_location("held_out_run", FOLDER / "run.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules["held_out_run"] = module  # msgspec looks annotations up there
    found.loader.exec_module(module)
    return module


def _all_cases(runner: Any) -> dict[str, Any]:
    """Return the cases of all sets by name, which no two share."""
    found = [
        (name.rpartition("/")[2], case)
        for which in runner.SETS
        for name, case in runner.load_cases(which).items()
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.mark.parametrize(
    ("which", "failing", "healthy"),
    [
        ("first", 90, 20),
        ("second", 53, 15),
        ("third", 30, 7),
        ("fourth", 62, 20),
        ("fifth", 34, 11),
        ("sixth", 52, 14),
        ("seventh", 60, 14),
        ("eighth", 48, 12),
        ("ninth", 40, 10),
        ("tenth", 50, 14),
        ("eleventh", 40, 10),
        ("twelfth", 40, 10),
        ("thirteenth", 43, 12),
        ("fourteenth", 40, 12),
        ("fifteenth", 40, 10),
        ("sixteenth", 40, 10),
        ("seventeenth", 36, 9),
        ("eighteenth", 30, 7),
        ("nineteenth", 23, 6),
        ("twentieth", 15, 4),
        ("twenty-first", 24, 4),
        ("twenty-second", 24, 6),
        ("twenty-third", 24, 6),
        ("twenty-fourth", 24, 6),
    ],
)
def test_every_script_has_expectations_that_can_be_judged(
    which: str, failing: int, healthy: int
) -> None:
    cases = _runner().load_cases(which)  # raises where one has no other
    assert sum(bool(case.slugs) for case in cases.values()) == failing
    assert sum(not case.slugs for case in cases.values()) == healthy
    for name, case in cases.items():
        assert len(case.slugs) < 2 or case.why, f"{name}: why more than one verdict?"
        for pattern in (*case.names, *case.mentions, *case.never):
            re.compile(pattern)


def test_every_script_is_python() -> None:
    for script in FOLDER.parent.glob("scripts*/*/**/*.py"):
        compile(script.read_text(), str(script), "exec")


@pytest.mark.parametrize(
    "archive", archives("scripts"), ids=lambda each: each.name.split(".")[0]
)
def test_what_is_reported_of_kept_recordings_is_right(archive: Path) -> None:
    runner = _runner()
    cases = _all_cases(runner)
    judged = [
        runner.judge_card(
            each.name,
            cases[each.name],
            card_of(each.run, findings_in(each.run)),
            each.reported,
        )
        for each in kept(archive)
        if not cases[each.name].accepted
    ]

    assert judged
    assert [(e.name, e.problem) for e in judged if e.kind != "right"] == []
