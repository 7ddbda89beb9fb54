"""What the rules say of the real recordings that are kept in tests/recordings/kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from case_runner import load_failures
from dask_blackbox.analyse import findings_in
from dask_blackbox.finding import Finding
from judging import judge_run
from keeping import archives, kept
from kept_index import INDEX, index
from workload import all_workloads, judged

_ODD = re.compile(
    r"\bnan\b|\binf\b|(?<![\d.,:-])0(?:\.0)? (?:s|ms|µs|bytes|[KMG]iB|workers?|times?)\b"
    r"|\b[a-z]+(?:-[a-z]+)+-1\d{9}\.\d+"
)


@pytest.mark.parametrize(
    "archive", archives("failures"), ids=lambda each: each.name.split(".")[0]
)
def test_the_verdicts_on_real_recordings_are_right(archive: Path) -> None:
    cases = load_failures()
    results = [
        judge_run(cases[each.name], each.reported, each.run)
        for each in kept(archive)
        if not cases[each.name].accepted
    ]

    assert results
    assert [(e.case.name, e.problem) for e in results if e.kind != "right"] == []


@pytest.mark.parametrize(
    "archive", archives("workloads"), ids=lambda each: each.name.split(".")[0]
)
def test_the_findings_in_real_recordings_are_true(archive: Path) -> None:
    workloads = all_workloads()[archive.name.removeprefix("workloads_").split(".")[0]]
    found = {each.name: findings_in(each.run) for each in kept(archive)}
    results = {name: judged(workloads[name], each)[0] for name, each in found.items()}

    assert results
    assert {name: problem for name, problem in results.items() if problem} == {}
    assert {name: odd for name, each in found.items() if (odd := _odd(each))} == {}


def _odd(findings: Iterable[Finding]) -> list[str]:
    """Return what no sentence for people holds: zeros, no numbers, ids of stimuli."""
    return [
        f"{each.rule}: {odd[0]}"
        for each in findings
        for text in (each.title, each.cause, each.remedy)
        for odd in _ODD.finditer(text)
    ]


def test_the_index_shows_what_each_recording_holds() -> None:
    assert INDEX.read_text("utf-8") == index(), (
        "write it: .venvs/core/bin/python tests/recordings/kept_index.py"
    )
