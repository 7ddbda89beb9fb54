"""Rules of the user's own: installed, asked, and kept from doing harm."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled
from dask_blackbox import Case, Evidence, Finding, Page, Rule
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.user_rules import installed_rules
from dask_blackbox.finding import Confidence
from dask_blackbox.testing import (
    a_run,
    a_task_error,
    findings_of,
    fires,
    recorded,
    stays_silent,
)
from project_uv import UV
from runs_from_rows import the_verdict
from stored_runs import Shelf

pytestmark = pytest.mark.processes

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
RULE, ENTRY_POINT, TESTS = re.findall(
    r"```(?:python|toml)\n(.*?)```", PAGE.read_text(), re.DOTALL
)
FAILED = a_run(a_task_error(message="no licence for solver"), state="failed")


def a_rule(slug: str = "mine", ask: Any = None, **facts: Any) -> Rule:
    """Return a rule that says one thing of every run, unless configured otherwise."""

    def always(_: Case) -> Iterator[Finding]:
        yield rule.found(
            f"{slug} fired",
            cause="It always does.",
            remedy="Nothing.",
            confidence="high",
            evidence=(Evidence(text="a fact", source="events"),),
        )

    page = Page(detects="d", evidence="e", remedy="r", before="b", after="a")
    facts = {"severity": "failure", "title": "t", "question": "q?", **facts}
    rule = Rule(slug=slug, ask=ask or always, page=page, **facts)
    return rule


def sure(slug: str, confidence: Confidence) -> Finding:
    """Return a verdict of a confidence."""
    rule = a_rule(slug)
    return rule.found("It fired", cause="c", remedy="r", confidence=confidence)


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return what installs a package `our-rules` into this process, for a test's length.

    Takes the objects that its entry points name, by the entry points' names.
    """
    monkeypatch.syspath_prepend(tmp_path)
    module = "rules_of_a_test"

    def now(**named: Any) -> None:
        info = tmp_path / "our_rules-1.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-rules\n")
        lines = [f"{name} = {module}:{name}" for name in named]
        text = "[dask_blackbox.rules]\n" + "\n".join(lines)
        (info / "entry_points.txt").write_text(text)
        home = type(sys)(module)
        vars(home).update({k: v for k, v in named.items() if v is not None})
        monkeypatch.setitem(sys.modules, module, home)
        invalidate_caches()
        installed_rules.cache_clear()

    yield now
    installed_rules.cache_clear()


