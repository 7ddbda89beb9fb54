"""The held-out scripts of `tests/recordings/scripts`, without running them.

`test_all_recordings.py` diagnoses the recordings that `run.py --keep` has kept.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from changed_scripts import all_jobs
from scripts.run import load_cases

RECORDINGS = Path(__file__).parents[1] / "recordings"
ANSWERS = sorted(RECORDINGS.glob("answers/scripts_*.json"))
CASES = load_cases()  # raises where a script has no expectation, or the reverse

_NOT_COUNTED = "graph-not-deserializable/rowing_gauges"  # meant to succeed, and fails


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda each: each.stem)
def test_a_set_has_the_scripts_whose_first_answers_are_kept(answers: Path) -> None:
    number = int(answers.stem.removeprefix("scripts_"))
    answered = set(re.findall(r'"name": "([^"]+)"', answers.read_text("utf-8")))

    assert answered == load_cases(number).keys() - {_NOT_COUNTED}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_set_has_the_changed_jobs_whose_first_answers_are_kept(number: int) -> None:
    jobs = {job for job, expected in all_jobs() if expected.set == number}
    answers = (RECORDINGS / "answers" / f"nights_{number:02d}.json").read_text("utf-8")

    assert {job.name for job in jobs} == json.loads(answers).keys()
    assert all((job / "night.sh").exists() for job in jobs)


def test_no_two_scripts_have_the_same_name() -> None:
    names = [name.rpartition("/")[2] for name in CASES]

    assert sorted(names) == sorted(set(names))


def test_every_script_has_expectations_that_can_be_judged() -> None:
    for name, case in CASES.items():
        cause = name.partition("/")[0]
        assert cause in (case.slugs or ("healthy",)), f"{name}: another cause"
        assert len(case.slugs) < 2 or case.why, f"{name}: why more than one verdict?"
        for pattern in (*case.names, *case.mentions, *case.never):
            re.compile(pattern)


def test_every_script_is_python() -> None:
    for script in (RECORDINGS / "scripts").glob("*/**/*.py"):
        compile(script.read_text(), str(script), "exec")
