"""What a run leaves for a CI service: a summary, an annotation at its line, JUnit XML."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import dask.config
import pytest
from click.testing import CliRunner
from dask_blackbox.card import RunCard
from dask_blackbox.cli.show import show
from dask_blackbox.driver.github_summary import report_to_github
from dask_blackbox.finding import Finding
from dask_blackbox.report.ci import MOST_SUMMARY, annotation, junit, summary

SIGNED = "https://s3.example.com/b/report.html?X-Amz-Signature=abc"


def a_card(cause: str = "It divides by zero.", **more: Any) -> RunCard:
    verdict = Finding(
        rule="task-exception",
        title="ZeroDivisionError in 'price'",
        cause=cause,
        remedy="Check the orders: 100%\nof them.",
        severity="failure",
        confidence="high",
    )
    known: dict[str, Any] = {
        "job": "nightly",
        "run_id": "7",
        "state": "failed",
        "headline": "ZeroDivisionError in 'price'",
        "verdict": verdict,
        "links": {"report": SIGNED, "recording": "s3://b/runs"},
        "numbers": {"duration": 12.3456},
    }
    return RunCard(**{**known, **more})


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary of a step of GitHub Actions, whose checkout holds one script."""
    (tmp_path / "checkout" / "jobs").mkdir(parents=True)
    (tmp_path / "checkout" / "jobs" / "etl.py").write_text("100 / 0\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "checkout"))
    return tmp_path / "summary.md"


def test_a_step_has_the_card_once_and_an_annotation_without_presigned_links(
    step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step.write_text("# Earlier\n")

    report_to_github(a_card())
    report_to_github(a_card())

    written = step.read_text()
    assert written.startswith("# Earlier\n")
    assert written.count("## ✖ ZeroDivisionError in 'price'") == 1
    assert "Signature" not in written
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("::error ") == 1


def test_runs_and_attempts_of_a_step_each_have_their_card_but_not_a_whole_suite(
    step: Path,
) -> None:
    report_to_github(a_card(attempt=1))
    report_to_github(a_card(attempt=2))
    for number in range(50):
        report_to_github(a_card(run_id=f"r{number}"))

    assert step.read_text().count("## ✖") == 10


@pytest.mark.parametrize("missing", ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"])
def test_elsewhere_nothing_is_written(
    missing: str,
    step: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(missing)

    report_to_github(a_card())

    assert not step.exists()
    assert capsys.readouterr().err == ""


def test_both_can_be_switched_off(
    step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with dask.config.set({"blackbox.ci.summary": False}):
        report_to_github(a_card())
    assert not step.exists()
    assert "::error " in capsys.readouterr().err

    with dask.config.set({"blackbox.ci.annotation": False}):
        report_to_github(a_card())
    assert step.exists()
    assert "::error " not in capsys.readouterr().err


def test_a_summary_that_is_full_is_left_as_it_is(step: Path) -> None:
    step.write_text("x" * (1024 * 1024 - 10))

    report_to_github(a_card())

    assert step.stat().st_size == 1024 * 1024 - 10


def test_a_card_over_the_limit_says_how_to_see_it() -> None:
    large = a_card(cause="Él falló. " * (MOST_SUMMARY // 10))

    shown = summary(large)

    assert len(shown.encode()) < MOST_SUMMARY
    assert "ZeroDivisionError in 'price'" in shown
    assert "`dask blackbox show` prints it" in shown


@pytest.mark.parametrize(
    ("cause", "place"),
    [
        ("at {checkout}/jobs/etl.py:1 in price", "file=jobs/etl.py,line=1,"),
        ("at jobs/etl.py:1 in price", "file=jobs/etl.py,line=1,"),
        # The first line of the user's own: not one of an installed package.
        (
            "at /usr/lib/pandas/x.py:9, from {checkout}/jobs/etl.py:1",
            "file=jobs/etl.py",
        ),
        ("at {checkout}/../outside.py:1 in price", ""),
        ("at jobs/missing.py:1 in price", ""),
        ("at ../checkout/jobs/etl.py:1", "file=jobs/etl.py,line=1,"),
        ("", ""),
    ],
)
def test_an_annotation_marks_the_first_line_in_the_checkout(
    cause: str, place: str, step: Path
) -> None:
    checkout = step.parent / "checkout"
    (step.parent / "outside.py").write_text("1\n")

    line = annotation(a_card(cause=cause.format(checkout=checkout)), checkout)

    assert line is not None
    assert line.startswith(f"::error {place}")
    assert ("file=" in line.partition("::")[2].partition("::")[0]) == bool(place)


def test_an_annotation_is_escaped_as_github_documents_it(tmp_path: Path) -> None:
    card = a_card(job="a:b,c%d", headline="100%\r\nof it::set-output name=x::y")

    line = annotation(card, tmp_path)

    assert line is not None
    assert len(line.splitlines()) == 1
    match = re.fullmatch(r"::error title=([^:,]*)::(.*)", line)
    assert match is not None
    assert match[1].startswith("a%3Ab%2Cc%25d%3A 100%25%0D%0Aof it%3A%3Aset-output")
    assert "Check the orders: 100%25%0Aof them." in match[2]


@pytest.mark.parametrize("state", ["succeeded", "running"])
def test_a_run_that_did_not_fail_is_no_annotation(state: str, tmp_path: Path) -> None:
    assert annotation(a_card(state=state, verdict=None), tmp_path) is None


@pytest.mark.parametrize(
    ("state", "element", "counts"),
    [
        ("succeeded", "system-out", ("0", "0", "0")),
        ("failed", "failure", ("1", "0", "0")),
        ("aborted", "error", ("0", "1", "0")),
        ("lost", "error", ("0", "1", "0")),
        ("running", "skipped", ("0", "0", "1")),
    ],
)
def test_junit_has_one_case_for_the_run(
    state: str, element: str, counts: tuple[str, str, str]
) -> None:
    root = ET.fromstring(junit(a_card(state=state)))

    assert root.tag == "testsuites"
    (suite,) = root
    (case,) = suite
    (outcome,) = case
    assert (
        tuple(suite.get(name) for name in ("failures", "errors", "skipped")) == counts
    )
    assert (suite.get("tests"), suite.get("time")) == ("1", "12.346")
    assert (case.get("name"), case.get("classname")) == ("nightly", "dask-blackbox")
    assert outcome.tag == element


def test_junit_of_a_text_with_any_character_is_xml() -> None:
    text = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x10000)))) + "\U0001f600"

    root = ET.fromstring(junit(a_card(headline=text, job=text[:99])))

    message = root.find(".//failure")
    assert message is not None
    assert "\U0001f600" in (message.get("message") or "")


def test_a_command_reports_itself_and_show_prints_the_same(
    step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(step.parent)
    dask_command = str(Path(sys.executable).with_name("dask"))
    command = [sys.executable, "-c", "raise ValueError('no orders')"]
    options = ["--store", "runs", "--job", "nightly", "--junit", "out/unit.xml"]

    done = subprocess.run(
        [dask_command, "blackbox", "run", *options, "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    (step.parent / "full").mkdir()
    printed = CliRunner().invoke(
        show, ["--store", "runs", "--markdown", "--junit", "again.xml"]
    )
    refused = CliRunner().invoke(show, ["--store", "runs", "--junit", "full/x/../.."])

    assert done.returncode == 1
    assert "::error title=nightly%3A" in done.stderr
    assert "no orders" in step.read_text()
    assert printed.stdout.splitlines()[0] in step.read_text()
    written = (step.parent / "again.xml").read_text()
    assert 'failures="1"' in written
    assert 'failures="1"' in (step.parent / "out" / "unit.xml").read_text()
    assert refused.exit_code != 0
