"""`dask blackbox prefect …`: what only Prefect has."""

from __future__ import annotations

import click
from dask_blackbox.cli.options import opened_store, store_option
from dask_blackbox.errors import BlackboxError

__all__ = ["prefect"]


@click.group()
def prefect() -> None:
    """Set Prefect's own records of recorded runs right."""


@prefect.command()
@click.argument("name", metavar="RUN")
@store_option
def finalise(*, name: str, store_url: str | None) -> None:
    """Give the flow run of RUN, whose process is gone, its final state and its card.

    RUN is the flow run's id, or whatever `dask blackbox show` takes.  Task runs that are
    still running are set to Crashed with the verdict; what has ended is left as it is.
    """
    from dask_blackbox.events import TaskNamed
    from dask_blackbox.reader import find_run
    from dask_blackbox.report import overview_of

    from prefect_dask_blackbox.finalising import finalise_run

    run = find_run(opened_store(store_url), name)
    if run.manifest.host_kind != "prefect":
        raise BlackboxError(f"{name} is not a Prefect flow run")
    card = run.card()
    if card.state == "running":
        raise BlackboxError(
            f"{name} is still being recorded: its process, or its recorder, is alive"
        )
    tasks = run.of(TaskNamed)
    changed = finalise_run(run.manifest.host, card, tasks, overview_of(run, card))
    click.echo(card.headline)
    click.echo(
        "its flow run's card and states are complete now"
        if changed
        else "nothing to do"
    )
