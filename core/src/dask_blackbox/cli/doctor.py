"""`dask blackbox doctor`: what is wrong with store, settings and cluster, and what to do."""

from __future__ import annotations

import json

import click

from dask_blackbox.cli.options import Verb, store_option
from dask_blackbox.cli.terminal import screen

_SIGNS = {"ok": ("✔", "green"), "warning": ("!", "yellow"), "wrong": ("✖", "red")}


@click.command(
    cls=Verb,
    examples=[
        "doctor",
        "doctor --store ./runs",
        "doctor --scheduler tcp://127.0.0.1:8786",
        "doctor --json",
    ],
)
@store_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Also check this cluster: whether it can be recorded, and its clock.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def doctor(*, store_url: str | None, scheduler: str | None, as_json: bool) -> None:
    """Check versions, settings, store, credentials, permissions, clock and cluster.

    Each line shows a check and its result; a problem is followed by an arrow and its fix.
    In the store, it writes a small blob, reads it, lists and deletes it. Exits with 1 if
    there is a problem; a warning (!) does not count.
    """
    from dask_blackbox.cli.checks import checks

    shown_on = screen()
    wrong = False
    for each in checks(store_url, scheduler):
        wrong = wrong or each.state == "wrong"
        if as_json:
            click.echo(json.dumps(each._asdict(), ensure_ascii=False))
            continue
        sign, colour = _SIGNS[each.state]
        head = f"{sign} {each.what:<12}"
        click.echo(
            f"{click.style(head, fg=colour) if shown_on.colour else head} {each.result}"
        )
        if each.do:
            click.echo(f"  {'':<12} → {each.do}")
    if wrong:
        raise SystemExit(1)
