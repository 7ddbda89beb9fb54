"""`dask blackbox why` and `rules`, as they are typed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import dask
import msgspec
import pytest
from click.testing import CliRunner, Result
from dask_blackbox import Run
from dask_blackbox.analyse import RULES
from dask_blackbox.cli import blackbox
from dask_blackbox.cli.why import json_reasons
from dask_blackbox.finding import Evidence
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.reader.reasons import why_as_dict
from dask_blackbox.report.markdown_card import MOST_OF_REASONS, markdown_reasons
from dask_blackbox.serve.cards import card_of_run
from dask_blackbox.testing import (
    EPOCH,
    a_log,
    a_metric,
    a_task_error,
    a_worker_added,
    a_worker_removed,
    an_event,
    an_exit_report,
    recorded,
)
from stored_runs import Shelf

KEY = "('hog-1', 0)"
FACTS = (
    an_event("recording-started", at=0),
    a_worker_added(),
    an_event(
        "worker-restarted-for-memory",
        "tcp://10.0.0.1:40001",
        at=9.8,
        pid=100,
        rss=4 * 2**30,
    ),
    a_worker_removed(processing=(KEY,)),
    an_exit_report(exit_code=-15, executing=[{"key": KEY, "start": EPOCH + 5}]),
    a_task_error(
        KEY,
        at=10.1,
        outcome="killed",
        exception="distributed.scheduler.KilledWorker",
        message="Attempted to run",
    ),
    a_task_error("('divide-1', 3)", at=6, exception="builtins.ZeroDivisionError"),
    a_log("CommClosedError: in <TCP (closed)>", at=11, level=40),
    a_log("CommClosedError: in <TCP (closed)>", at=12, level=40, seq=2),
)


def typed(*words: str) -> Result:
    """Return what came of typing `dask blackbox` and these words."""
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def reported(shelf: Shelf, *words: str) -> Any:
    """Return what `why --json` says of the case."""
    recorded(shelf.store, *FACTS, job="etl", state="failed")
    return json.loads(
        typed("why", "etl", "--store", shelf.url, "--json", *words).output
    )


def test_why_reports_the_verdict_and_each_fact_with_a_command_that_shows_it(
    shelf: Shelf,
) -> None:
    why = reported(shelf)

    assert why["verdict"]["rule"] == "worker-memory-limit"
    assert len(why["evidence"]) >= 1
    for fact in why["evidence"]:
        program, *words = shlex.split(fact["see"])
        assert fact["text"]
        if program == "dask":
            assert typed(*words[1:]).exit_code == 0, fact["see"]
        else:
            assert (program, words[0]) == ("python", "-c")
            exec(words[1], {})


def test_why_reports_what_else_was_considered_and_why_it_is_not_the_cause(
    shelf: Shelf,
) -> None:
    others = {each["what"]: each["why_not"] for each in reported(shelf)["considered"]}

    assert "1 other task failed, of 'divide'" in others
    assert "2 lines in the logs: 2 of CommClosedError" in others
    assert all(others.values())


def test_the_code_at_the_lines_that_a_verdict_names_is_there_if_recorded(
    shelf: Shelf,
) -> None:
    source = "def clean(part):\n    price = part['price']\n    return price\n"
    code = an_event(
        "driver-code",
        parts={"etl:clean": "etl.py:10 1a2b3c4d", "etl:other": "etl.py:30 1a2b3c4d"},
        sources={"etl:clean": source, "etl:other": "def other(): ...\n"},
    )
    error = a_task_error(
        "('clean-1', 3)",
        at=6,
        exception="builtins.KeyError",
        message="'price'",
        traceback="  File \"/jobs/etl.py\", line 11, in clean\n    price = part['price']\n",
    )
    recorded(shelf.store, FACTS[0], code, error, job="etl", state="failed")

    why = json.loads(typed("why", "etl", "--store", shelf.url, "--json").output)

    assert why["code"] == [
        {
            "at": "etl.py:11",
            "name": "clean",
            "code": (
                "  10 def clean(part):\n> 11     price = part['price']\n"
                "  12     return price"
            ),
        }
    ]


def test_why_reads_as_text(shelf: Shelf) -> None:
    recorded(shelf.store, *FACTS, job="etl", state="failed")

    printed = typed("why", "etl", "--store", shelf.url).output

    assert "(worker-memory-limit)" in printed
    assert "   $ dask blackbox logs " in printed
    assert "Rejected causes" in printed


def test_why_as_markdown_has_evidence_with_commands_and_rejected_causes(
    shelf: Shelf,
) -> None:
    recorded(shelf.store, *FACTS, job="etl", state="failed")

    printed = typed("why", "etl", "--store", shelf.url, "--markdown").output

    assert "### Why" in printed
    assert "  `dask blackbox logs " in printed
    assert "### Rejected causes" in printed


@pytest.mark.parametrize("text", ["é" * 2_000, "Traceback:\n" + "  line\n" * 300])
def test_reasons_for_tools_have_a_size_and_say_what_they_lack(
    text: str, shelf: Shelf
) -> None:
    recorded(shelf.store, *FACTS, job="etl", state="failed")
    card = card_of_run(Run.latest("etl", store=shelf.url))
    assert card.verdict is not None
    more = (*card.verdict.evidence, *(Evidence(text=text, source="log"),) * 50)
    card = msgspec.structs.replace(
        card, verdict=msgspec.structs.replace(card.verdict, evidence=more)
    )

    as_json = json_reasons(why_as_dict(card, [], run="etl"))
    as_markdown = markdown_reasons(card, [], lambda _: "dask blackbox logs etl")

    assert len(as_json.encode()) <= MOST_OF_REASONS
    assert json.loads(as_json)["verdict"]["rule"] == "worker-memory-limit"
    assert json.loads(as_json)["now"] is None
    assert "more" in json.loads(as_json)["evidence"][-1]
    assert len(as_markdown.encode()) <= MOST_OF_REASONS
    assert as_markdown.endswith(" more lines: `dask blackbox show --markdown`\n")
    assert as_markdown.count("```") % 2 == 0


def test_why_reports_what_changed_and_how_to_compare(shelf: Shelf) -> None:
    before = a_worker_added(nthreads=2, memory_limit=8 * 2**30)
    recorded(shelf.store, before, job="etl", run_id="good", started=EPOCH - 3600)
    good = Run.at(shelf.store, RunAddress.of("etl", "good", 1))
    write_sketch(shelf.store, good, good.card())
    recorded(shelf.store, *FACTS, job="etl", run_id="bad", state="failed")

    result = typed("why", "etl/bad", "--store", shelf.url)
    assert "What changed since the last good run" in result.stdout
    assert "cluster-shape memory limit: 8 GiB → 4 GiB" in result.stdout
    assert "$ dask blackbox compare etl/good/1 etl/bad/1" in result.stdout
    reported = json.loads(
        typed("why", "etl/bad", "--store", shelf.url, "--json").stdout
    )
    assert "memory limit" in {each["what"] for each in reported["changes"]}
    assert reported["past"]["last_good"]["run_id"] == "good"


def test_it_reports_the_findings_of_a_successful_run(shelf: Shelf) -> None:
    near = a_metric(at=5, memory=int(3.8 * 2**30))
    recorded(shelf.store, FACTS[0], a_worker_added(), near, job="good")

    printed = typed("why", "good", "--store", shelf.url).output

    assert "It did not fail" in printed
    assert "(memory-near-limit)" in printed


def test_rules_are_listed_in_the_order_in_which_they_are_asked() -> None:
    listed = json.loads(typed("rules", "--json").output)

    assert [each["slug"] for each in listed] == [rule.slug for rule in RULES]
    assert listed[0]["question"].endswith("?")


def test_the_page_of_a_rule_is_shown() -> None:
    printed = typed("rules", "spilling").output

    assert "# spilling" in printed
    assert "`spilling.share_of_time`" in printed
    assert json.loads(typed("rules", "spilling", "--json").output)["page"]["detects"]


@pytest.mark.parametrize("verb", [["rules"], ["why", "etl"]])
def test_a_mistake_in_the_settings_is_reported_at_once(verb: list[str]) -> None:
    with dask.config.set({"blackbox.rules.mute": ["spillling"]}):
        result = typed(*verb)

    assert result.exit_code == 2
    assert "did you mean 'spilling'?" in result.output


def test_a_rule_that_there_is_not_is_an_error_with_the_nearest() -> None:
    result = typed("rules", "worker-memory-limits")

    assert result.exit_code == 2
    assert "did you mean 'worker-memory-limit'?" in result.output
