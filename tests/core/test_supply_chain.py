"""What a release trusts is pinned, owned and listed."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MEMBERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"][
    "workspace"
]["members"]

_USES = re.compile(r"^\s*(?:- )?uses: *(.*)$", re.MULTILINE)
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d[\w.]*( # zizmor: .*)?")
_NAME = re.compile(r"[\w.-]+")


def test_there_are_workflows() -> None:
    assert {"ci.yml", "release.yml", "audit.yml"} <= {each.name for each in WORKFLOWS}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_each_action_is_pinned_by_commit_with_its_version(workflow: Path) -> None:
    used = _USES.findall(workflow.read_text())

    assert used
    assert [each for each in used if not _PINNED.fullmatch(each)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_checkout_keeps_credentials_only_to_publish_the_docs(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    keeping = {
        name
        for name, job in jobs.items()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
        and step.get("with", {}).get("persist-credentials") is not False
    }

    assert keeping == ({"docs"} if workflow.name == "release.yml" else set())


def test_code_owners_own_what_exists() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    paths = [line.split()[0] for line in lines if line and not line.startswith("#")]
    gone = [
        path
        for path in paths
        if path != "*"
        and not (ROOT / path.lstrip("/")).exists()
        and not any(ROOT.glob(path.lstrip("/")))
    ]

    assert len(paths) > 10
    assert gone == []


def test_dependabot_updates_each_member() -> None:
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())
    [python] = [each for each in config["updates"] if each["package-ecosystem"] == "uv"]

    assert python["directories"] == ["/", *(f"/{member}" for member in MEMBERS)]


@pytest.mark.parametrize("member", MEMBERS)
def test_the_notice_lists_the_dependencies_with_licences(member: str) -> None:
    folder = ROOT / member
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())[
        "project"
    ]
    # Those that only tests and the demo need are not for users.
    extras = {
        name: needed
        for name, needed in project["optional-dependencies"].items()
        if name not in {"demo", "testing"}
    }
    needed = {
        _NAME.match(each)[0]  # type: ignore[index]
        for each in (*project["dependencies"], *chain(*extras.values()))
    }
    listed = re.findall(
        r"^  ([\w.-]+)(?: \(extra [\w-]+\))?  +\S+",
        (folder / "NOTICE").read_text(),
        re.MULTILINE,
    )

    assert set(listed) == needed
    assert "NOTICE" in project["license-files"]


@pytest.mark.parametrize("member", MEMBERS)
def test_no_shipped_file_is_of_another_project(member: str) -> None:
    """NOTICE says so: what is vendored carries a copyright line, or is a font."""
    shipped = [each for each in (ROOT / member / "src").rglob("*") if each.is_file()]
    foreign = [
        str(each.relative_to(ROOT))
        for each in shipped
        if each.suffix in {".woff", ".woff2", ".ttf", ".otf"}
        or (
            each.suffix in {".js", ".css", ".html", ".svg"}
            and re.search(
                r"copyright|@license|\(c\) \d{4}", each.read_text(), re.IGNORECASE
            )
        )
        or each.name.endswith((".min.js", ".min.css"))
    ]

    assert shipped
    assert foreign == []
