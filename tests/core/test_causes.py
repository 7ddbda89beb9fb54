"""Chains from the root to the outcome: mechanisms, and changes as their first step."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import RULES, Case, verdict_in
from dask_blackbox.analyse.causes import chain_of
from dask_blackbox.analyse.causes.kinds import FACTS
from dask_blackbox.analyse.causes.links import LINKS
from dask_blackbox.finding import Change
from kept_recordings import kept_run


def test_a_row_names_only_kinds_that_there_are() -> None:
    found = [{*row.causes} for row in LINKS if row.find is not None]  # type: ignore[misc]
    own = set().union(*found)
    known = own | FACTS | {rule.slug for rule in RULES}
    named = {
        kind
        for row in LINKS
        for kinds in (row.causes, row.effects)
        if isinstance(kinds, set | frozenset)
        for kind in kinds
    }

    assert named <= known
    assert sum(map(len, found)) == len(own)
    assert own.isdisjoint(rule.slug for rule in RULES)


def test_no_mechanism_leads_back_to_its_own_cause() -> None:
    slugs = [rule.slug for rule in RULES if rule.severity == "failure"]
    ways = {
        cause: {
            effect
            for effect in slugs
            for how in LINKS
            if cause in how.causes and effect in how.effects and not how.survived
        }
        - {cause}
        for cause in slugs
    }

    def reached(cause: str) -> set[str]:
        found, more = set[str](), {cause}
        while more := {e for each in more for e in ways[each]} - found:
            found |= more
        return found

    assert [slug for slug in slugs if slug in reached(slug)] == []


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            "12 partitions",
            "1,200 partitions",
            "Input 100.0\N{MULTIPLICATION SIGN} larger",
        ),
        ("2 GiB", "512 MiB", "Input 4.0\N{MULTIPLICATION SIGN} smaller"),
        (None, "512 MiB", "Input absent → 512 MiB"),
    ],
)
def test_a_change_of_the_input_is_a_factor(
    before: str | None, after: str, text: str
) -> None:
    run = kept_run("one_customer_has_all_the_orders")
    change = Change(
        kind="input-size", what="bytes", before=before, after=after, why="memory"
    )

    first = chain_of(Case(run), verdict_in(run), change)[0]

    assert first.text.startswith(text)


def test_a_commit_is_named_by_the_code_that_it_changed() -> None:
    of_prefix = Change(
        kind="code",
        what="prefix settle",
        before="1",
        after="2 (fare_of at pricing.py:13)",
    )
    commit = Change(
        kind="code", what="git commit", before="a", after="b",
        why="the failure went through it", explains=(of_prefix,),
    )  # fmt: skip
    run = kept_run("one_customer_has_all_the_orders")
    step = chain_of(Case(run), verdict_in(run), commit)[0]

    assert step.text == "Code of prefix settle changed (fare_of at pricing.py:13)"


@pytest.mark.parametrize("sizes", [("1 GiB", "3.4 GiB"), ("200 KiB", "680 KiB")])
def test_a_change_that_fits_the_verdict_is_the_first_step(
    sizes: tuple[str, str],
) -> None:
    run = kept_run("one_customer_has_all_the_orders")
    before, after = sizes
    verdict = verdict_in(run)
    fits = Change(
        kind="input-size", what="orders", before=before, after=after, why="memory"
    )

    first, second, *_ = chain_of(Case(run), verdict, fits)

    assert first.text == f"Input 3.4\N{MULTIPLICATION SIGN} larger ({before} → {after})"
    assert second == chain_of(Case(run), verdict)[0]
