"""What the rules say of all recordings of real clusters, in `tests/recordings/kept`.

`test_kept_recordings.py` has those that run on each change, and every word of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from case_runner import load_failures
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from judging import judge_run
from keeping import Kept, archives, kept
from kept_index import INDEX, index
from kept_recordings import odd_words, wrong_chain
from scripts.run import judge_card, load_cases
from workload import all_workloads, judged

pytestmark = pytest.mark.nightly

SCRIPTS = {name.rpartition("/")[2]: case for name, case in load_cases().items()}
FAILURES = load_failures()
WORKLOADS = {
    name: case for module in all_workloads().values() for name, case in module.items()
}
ARCHIVES = [*archives("failures"), *archives("scripts"), *archives("workloads")]


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda each: each.name.split(".")[0])
def test_what_is_reported_of_all_recordings_is_right(archive: Path) -> None:
    kind = archive.name.partition("_")[0]
    problems = {each.name: _problem(kind, each) for each in kept(archive)}

    assert problems
    assert {name: problem for name, problem in problems.items() if problem} == {}


def _problem(kind: str, each: Kept) -> str:
    """Return what is wrong with what is reported of a recording, or nothing."""
    card = card_of(each.run, findings_in(each.run))
    words = ", ".join([*odd_words(each.run, card), *wrong_chain(card)])
    if kind == "workloads":
        return judged(WORKLOADS[each.name], card.findings)[0] or words
    case = FAILURES[each.name] if kind == "failures" else SCRIPTS[each.name]
    if case.accepted:
        return ""
    if kind == "failures":
        result = judge_run(FAILURES[each.name], each.reported, each.run)
        return words if result.kind == "right" else result.problem
    found = judge_card(each.name, SCRIPTS[each.name], card, each.reported)
    return words if found.kind == "right" else found.problem


def test_the_index_shows_what_each_recording_holds() -> None:
    assert INDEX.read_text("utf-8") == index(), (
        "write it: .venvs/core/bin/python tests/recordings/kept_index.py"
    )
