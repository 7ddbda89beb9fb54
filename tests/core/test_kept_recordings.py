"""What is said of real recordings: every word of their cards, and whether it is true.

The recordings are those of `tests/kept`; each is diagnosed once.
A changed word is a difference from the snapshot of its set, in `__snapshots__`.
If the change is meant, `make snapshots` writes them anew, and the commit shows every word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from dask_blackbox.analyse import RULES
from dask_blackbox.analyse.complete_tables import completed
from dask_blackbox.analyse.core_seconds import phases_of
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.cli.why import json_reasons
from dask_blackbox.events import SchedulerInfo
from dask_blackbox.formatting import need
from dask_blackbox.reader.reasons import how_to_see, why_as_dict
from dask_blackbox.report import text
from dask_blackbox.report.markdown_card import MOST_OF_REASONS, markdown_reasons
from dask_blackbox.report.prefix_graph import prefix_rows
from dask_blackbox.report.wording import relevant_numbers
from dask_blackbox.setting_changes import changes_in
from dask_blackbox.tables import read_table, write_tables
from kept_recordings import (
    SETS,
    diagnosed,
    expectations,
    names,
    odd_words,
    problem_of,
    recordings,
    text_of,
    wrong_chain,
)
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.amber import AmberSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

# Diagnosed once in a process: all of this file belongs to one.
pytestmark = pytest.mark.xdist_group("kept-recordings")

# Nobody has recorded a run in which these fire: hosts, histories and users make them.
_WITHOUT_A_RECORDING = frozenset(
    {
        "cluster-orphaned",
        "known-bug",
        "memory-forecast",
        "memory-limit-ignored",
        "more-memory-than-usual",
        "overproduction",
        "part-failed",
        "pod-not-started",
        "rule-failed",
        "silent-empty-input",
        "slower-than-usual",
        "worker-evicted",
        "workers-scaled-down",
    }
)


class _OneFileASet(AmberSnapshotExtension):
    """Keeps the snapshots of a set, sorted by name, in a file of its own."""

    @classmethod
    def get_file_basename(
        cls, *, test_location: PyTestLocation, index: SnapshotIndex
    ) -> str:
        return re.split(r"[\[:]", test_location.snapshot_name)[1]

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        name = cls.get_file_basename(test_location=test_location, index=0)
        return Path(snapshot_location).stem == name


each_recording = pytest.mark.parametrize(
    ("of", "name"), names(), ids=[":".join(each) for each in names()]
)


@each_recording
def test_the_card(of: str, name: str, snapshot: SnapshotAssertion) -> None:
    # What is written is of the real order, and what is compared with it of another one.
    found = diagnosed(of, name, shuffled=not snapshot.session.update_snapshots)

    assert text_of(found) == snapshot.use_extension(_OneFileASet)


@each_recording
def test_what_is_reported_is_right(of: str, name: str) -> None:
    assert problem_of(expectations(of)[name], diagnosed(of, name).card) == ""


@each_recording
def test_what_is_reported_is_well_formed(of: str, name: str) -> None:
    run, card, _ = diagnosed(of, name)

    assert odd_words(run, card) == []
    assert wrong_chain(card) == []


@pytest.mark.parametrize("of", SETS)
def test_a_set_has_the_recordings_that_something_is_expected_of(of: str) -> None:
    snapshots = Path(__file__).parent / "__snapshots__" / f"{of}.ambr"
    written = re.findall(
        r"^# name: .*:(.*)\]$", snapshots.read_text("utf-8"), re.MULTILINE
    )

    assert [*recordings(of)] == [*expectations(of)] == written


def test_every_rule_has_a_recording_that_it_fires_in() -> None:
    cards = [diagnosed(*each).card for each in names()]
    fired = {e.rule for card in cards for e in (card.verdict, *card.findings) if e}

    assert fired == {rule.slug for rule in RULES} - _WITHOUT_A_RECORDING


# Numbers whose rows were not recorded, or are those of two clusters, with the reason.
_NOT_IN_TABLES = {
    "connections_to_a_warehouse_are_never_closed": "an old recorder lost errors at the end",
}


def _queries() -> dict[str, str]:
    """Return the queries that docs/tables.md gives for the numbers of a card."""
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text("utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| `(SELECT .+)` \|$", page, re.MULTILINE))


@each_recording
def test_tables_parquet_and_report_agree_with_the_card(of: str, name: str) -> None:
    run, card, _ = diagnosed(of, name)
    stored = {
        table: read_table(table, blob) for table, blob in write_tables(run).items()
    }
    tables = pl.SQLContext(tasks=stored["tasks"], errors=stored["errors"])
    counted = {n: tables.execute(q, eager=True).item() for n, q in _queries().items()}
    if len(run.of(SchedulerInfo)) > 1:  # each has its own tasks, whatever their keys
        assert card.numbers["tasks"] >= counted.pop("tasks")
    outcomes = Counter(stored["tasks"]["outcome"].to_list())
    rows = prefix_rows(executions_of(run))

    assert {n: card.numbers[n] for n in counted} == counted
    assert len(counted) >= 4
    assert outcomes["retried"] == card.numbers["retried"]
    assert [sum(row.tasks for row in rows), sum(row.killed for row in rows)] == [
        card.numbers["executions"],
        card.numbers["killed"],
    ]
    if name not in _NOT_IN_TABLES:
        own = pl.col("cause").is_null() | (pl.col("cause") == pl.col("key"))
        raised = stored["errors"].filter(own & (pl.col("outcome") == "erred"))
        assert set(stored["tasks"].filter(pl.col("outcome") == "erred")["key"]) <= set(
            raised["key"]
        )
    shown = text(card)
    for number in set(counted) & set(relevant_numbers(card)):
        label = f"{number.replace('_', ' ')} {card.numbers[number]:,.0f}"
        assert re.search(rf"\b{label}\b", shown), label
    assert completed(run).tasks.equals(run.tasks)  # once is enough
    assert completed(run).errors.equals(run.errors)
    assert sum(seconds for _, seconds in phases_of(run)) == pytest.approx(
        card.numbers.get("duration", 0), abs=0.01
    )
    shares = [each.cost.share for each in card.findings if each.cost is not None]
    assert all(share is None or 0 <= share <= 1 for share in shares)


@each_recording
def test_what_is_to_be_pasted_is_what_the_remedy_says(of: str, name: str) -> None:
    verdict = diagnosed(of, name).card.verdict
    if verdict is None:
        return
    memory = "" if verdict.worker_memory is None else need(verdict.worker_memory)

    for change in changes_in(verdict.remedy, memory_limit=memory):
        assert str(change.values.get("memory_limit", "")) in verdict.remedy
        assert "lifetime" in change.values or "lifetime_restart" not in change.values


@each_recording
def test_reasons_for_tools_are_whole(of: str, name: str) -> None:
    found = diagnosed(of, name)
    reasons = why_as_dict(found.card, found.rejected, run=name)
    rejected = [f"{each.what}: {each.why_not}." for each in found.rejected]

    as_json = json_reasons(reasons)
    printed = markdown_reasons(found.card, rejected, partial(how_to_see, run=name))

    assert len(as_json.encode()) <= MOST_OF_REASONS
    assert set(json.loads(as_json)) == set(reasons)
    assert not re.search(r"\(\d+ (?:characters )?more\)", as_json)
    assert len(printed.encode()) <= MOST_OF_REASONS
    assert " more lines: `dask" not in printed
