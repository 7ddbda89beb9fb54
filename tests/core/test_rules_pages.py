"""The rules' pages are printed from the rules, and are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_blackbox.analyse import RULES
from dask_blackbox.analyse.pages import page_of, pages, write_pages
from dask_blackbox.analyse.rule import Rule

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"


def test_the_pages_are_those_that_the_rules_print() -> None:
    there = {path.name: path.read_text() for path in FINDINGS.glob("*.md")}

    assert there == pages(), (
        "print them: python -m dask_blackbox.analyse.pages docs/findings"
    )


def test_printing_removes_the_page_of_a_rule_that_is_no_more(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("old")

    write_pages(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == set(pages())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_page_says_what_to_do(rule: Rule) -> None:
    page = page_of(rule)

    for heading in ("## What it detects", "## What it stands on", "## What to do"):
        assert heading in page


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_rules_file_and_constant_are_called_like_the_rule(rule: Rule) -> None:
    name = rule.slug.replace("-", "_")
    module = __import__(f"dask_blackbox.analyse.rules.{name}", fromlist=[name.upper()])

    assert getattr(module, name.upper()) is rule
