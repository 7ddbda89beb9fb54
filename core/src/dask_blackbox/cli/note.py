"""`dask blackbox note`: what somebody knows of a run, its tags, and the baseline of its job."""

from __future__ import annotations

import getpass
import os
import socket

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    runs_beginning,
    store_option,
)
from dask_blackbox.formatting import plain


@click.command(
    cls=Verb,
    examples=[
        "note nightly/run-7 'The export was late: rerun at 06:00, ticket OPS-211.'",
        "note nightly/run-7 --tag known-issue",
        "note nightly/run-6 --baseline",
        "note nightly/run-7",
    ],
)
@click.argument("name", metavar="RUN", shell_complete=runs_beginning)
@click.argument("text", metavar="[TEXT]", required=False)
@store_option
@click.option(
    "--tag", "tags", metavar="TAG", multiple=True, help="Tag the run (repeatable)."
)
@click.option(
    "--baseline",
    is_flag=True,
    help="Make the run what `compare RUN` compares other runs of the job with.",
)
@click.option(
    "--by", metavar="NAME", help="Who writes it. Default: this user and machine."
)
def note(
    *,
    name: str,
    text: str | None,
    store_url: str | None,
    tags: tuple[str, ...],
    baseline: bool,
    by: str | None,
) -> None:
    """Write a note on RUN; without TEXT, --tag and --baseline, list the notes.

    The cards of later runs of the job that fail in the same way show it, and so do `show`,
    `why` and the viewer. Notes are deleted with their run.
    """
    from dask_blackbox.reader.notes import write_note
    from dask_blackbox.report.wording import note_texts
    from dask_blackbox.serve.cards import card_of_run

    store = opened_store(store_url)
    run = opened_run(store, name)
    card = card_of_run(run)
    if not (text or tags or baseline):
        for each in note_texts(card, most=None) or ["no notes"]:
            click.echo(each)
        return
    seen = None if card.past is None else card.past.recurrence
    write_note(
        store,
        run.address,
        text or "",
        by=by or _user(),
        tags=tags,
        fingerprint=None if seen is None else seen.fingerprint,
        baseline=baseline,
    )
    click.echo(f"noted: {plain(run.address.name)}")
    if seen is not None:
        click.echo("cards of later failures of this kind show it")
    if baseline:
        click.echo(f"`dask blackbox compare RUN` compares runs of {card.job} with it")


def _user() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # an arbitrary user id, as in some containers
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
