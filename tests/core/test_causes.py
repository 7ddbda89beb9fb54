"""Causes in order: no order of rules, and a chain from the root to the outcome."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from dask_blackbox.analyse import (
    RULES,
    Case,
    findings_in,
    user_rules,
    verdict_in,
)
from dask_blackbox.analyse.causes import chain_of
from dask_blackbox.analyse.causes.mechanisms import MECHANISMS
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.finding import Change, unusual

sys.path.insert(0, str(Path(__file__).parents[1] / "recordings"))

from keeping import Kept, archives, kept

ARCHIVES = [*archives("failures"), *archives("workloads")]
SCRIPTS = archives("scripts")
SEEDS = (1, 2)
_ON_EACH_PUSH = 4  # one archive of so many; the others nightly


@cache
def recordings(archive: Path) -> tuple[Kept, ...]:
    """Return the recordings of an archive, read once."""
    return tuple(kept(archive))


def card(recording: Kept) -> RunCard:
    """Return the card of a kept recording."""
    return card_of(recording.run, findings_in(recording.run))


def failed(archive: Path) -> Iterator[tuple[str, RunCard]]:
    """Yield the cards of the recordings of an archive that failed, by name."""
    for each in recordings(archive):
        made = card(each)
        if made.verdict is not None:
            yield each.name, made


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(
            each, marks=[pytest.mark.nightly] if number % _ON_EACH_PUSH else []
        )
        for number, each in enumerate(ARCHIVES)
    ],
    ids=lambda each: each.name.split(".")[0],
)
def test_the_order_of_rules_does_not_matter(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_they_are = [card(each) for each in recordings(archive)]

    for seed in SEEDS:
        shuffled = list(RULES)
        random.Random(seed).shuffle(shuffled)
        monkeypatch.setattr(user_rules, "RULES", tuple(shuffled))
        again = [card(each) for each in recordings(archive)]
        assert again == as_they_are, seed


@pytest.mark.parametrize(
    "archive",
    [*archives("failures"), *(each for each in SCRIPTS if "failing" in each.name)],
    ids=lambda each: each.name.split(".")[0],
)
def test_every_failure_has_a_chain_from_its_root_to_the_outcome(archive: Path) -> None:
    made = dict(failed(archive))

    assert made
    for name, each in made.items():
        texts = [step.text for step in each.chain]
        times = [step.at for step in each.chain if step.at is not None]
        assert 2 <= len(texts) <= 6, (name, texts)
        assert all(a <= b for a, b in pairwise(times)), (name, each.chain)
        assert all(a != b for a, b in pairwise(texts)), (name, texts)
        assert each.chain[-1].at == max(times, default=None), name


def the(name: str) -> Kept:
    """Return a kept recording by its name."""
    every = (r for archive in [*ARCHIVES, *SCRIPTS] for r in recordings(archive))
    return next(each for each in every if each.name == name)


@pytest.mark.parametrize("name", ["choir_rosters", "solar_parks"])
def test_what_follows_from_an_earlier_failure_has_its_own_time(name: str) -> None:
    before, then, *_ = card(the(name)).chain
    shown = [each.at for each in then.evidence if each.at is not None]

    assert before.at is not None
    assert then.at == min(shown) > before.at


def test_a_chain_of_memory_names_the_need_the_deaths_and_the_exception() -> None:
    texts = [step.text for step in card(the("one_customer_has_all_the_orders")).chain]

    assert texts == [
        "One task of 'blockwisemerge' needed over 600 MiB",
        "A worker was killed at its memory limit, 2 times",
        "Dask gave up on 'blockwisemerge'",
        "The driver received KilledWorker",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Dask's own limit was far above what the container had.
        (
            "a_container_that_is_smaller_than_the_limit",
            "One task of 'load_all' needed 380 MiB or more",
        ),
        ("features_are_remembered_for_ever", "21 tasks retained 543 MiB or more"),
    ],
)
def test_a_chain_of_memory_reports_only_what_was_seen(name: str, text: str) -> None:
    assert card(the(name)).chain[0].text == text


def test_an_address_space_that_is_limited_reports_nothing_about_memory_in_use() -> None:
    texts = [step.text for step in card(the("an_address_space_that_is_limited")).chain]

    assert not [text for text in texts if "needed" in text]


def test_an_exit_does_not_repeat_the_exception() -> None:
    texts = [step.text for step in card(the("graph_with_a_cycle")).chain]

    assert texts[-1] == "The driver exited with code 1"


def test_a_death_that_dask_survives_is_a_step_before_what_it_took_along() -> None:
    made = card(the("an_actor_lives_as_long_as_its_worker"))

    assert made.verdict is not None
    assert made.verdict.rule == "actor-lost"
    assert "reached the end of its lifetime" in made.chain[0].text
    assert "was lost with its worker" in made.chain[1].text


def test_no_mechanism_leads_back_to_its_own_cause() -> None:
    slugs = [rule.slug for rule in RULES if rule.severity == "failure"]
    ways = {
        cause: {
            effect
            for effect in slugs
            for how in MECHANISMS
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
    run = the("one_customer_has_all_the_orders").run
    change = Change(
        kind="input-size", what="bytes", before=before, after=after, why="memory"
    )

    first = chain_of(Case(run), verdict_in(run), [change])[0]

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
    run = the("one_customer_has_all_the_orders").run
    step = chain_of(Case(run), verdict_in(run), [commit])[0]

    assert step.text == "Code of prefix settle changed (fare_of at pricing.py:13)"


@pytest.mark.parametrize("sizes", [("1 GiB", "3.4 GiB"), ("200 KiB", "680 KiB")])
def test_a_change_that_fits_the_verdict_is_the_first_step(
    sizes: tuple[str, str],
) -> None:
    run = the("one_customer_has_all_the_orders").run
    before, after = sizes
    verdict = verdict_in(run)
    other = Change(kind="host", what="kernel", before="6.1", after="6.2")
    fits = Change(
        kind="input-size", what="orders", before=before, after=after, why="memory"
    )

    first, second, *_ = chain_of(Case(run), verdict, [other, fits])

    assert first.text == f"Input 3.4\N{MULTIPLICATION SIGN} larger ({before} → {after})"
    assert second == chain_of(Case(run), verdict, [other])[0]


def test_a_change_that_most_runs_have_is_no_step_of_the_chain() -> None:
    run = the("one_customer_has_all_the_orders").run
    verdict = verdict_in(run)
    usual = Change(
        kind="parameters",
        what="region",
        before="east",
        after="coast",
        rarity=0.0,
        why="the failure names its value",
    )

    chain = chain_of(Case(run), verdict, [usual])

    assert chain == chain_of(Case(run), verdict, [])
    assert unusual([usual]) == ()
