"""The rules' pages are printed from the rules, and are up to date."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from dask_blackbox.analyse import RULES, rules
from dask_blackbox.analyse.pages import page_of, pages, write_pages
from dask_blackbox.analyse.rule import Rule, documented

MODULES = sorted(Path(rules.__file__).parent.glob("[a-z]*.py"))
SHIPPED = Path(rules.__file__).parents[1] / "findings"

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

    for heading in ("## What it detects", "## Evidence", "## What to do"):
        assert heading in page


def test_every_shipped_text_belongs_to_a_rule() -> None:
    shipped = {path.stem for path in SHIPPED.glob("*.md")}

    assert shipped == {rule.slug for rule in RULES}


def test_a_rule_without_a_text_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        documented("no-such-rule", severity="notice", ask=lambda _: iter(()))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_rules_constant_is_called_like_the_rule(rule: Rule) -> None:
    name = rule.slug.replace("-", "_").upper()
    modules = [vars(import_module(f"{rules.__name__}.{m.stem}")) for m in MODULES]

    named = [each[name] for each in modules if isinstance(each.get(name), Rule)]
    assert named == [rule]
