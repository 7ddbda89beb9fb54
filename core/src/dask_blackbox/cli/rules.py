"""`dask blackbox rules`: the questions that are asked of every run."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, TypedDict

import click
from rich.console import Console

from dask_blackbox.cli.options import Verb, screen
from dask_blackbox.errors import ConfigurationError

if TYPE_CHECKING:  # heavy: imported when it runs
    from dask_blackbox.analyse.rule import Rule


@click.command(
    cls=Verb,
    examples=[
        "rules",
        "rules worker-memory-limit",
        "rules --json",
    ],
)
@click.argument("slug", metavar="[SLUG]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(*, slug: str | None, as_json: bool) -> None:
    """List the rules, or show the page of one."""
    from dask_blackbox.analyse.rule_settings import asking
    from dask_blackbox.analyse.user_rules import (
        all_rules,
        installed_rules,
        rule_called,
    )

    asked, users = asking(), installed_rules()
    if slug is not None:
        rule = rule_called(slug)
        if rule is None:
            raise ConfigurationError(_unknown(slug, [r.slug for r in all_rules()]))
        _show(rule, as_json=as_json)
        return
    entries = [
        _entry(rule, users.origins, muted=rule.slug in asked.muted)
        for rule in all_rules()
    ]
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    Console().print(_listed(entries), highlight=False)
    for problem in users.problems:
        click.echo(f"left out: {problem}", err=True)


class _Entry(TypedDict):
    """A rule as JSON."""

    slug: str
    severity: str
    question: str
    retry_advice: str
    thresholds: dict[str, float]
    package: str
    muted: bool


def _unknown(slug: str, known: list[str]) -> str:
    close = difflib.get_close_matches(slug, known, n=1)
    like = f"did you mean '{close[0]}'? " if close else ""
    return f"there is no rule '{slug}'; {like}`dask blackbox rules` lists them"


def _entry(rule: Rule, origins: dict[str, str], *, muted: bool) -> _Entry:
    return _Entry(
        slug=rule.slug,
        severity=rule.severity,
        question=rule.question,
        retry_advice=rule.retry_advice,
        thresholds=dict(rule.thresholds),
        package=origins.get(rule.slug, "dask-blackbox"),
        muted=muted,
    )


def _listed(entries: list[_Entry]) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for each in entries:
        kind = "verdict" if each["severity"] == "failure" else each["severity"]
        more = "" if each["package"] == "dask-blackbox" else f" [{each['package']}]"
        more += " [muted]" if each["muted"] else ""
        table.add_row(
            Text(each["slug"], style="bold"), kind, Text(each["question"] + more)
        )
    return table


def _show(rule: Rule, *, as_json: bool) -> None:
    from rich.markdown import Markdown

    if as_json:
        from dataclasses import asdict

        from dask_blackbox.analyse.user_rules import installed_rules

        entries = _entry(rule, installed_rules().origins, muted=False)
        click.echo(
            json.dumps(
                {**entries, "page": asdict(rule.page)}, indent=2, ensure_ascii=False
            )
        )
        return
    page = _page_of(rule)
    if screen().colour:
        Console().print(Markdown(page))
    else:
        click.echo(page)


def _page_of(rule: Rule) -> str:
    """Return a rule's page, as Markdown."""
    page = rule.page
    kind = "verdict" if rule.severity == "failure" else f"finding ({rule.severity})"
    parts = [
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
        rows = "\n".join(_threshold_row(rule, name) for name in rule.thresholds)
        parts.append(
            "## Thresholds\n\n| name | default | unit | what is compared |\n"
            f"|---|---|---|---|\n{rows}"
        )
    return "\n\n".join(parts)


def _threshold_row(rule: Rule, name: str) -> str:
    described = rule.page.thresholds.get(name)
    unit, meaning = (described.unit, described.meaning) if described else ("", "")
    return (
        f"| `{rule.slug}.{name}` | {rule.thresholds[name]:.12g} | {unit} | {meaning} |"
    )
