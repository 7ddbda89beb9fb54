"""`dask blackbox prune`: delete old runs; and what all commands that delete runs share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from dask_blackbox.cli.options import (
    Verb,
    job_option,
    opened_store,
    require_folder,
    store_option,
)
from dask_blackbox.formatting import age_of, counted, duration, moment

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader.deletion import Erasure
    from dask_blackbox.store import Store

_F = TypeVar("_F", bound=Callable[..., object])


def deleting_options(command: _F) -> _F:
    """Add to a command the options `--dry-run` and `--yes`."""
    dry = click.option(
        "-n", "--dry-run", is_flag=True, help="Show what would be deleted, then exit."
    )
    return dry(
        click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation.")(
            command
        )
    )


def delete(store: Store, found: list[Erasure], *, dry_run: bool, yes: bool) -> None:
    """Delete runs, after a question; those that are being recorded stay."""
    from dask_blackbox.reader.deletion import erase
    from dask_blackbox.store.base import KeepsDeleted

    alive = [each for each in found if each.alive]
    going = [each for each in found if not each.alive]
    for each in alive:
        click.echo(f"{_shown(each)} is being recorded and is not deleted.", err=True)
    if not found:
        require_folder(store.url)
    if not going:
        click.echo(f"Nothing to delete in {store.url}.", err=True)
        return
    for each in going:
        click.echo(f"{_shown(each)}  {counted(len(each.blobs), 'blob')}")
    blobs = sum(len(each.blobs) for each in going)
    what = f"{counted(len(going), 'run')} ({counted(blobs, 'blob')}) in {store.url}"
    if dry_run:
        click.echo(f"Would delete {what}.", err=True)
        return
    if not yes:
        click.confirm(f"Delete {what}?", abort=True, err=True)
    count = erase(store, going, by=click.get_current_context().command_path)
    click.echo(
        f"Deleted {counted(len(going), 'run')} ({counted(count, 'blob')}) in {store.url}.",
        err=True,
    )
    if isinstance(store, KeepsDeleted) and (kept := store.kept_of_deleted()):
        click.echo(kept, err=True)


def _shown(each: Erasure) -> str:
    began = ""
    if each.started is not None:
        age = duration(max(0.0, time.time() - each.started))
        began = f"  {moment(each.started)}  {age} old"
    return f"{each.state:<9}  {each.address.name}{began}"


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
    from dask_blackbox.reader.deletion import old_erasures
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