def test_the_package_of_the_docs_is_installed_asked_and_listed(
    tmp_path: Path, shelf: Shelf
) -> None:
    info = "our_rules-1.dist-info"
    wheel = tmp_path / "our_rules-1-py3-none-any.whl"
    entry_points = ENTRY_POINT.replace('[project.entry-points."', "[").replace(
        '"]', "]"
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("our_rules.py", RULE)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: our-rules\nVersion: 1\n"
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/entry_points.txt", entry_points.replace('"', ""))
        archive.writestr(f"{info}/RECORD", "")
    site = tmp_path / "site"
    command = [UV, "pip", "install", "--quiet", "--offline", "--no-deps"]
    command += ["--python", sys.executable, "--target", str(site), str(wheel)]
    subprocess.run(command, check=True, timeout=scaled(120))
    (tmp_path / "test_ours.py").write_text(TESTS)
    refused = a_task_error("('solve-1', 7)", message="no licence for solver")
    recorded(shelf.store, refused, job="etl", state="failed")
    code = (
        "import sys, pytest; from dask_blackbox.cli import blackbox\n"
        "blackbox(['rules'], standalone_mode=False)\n"
        f"blackbox(['why', 'etl', '--store', {shelf.url!r}], standalone_mode=False)\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(tmp_path / 'test_ours.py')!r}]))"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(site), "HOME": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
        timeout=scaled(200),
    ).stdout

    assert re.search(r"^licence-server-down .*\n?.*\[our-rules\]", shown, re.MULTILINE)
    assert "The licence server refused 1 task(s)  (licence-server-down)" in shown
    assert "2 passed" in shown


def test_a_verdict_of_a_users_rule_comes_before_ours(install: Install) -> None:
    install(mine=a_rule("mine"))

    found = the_verdict(FAILED)
    assert found.rule == "mine"


def test_the_last_resort_comes_before_unknown_only(install: Install) -> None:
    install(mine=a_rule("mine", turn="last"))
    assert findings_in(a_run(state="failed"))[0].rule == "mine"
    ours = the_verdict(FAILED)
    assert ours.rule == "task-exception"


def test_findings_of_the_users_are_sorted_by_severity(install: Install) -> None:
    install(
        mine=[a_rule("mine", severity="notice"), a_rule("more", severity="warning")]
    )

    found = [each.rule for each in findings_in(a_run())]
    assert found.index("more") < found.index("mine")


def test_the_more_confident_of_two_user_verdicts_decides(
    install: Install,
) -> None:
    install(a=a_rule("aaa", ask=lambda _: iter([sure("aaa", "medium")])))
    alone = findings_in(FAILED)[0]
    install(
        a=a_rule("aaa", ask=lambda _: iter([sure("aaa", "medium")])),
        b=a_rule("bbb", ask=lambda _: iter([sure("bbb", "high")])),
    )

    assert (alone.rule, findings_in(FAILED)[0].rule) == ("aaa", "bbb")


def test_a_rule_of_another_severity_gives_no_verdict(install: Install) -> None:
    verdict = sure("mine", "high")
    install(mine=a_rule("mine", ask=lambda _: iter([verdict]), severity="warning"))

    found = findings_in(FAILED)

    assert [found[0].rule, found[-1].rule] == ["task-exception", "rule-failed"]
    assert "make it a rule of severity 'failure'" in found[-1].cause


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: 1 / 0,
        lambda _: iter(["no finding"]),
        lambda case: a_rule("another").ask(case),
        lambda _: None,
    ],
    ids=["raises", "yields text", "yields another's finding", "is no generator"],
)
def test_a_rule_that_fails_is_a_line_and_a_fact_and_nothing_else(
    broken: Any, install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(broken=a_rule("broken", ask=broken))

    found = findings_in(FAILED)

    assert [found[0].rule, found[-1].rule] == ["task-exception", "rule-failed"]
    assert "'broken' of our-rules: " in found[-1].cause
    assert len(caplog.records) == 1
    assert "continues without the rule 'broken' of our-rules" in caplog.text


def test_what_cannot_be_asked_is_left_out_and_named(install: Install) -> None:
    install(
        a=[a_rule("good"), a_rule("better")],
        b=a_rule("task-exception"),
        c=a_rule("good"),
        d=a_rule("Not_A_Slug"),
        e="no rule",
        f=None,
    )

    found = installed_rules()

    assert [rule.slug for rule in found.rules] == ["good", "better"]
    assert [problem[0] for problem in found.problems] == ["b", "c", "d", "e", "f"]
    assert "is a rule of dask-blackbox" in found.problems[0]
    assert "is already a rule of our-rules" in found.problems[1]
    assert "is not a slug" in found.problems[2]
    assert "'no rule' is no" in found.problems[3]
    assert "AttributeError" in found.problems[4]


def test_the_harness_reports_what_is_wrong_with_a_rule() -> None:
    rule = a_rule()

    assert fires(rule, a_run(), naming=["It always does"]).rule == "mine"
    with pytest.raises(AssertionError, match="does not name 'solve-1'"):
        fires(rule, a_run(), naming=["solve-1"])
    with pytest.raises(AssertionError, match="mine fires: mine fired"):
        stays_silent(rule, a_run())
    with pytest.raises(AssertionError, match="gave one of another"):
        findings_of(a_rule(ask=lambda case: a_rule("another").ask(case)), a_run())


def test_the_harness_asks_recordings_too(shelf: Shelf) -> None:
    address = recorded(shelf.store, a_task_error(), job="etl", state="failed")

    assert len(findings_of(a_rule(), f"{shelf.url}/{address.folder}")) == 1
