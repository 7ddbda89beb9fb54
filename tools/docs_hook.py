"""For MkDocs: the rules' front matter is shown, links that leave docs/ lead to the repository.

`docs/findings` is the folder that the rules read (a symbolic link): its pages are shown with
what their front matter says, and `findings.md` lists them.  The nav lists whole folders.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.utils.meta import get_data

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]*)")
_FOLDERS = ("findings", "decisions")
_LIST = "findings.md"


def on_config(config: Any) -> Any:
    """Write out the folders of the nav."""
    config["nav"] = [_written_out(each) for each in config["nav"]]
    return config


def _written_out(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_written_out(each) for each in entry]
    if isinstance(entry, dict):
        return {
            name: _pages(what.rstrip("/"))
            if isinstance(what, str) and what.rstrip("/") in _FOLDERS
            else _written_out(what)
            for name, what in entry.items()
        }
    return entry


def _pages(folder: str) -> list[str]:
    found = sorted((ROOT / "docs" / folder).glob("*.md"))
    found.sort(key=lambda path: path.name not in ("README.md", "index.md"))
    listed = [f"{folder}.md"] if (ROOT / "docs" / f"{folder}.md").exists() else []
    return [*listed, *(f"{folder}/{path.name}" for path in found)]


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Show what the front matter of a rule says; point links outside docs/ to the repository."""
    folder = posixpath.dirname(page.file.src_uri)
    if folder == "findings":
        markdown = _with_front_matter(markdown, page.meta)
        page.title = Path(page.file.src_uri).stem
        real = Path(page.file.abs_src_path).resolve().relative_to(ROOT)
        page.edit_url = f"{config['repo_url']}/edit/main/{real.as_posix()}"
    elif page.file.src_uri == _LIST:
        markdown += _list_of_rules()

    def outside(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link[2]))
        if target.startswith("docs/"):
            return link[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{link[1]}{config['repo_url']}/{kind}/main/{target}"

    return _LINK.sub(outside, markdown)


def _with_front_matter(markdown: str, matter: dict[str, Any]) -> str:
    """Return a rule's page with its question, severity, retry advice and thresholds."""
    heading, _, text = markdown.strip().partition("\n")
    row = f"| {_kind(matter)} | `{matter['retry_advice']}` |"
    parts = [
        heading,
        f"**{matter['title']}.**  {matter['question']}",
        f"| kind | retry advice |\n|---|---|\n{row}",
        text.strip(),
    ]
    thresholds = matter.get("thresholds")
    if thresholds:
        slug = heading.removeprefix("# ")
        rows = "\n".join(
            f"| `{slug}.{name}` | {each['value']} | {each['unit']} | {each['meaning']} |"
            for name, each in thresholds.items()
        )
        parts.append(
            "## Thresholds\n\n| name | default | unit | what is compared |\n"
            f"|---|---|---|---|\n{rows}"
        )
    return "\n\n".join(parts) + "\n"


def _kind(matter: dict[str, Any]) -> str:
    severity = matter["severity"]
    return "verdict" if severity == "failure" else f"finding ({severity})"


def _list_of_rules() -> str:
    verdicts: list[str] = []
    findings: list[str] = []
    for file in sorted((ROOT / "docs" / "findings").glob("*.md")):
        _, matter = get_data(file.read_text("utf-8"))
        chosen = verdicts if matter["severity"] == "failure" else findings
        chosen.append(
            f"| [`{file.stem}`](findings/{file.name}) | {matter['question']} |"
        )
    return (
        "\n\n| verdict | question |\n|---|---|\n" + "\n".join(verdicts) + "\n\n"
        "Findings on runs of any outcome:\n\n"
        "| finding | question |\n|---|---|\n" + "\n".join(findings) + "\n"
    )
