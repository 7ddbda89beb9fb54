"""`dask blackbox prune`: delete old runs."""

from __future__ import annotations

import time

import click

from dask_blackbox.cli.deleting import delete, deleting_options
from dask_blackbox.cli.options import Verb, job_option, opened_store, store_option
from dask_blackbox.report.moments import age_of

__all__ = ["prune"]


@click.command(
    cls=Verb,
    examples=[
        "prune --older-than '90 days' --dry-run",
        "prune --older-than 30d --job nightly --keep 10 --yes",
        "prune --older-than 2w --state succeeded --keep-history --yes",
    ],
)
@store_option
@job_option
@click.option(
    "--older-than",
    metavar="AGE",
    required=True,
    help="Only runs older than this: '90 days', 12h, 2w.",
)
@click.option(
    "--state",
    "states",
    type=click.Choice(("succeeded", "failed", "aborted", "lost", "gone")),
    multiple=True,
    help="Only runs in this state; gone: only the sketch is left.",
)
@click.option(
    "--keep",
    default=0,
    metavar="N",
    type=click.IntRange(min=0),
    help="Keep the newest N runs of each job regardless of age.",
)
@click.option(
    "--keep-history",
    is_flag=True,
    help='Keep the sketches that `history` and "what changed" use.',
)
@deleting_options
def prune(
    *,
    store_url: str | None,
    job: str | None,
    older_than: str,
    states: tuple[str, ...],
    keep: int,
    keep_history: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete old runs: recordings, reports, kept inputs, sketches and markers.

    Runs that are being recorded are kept.
    """
    from dask_blackbox.reader.erasing import old_erasures
    from dask_blackbox.reader.run_lookup import find_job

    before = time.time() - age_of(older_than, "--older-than")
    store = opened_store(store_url)
    found = old_erasures(
        store,
        before,
        job=None if job is None else find_job(store, job),
        states=set(states) or None,
        keep=keep,
        sketches=not keep_history,
    )
    delete(store, list(found), dry_run=dry_run, yes=yes)
