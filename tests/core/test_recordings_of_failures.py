"""The corpus of failures in tests/recordings: what is in it, and how its page is written."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from dask_blackbox.analyse import RULES

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))
from case_runner import load_failures, names_of
from diagnose import put_into
from judging import Result

VERDICTS = {
    rule.slug
    for rule in RULES
    if rule.severity == "failure"
    # A run that its host stops needs a host: the tests of Airflow and Prefect have it.
    and rule.slug not in ("key-collision", "part-failed", "stopped-by-host")
}


def test_each_verdict_has_three_failures_that_end_in_it() -> None:
    corpus = [each for each in load_failures().values() if not each.held_out]
    count = Counter(each.causes[0] for each in corpus)

    assert {slug: count[slug] for slug in VERDICTS if count[slug] < 3} == {}


def test_what_is_arguable_gives_the_reason() -> None:
    silent = [
        name
        for name, each in load_failures().items()
        if (len(each.causes) > 1) != bool(each.why)
    ]

    assert silent == []


def test_what_is_held_out_is_reported_only_when_asked_for() -> None:
    corpus, held_out = (names_of([], None, held_out=held) for held in (False, True))

    assert len(held_out) >= 15
    assert not set(corpus) & set(held_out)


def test_one_failure_of_each_cause_is_reported_first() -> None:
    found = load_failures()
    names = names_of([], None, held_out=False)
    causes = [found[name].causes[0] for name in names]

    assert len(set(causes[: len(set(causes))])) == len(set(causes))


def test_the_page_keeps_what_others_wrote_there(tmp_path: Path) -> None:
    page = tmp_path / "diagnosis.md"
    page.write_text(
        "# Diagnosis\n\n<!-- verdicts -->\nold\n<!-- /verdicts -->\n\n## Theirs\n"
    )

    put_into(page, "new")

    assert page.read_text() == (
        "# Diagnosis\n\n<!-- verdicts -->\n\nnew\n\n<!-- /verdicts -->\n\n## Theirs\n"
    )


def test_a_story_is_not_judged_before_it_is_made(tmp_path: Path) -> None:
    from judging import judge

    case = next(iter(load_failures().values()))

    assert judge(case, tmp_path) == Result(case, "absent", "not made yet")


@pytest.mark.parametrize("module", sorted({s.module for s in load_failures().values()}))
def test_modules_are_run_apart(module: str) -> None:
    held = any(s.held_out for s in load_failures().values() if s.module == module)

    assert {load_failures()[n].module for n in names_of([], module, held_out=held)} == {
        module
    }


def test_the_cases_of_one_cause_share_a_module() -> None:
    modules: dict[str, set[str]] = {}
    for each in load_failures().values():
        modules.setdefault(each.causes[0], set()).add(each.module)
    split = modules.pop("task-exception")  # three of them, they are so many

    assert {each.partition("_in_")[0].partition("_beside_")[0] for each in split} == {
        "task_exceptions"
    }
    assert {cause: names for cause, names in modules.items() if len(names) > 1} == {}
