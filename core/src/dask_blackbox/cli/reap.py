"""`dask blackbox reap`: close clusters whose driver is gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_store,
    require_folder,
    runs_beginning,
    store_option,
)
from dask_blackbox.errors import RecordingError, RunNotFoundError
from dask_blackbox.formatting import age_of

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader import Run
    from dask_blackbox.store import Store

_STATES = ("aborted", "lost")


@click.command(
    cls=Verb,
    examples=[
        "reap --dry-run",
        "reap nightly/run-7",
        "reap --since '2 days'",
    ],
)
@click.argument(
    "names", metavar="[JOB/RUN]...", nargs=-1, shell_complete=runs_beginning
)
@store_option
@click.option(
    "--since",
    metavar="AGE",
    default="7 days",
    show_default=True,
    help="Without JOB/RUN: only runs that started since then.",
)
@click.option("-n", "--dry-run", is_flag=True, help="List the clusters and close none.")
def reap(
    *, names: tuple[str, ...], store_url: str | None, since: str, dry_run: bool
) -> None:
    """Close clusters that were started for a run and outlived its process.

    Without JOB/RUN, it closes the clusters of all runs that were recently aborted or
    lost. It checks each scheduler's id first, so another cluster at the same address is
    not closed.
    """
    from dask_blackbox.recorder.orphaned_clusters import close_now, owned_clusters

    store = opened_store(store_url)
    after = time.time() - age_of(since, "--since")
    failed, count = 0, 0
    for name, run in _runs(store, names, after):
        if run.state == "running":
            click.echo(
                f"{name} is being recorded; its cluster is not closed.", err=True
            )
            continue
        for cluster in owned_clusters(run):
            if dry_run:
                click.echo(f"{name}: {cluster.address}")
                continue
            error = close_now(cluster)
            if error is None:
                continue
            count, failed = count + 1, failed + bool(error)
            text = f"is not closed: {error}" if error else "is closed"
            click.echo(f"{name}: the cluster at {cluster.address} {text}")
    if not count:
        require_folder(store.url)
    if not count and not dry_run:
        click.echo("No cluster of these runs answers any more.", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _runs(
    store: Store, names: tuple[str, ...], after: float
) -> Iterator[tuple[str, Run]]:
    from dask_blackbox.reader import Run, find_run
    from dask_blackbox.reader.run_index import entries

    if names:
        yield from ((name, find_run(store, name)) for name in names)
        return
    for entry in entries(store):
        if entry.started < after:
            return
        if entry.state not in _STATES:
            continue
        try:
            yield entry.address.name, Run.at(store, entry.address)
        except (RecordingError, RunNotFoundError) as error:
            click.echo(f"{entry.address.name}: {error}", err=True)
