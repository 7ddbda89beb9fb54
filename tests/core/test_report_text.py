"""The card as text: everything on it is said, nothing is torn, nothing takes over the terminal."""

from __future__ import annotations

import subprocess
import sys

from dask_blackbox.card import RunCard
from dask_blackbox.finding import Change, Evidence, Finding, Subject
from dask_blackbox.report import text

LONG_LINK = "https://bucket.example/" + "x" * 180


def a_verdict(**more: object) -> Finding:
    reported: dict[str, object] = {
        "rule": "worker-memory-limit",
        "title": "A worker reached its memory limit",
        "cause": "tcp://w1 held 7.6 GiB of 8 GiB while it ran 'load-1'",
        "severity": "failure",
        "confidence": "high",
        "remedy": "Give each worker 24 GiB",
        "retry_advice": "memory",
        "retry_confidence": "high",
        "subject": Subject(key="load-1", prefix="load", worker="tcp://w1"),
        "evidence": (Evidence(text="exit code -15", source="workers", at=1.5),),
    }
    return Finding(**{**reported, **more})  # type: ignore[arg-type]


def a_card(**more: object) -> RunCard:
    reported: dict[str, object] = {
        "job": "nightly",
        "run_id": "run-1",
        "state": "failed",
        "headline": "Workers ran out of memory in load",
        "verdict": a_verdict(),
        "completeness": {"recorded": True, "kept": "store", "complete": True},
    }
    return RunCard(**{**reported, **more})  # type: ignore[arg-type]


def test_a_failed_run_gives_the_reason_and_the_remedy() -> None:
    rendered = text(
        a_card(changes=(Change(kind="package", what="pandas", before="2", after="3"),))
    )

    assert rendered.splitlines() == [
        "✖ FAILED  nightly · run-1 · attempt 1",
        "Workers ran out of memory in load",
        "",
        "  why         A worker reached its memory limit  (worker-memory-limit)",
        "              tcp://w1 held 7.6 GiB of 8 GiB while it ran 'load-1'",
        "  do          Give each worker 24 GiB",
        "  retry       memory (high): a retry needs more memory",
        "  confidence  high (proved by the evidence)",
        "  about       task load-1 · worker tcp://w1",
        "  evidence    00:00:01.500  exit code -15",
        "  changed     package pandas: 2 → 3",
    ]


def test_a_title_that_is_the_headline_is_printed_once_and_whole() -> None:
    title = "A worker reached its memory limit"

    cut = text(a_card(headline="A worker reached its…")).splitlines()

    assert cut == text(a_card(headline=title)).splitlines()
    assert cut[1:5] == [
        title,
        "",
        (
            "  why         tcp://w1 held 7.6 GiB of 8 GiB while it ran 'load-1'  "
            "(worker-memory-limit)"
        ),
        "  do          Give each worker 24 GiB",
    ]


def test_lines_keep_to_the_width_but_links_stay_whole() -> None:
    card = a_card(
        headline="word " * 60,
        verdict=a_verdict(cause="x" * 300, remedy="word " * 60),
        links={"report": LONG_LINK, "recording": "s3://bucket/run"},
        numbers={"duration": 192.4, "tasks": 31244, "peak_memory": 2**33, "spilled": 7},
    )

    lines = text(card, width=72).splitlines()

    links = [line for line in lines if "://" in line and "held" not in line]
    assert any(line.endswith(LONG_LINK) for line in links)
    assert all(len(line) <= 72 for line in lines if LONG_LINK not in line)
    assert "".join(lines).count("x" * 40) >= 3  # folded, not cut off


def test_what_does_not_fit_is_counted() -> None:
    evidence = tuple(Evidence(text=f"fact {n}", source="logs") for n in range(9))

    rendered = text(a_card(verdict=a_verdict(evidence=evidence)))

    assert "fact 5" in rendered
    assert "fact 6" not in rendered
    assert "+3 more" in rendered


def test_a_long_traceback_keeps_its_end() -> None:
    lines = ["Traceback:", *(f"  line {n}" for n in range(40)), "ValueError: the end"]
    fact = Evidence(text="\n".join(lines), source="errors")

    rendered = text(a_card(verdict=a_verdict(evidence=(fact,))))

    assert "ValueError: the end" in rendered
    assert "more lines" in rendered


def test_an_unrecorded_run_reports_it_before_anything_else() -> None:
    reason = "s3://bucket denies PutObject"
    card = a_card(completeness={"recorded": False, "reason": reason})

    assert text(card).splitlines()[2] == f"! This run was not recorded: {reason}"


def test_missing_data_is_reported_only_if_there_is_any() -> None:
    gaps = {"scheduler tcp://s": ["2 batches never came"]}
    lacking = a_card(
        completeness={"recorded": True, "complete": False, "missing": gaps}
    )

    assert "missing" not in text(a_card())
    assert "  missing     scheduler tcp://s: 2 batches never came" in text(lacking)


def test_a_log_line_cannot_paint_on_the_terminal() -> None:
    fact = Evidence(
        text="\x1b]0;owned\x07\x1b[31mred\x1b[0m\rover [bold]x[/bold]", source="logs"
    )

    rendered = text(
        a_card(headline="a\x1b[2Jb\u202e", verdict=a_verdict(evidence=(fact,)))
    )

    assert "\x1b" not in rendered
    assert "\u202e" not in rendered
    assert "[bold]x[/bold]" in rendered


def test_colour_is_only_added_when_asked_for() -> None:
    assert "\x1b[" in text(a_card(), colour=True)
    assert "\x1b[" not in text(a_card())


def test_hosts_can_show_a_card_without_loading_tables_or_plots() -> None:
    program = (
        "import sys; from dask_blackbox.report import text, markdown; "
        "print([m for m in ('polars', 'bokeh', 'distributed', 'jinja2') if m in sys.modules])"
    )

    rendered = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert rendered.stdout.strip() == "[]"
