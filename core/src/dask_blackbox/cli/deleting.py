"""What `rm` and `prune` share: show what would go, ask, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader.erasing import Erasure
    from dask_blackbox.store import Store

__all__ = ["delete", "deleting_options"]

_F = TypeVar("_F", bound=Callable[..., object])


def deleting_options(command: _F) -> _F:
    """Give a verb the options `--dry-run` and `--yes`."""
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
    from dask_blackbox.formatting import counted
    from dask_blackbox.reader.erasing import erase

    alive = [each for each in found if each.alive]
    going = [each for each in found if not each.alive]
    for each in alive:
        click.echo(f"{_shown(each)} is being recorded and is kept.", err=True)
    if not going:
        click.echo(f"Nothing to delete in {store.url}.", err=True)
        return
    if dry_run or not yes:
        for each in going:
            click.echo(f"{_shown(each)}  {counted(len(each.blobs), 'blob')}")
    blobs = sum(len(each.blobs) for each in going)
    what = f"{counted(len(going), 'run')} ({counted(blobs, 'blob')}) in {store.url}"
    if dry_run:
        click.echo(f"Would delete {what}.", err=True)
        return
    if not yes:
        click.confirm(f"Delete {what}?", abort=True, err=True)
    count = erase(store, going, tell=lambda each: None)
    click.echo(
        f"Deleted {counted(len(going), 'run')} ({counted(count, 'blob')}) in {store.url}.",
        err=True,
    )


def _shown(each: Erasure) -> str:
    from dask_blackbox.formatting import moment

    job, run, attempt = each.address
    began = "" if each.started is None else f"  {moment(each.started)}"
    return f"{each.state:<9}  {job}/{run}/{attempt}{began}"
