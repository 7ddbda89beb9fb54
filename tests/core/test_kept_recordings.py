"""What the rules say of the real recordings that are kept in tests/recordings/kept."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from dask_blackbox.analyse import findings_in
from dask_blackbox.finding import Finding
from judging import judge_run
from keeping import archives, kept
from storytelling import load_failures
from workload import all_workloads, judged

OTHERWISE = {
    "a_mapped_file_is_truncated": "its second attempt met an empty file and raised",
    "a_pivot_of_too_many_values": "workers died seven times before a task raised",
    "tasks_are_longer_than_the_life_of_a_worker": "one life ended; the wait was too short",
    "the_steps_live_in_the_projects_folder": "it was the scheduler that lacked the package",
    "a_preloaded_module_finds_no_token": "the right cause; what the preload raised was only "
    "printed, before there was a cluster",
    "a_loader_holds_its_connection": "the right cause, without the name of its class",
    "a_load_balancer_without_backends": "what was seen fits TLS as well; low",
    "a_pool_of_threads_is_handed_to_tasks": "Dask swallows what the pool said of itself",
    "the_driver_waits_for_a_program_that_never_ends": "it was ended from outside",
    "the_image_of_the_scheduler_knows_no_time_zones": "it names tzdata, which is better",
    "the_named_worker_has_no_card": "an address, not the name that the user gave",
    "a_task_exits_in_a_thread_of_the_driver": "not known: the loop dies with the thread",
}
"""Stories of which something else is said than was set down, and why."""


_ODD = re.compile(
    r"\bnan\b|\binf\b|(?<![\d.,:-])0(?:\.0)? (?:s|ms|µs|bytes|[KMG]iB|workers?|times?)\b"
    r"|\b[a-z]+(?:-[a-z]+)+-1\d{9}\.\d+"
)


@pytest.mark.parametrize(
    "archive", archives("failures"), ids=lambda each: each.name.split(".")[0]
)
def test_the_verdicts_on_real_recordings_are_right(archive: Path) -> None:
    stories = load_failures()
    said = [
        judge_run(stories[each.name], each.reported, each.run)
        for each in kept(archive)
        if each.name not in OTHERWISE
    ]

    assert said
    assert [(e.story.name, e.problem) for e in said if e.kind != "right"] == []


@pytest.mark.parametrize(
    "archive", archives("workloads"), ids=lambda each: each.name.split(".")[0]
)
def test_the_findings_in_real_recordings_are_true(archive: Path) -> None:
    workloads = all_workloads()[archive.name.removeprefix("workloads_").split(".")[0]]
    found = {each.name: findings_in(each.run) for each in kept(archive)}
    said = {name: judged(workloads[name], each)[0] for name, each in found.items()}

    assert said
    assert {name: problem for name, problem in said.items() if problem} == {}
    assert {name: odd for name, each in found.items() if (odd := _odd(each))} == {}


def _odd(findings: Iterable[Finding]) -> list[str]:
    """Return what no sentence for people holds: zeros, no numbers, ids of stimuli."""
    return [
        f"{each.rule}: {odd[0]}"
        for each in findings
        for text in (each.title, each.cause, each.remedy)
        for odd in _ODD.finditer(text)
    ]
