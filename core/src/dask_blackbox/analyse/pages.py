"""The rules' pages: docs/findings/*.md, from `findings/*.md` and the rules' own values.

python -m dask_blackbox.analyse.pages docs/findings
"""

from __future__ import annotations

import sys
from pathlib import Path

from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules import RULES

__all__ = ["page_of", "pages", "write_pages"]

_NOTE = "<!-- Printed from the rule: python -m dask_blackbox.analyse.pages docs/findings -->"


def pages() -> dict[str, str]:
    """Return every page by file name, the list of all rules included."""
    return {
        "README.md": _contents(),
        **{f"{rule.slug}.md": page_of(rule) for rule in RULES},
    }


def write_pages(folder: Path) -> None:
    """Write the pages into a folder; pages of rules that are no more go."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for name, text in wanted.items():
        (folder / name).write_text(text)
    for old in folder.glob("*.md"):
        if old.name not in wanted:
            old.unlink()


def page_of(rule: Rule) -> str:
    """Return a rule's page, as Markdown."""
    page = rule.page
    kind = "verdict" if rule.severity == "failure" else f"finding ({rule.severity})"
    parts = [
        _NOTE,
        f"# {rule.slug}",
        f"**{rule.title}.**  {rule.question}",
        f"| kind | retry advice |\n|---|---|\n| {kind} | `{rule.retry_advice}` |",
        f"## What it detects\n\n{page.detects}",
        f"## Evidence\n\n{page.evidence}",
        f"## What to do\n\n{page.remedy}",
        f"Before:\n\n```\n{page.before}\n```",
        f"After:\n\n```\n{page.after}\n```",
    ]
    if rule.thresholds:
        rows = "\n".join(
            f"| `{rule.slug}.{name}` | {value:g} |"
            for name, value in rule.thresholds.items()
        )
        parts.append(f"## Thresholds\n\n| name | default |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def _contents() -> str:
    def rows(rules: list[Rule]) -> str:
        return "\n".join(
            f"| [`{rule.slug}`]({rule.slug}.md) | {rule.question} |" for rule in rules
        )

    verdicts = [rule for rule in RULES if rule.severity == "failure"]
    findings = [rule for rule in RULES if rule.severity != "failure"]
    return (
        f"{_NOTE}\n\n# Verdicts and findings\n\nA failed run has exactly one verdict: "
        "the root of the chain that leads to its outcome. The order of the rules does "
        "not matter."
        "\n\n"
        f"| verdict | question |\n|---|---|\n{rows(verdicts)}\n\n"
        "Findings on runs of any outcome:\n\n"
        f"| finding | question |\n|---|---|\n{rows(findings)}\n"
    )


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
