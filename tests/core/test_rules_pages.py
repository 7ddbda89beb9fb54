"""A rule's page says all that it is but its function, and the documentation shows it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from dask_blackbox.analyse import RULES, rules
from dask_blackbox.analyse.rule import (
    FINDINGS,
    Page,
    Rule,
    Threshold,
    documented,
    read_page,
)

MODULES = sorted(Path(rules.__file__).parent.glob("[a-z]*.py"))
DOCS = Path(__file__).parents[2] / "docs"

PAGE = """---
title: The licence server refused
question: Did tasks fail because no licence was free?
severity: failure
retry_advice: transient
thresholds:
  share:
    value: 0.5
    unit: share of the tasks
    meaning: Tasks that were refused.
---

# licence-refused

## What it detects

Tasks that raised.

## Evidence

Their exceptions.

## What to do

Ask for more licences.

Before:

```
--nthreads 32
```

After:

```
--nthreads 16
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("dask_blackbox.analyse.rule.FINDINGS", tmp_path)
    return tmp_path / "licence-refused.md"


def test_the_documentation_shows_the_files_that_the_rules_read() -> None:
    assert (DOCS / "findings").resolve() == FINDINGS.resolve()


def test_a_page_holds_all_that_a_rule_is_but_its_function(page: Path) -> None:
    page.write_text(PAGE)

    rule = documented("licence-refused")(lambda _: iter(()))

    assert (rule.title, rule.question) == (
        "The licence server refused",
        "Did tasks fail because no licence was free?",
    )
    assert (rule.severity, rule.retry_advice) == ("failure", "transient")
    assert (rule.retry_confidence, rule.about) == ("high", "run")
    assert rule.thresholds == {"share": 0.5}
    share = Threshold(
        value=0.5, unit="share of the tasks", meaning="Tasks that were refused."
    )
    assert rule.page == Page(
        detects="Tasks that raised.",
        evidence="Their exceptions.",
        remedy="Ask for more licences.",
        before="--nthreads 32",
        after="--nthreads 16",
        thresholds={"share": share},
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (PAGE.replace("severity: failure", "severity: grave"), "'grave'"),
        (PAGE.replace("severity: failure\n", ""), "`severity`"),
        (PAGE.replace("retry_advice", "retry-advice"), "`retry-advice`"),
        (PAGE.replace("    unit: share of the tasks\n", ""), "`unit`"),
        (PAGE.replace("value: 0.5", "value: half"), "Expected `int | float`"),
        (PAGE.replace("## Evidence", "## Proof"), "lacks the sections"),
        (PAGE.replace("# licence-refused", "# licence"), "lacks the sections"),
    ],
)
def test_a_page_that_says_something_unknown_is_refused(
    page: Path, wrong: str, message: str
) -> None:
    page.write_text(wrong)

    with pytest.raises(ValueError, match=re.escape(message)):
        read_page("licence-refused")


def test_every_shipped_page_belongs_to_a_rule() -> None:
    shipped = {path.stem for path in FINDINGS.glob("*.md")}

    assert shipped == {rule.slug for rule in RULES}


def test_a_rule_without_a_page_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        documented("no-such-rule")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_every_threshold_is_read_by_its_rule(rule: Rule) -> None:
    texts = [path.read_text() for path in MODULES]

    unread = [
        name
        for name in rule.thresholds
        if not any(f'"{name}"' in text for text in texts)
    ]

    assert unread == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_rules_constant_is_called_like_the_rule(rule: Rule) -> None:
    name = rule.slug.replace("-", "_").upper()
    modules = [vars(import_module(f"{rules.__name__}.{m.stem}")) for m in MODULES]

    named = [each[name] for each in modules if isinstance(each.get(name), Rule)]
    assert named == [rule]
