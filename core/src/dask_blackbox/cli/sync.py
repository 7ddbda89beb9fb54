"""`dask blackbox sync`: upload what waits in this machine's spool."""

from __future__ import annotations

from pathlib import Path

import click

from dask_blackbox.errors import BlackboxError

__all__ = ["sync"]


@click.command()
@click.option(
    "--spool",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where recordings wait. Default: the setting blackbox.spool.",
)
@click.option(
    "--store",
    "store_url",
    metavar="URL",
    help="Take them to this store. Default: the one that each was meant for.",
)
def sync(spool: Path | None, store_url: str | None) -> None:
    """Upload recordings that their store did not take at the time.

    Ends with 1 if any of them has to stay in the spool.
    """
    from dask_blackbox.record.spool import default_spool
    from dask_blackbox.record.spooled import spooled_in
    from dask_blackbox.record.syncing import bring_home
    from dask_blackbox.settings import setting
    from dask_blackbox.store import store_settings

    root = spool or Path(setting("spool") or default_spool())
    waiting = spooled_in(root)
    if not waiting:
        click.echo(f"Nothing waits in {root}.")
        return
    failed = 0
    for each in waiting:
        name = f"{each.manifest.job}/{each.manifest.run_id}"
        ours = store_settings(store_url or each.settings.get("url"))
        settings = ours if store_url else {k: v for k, v in ours.items() if v}
        try:
            card = bring_home(each, settings=settings)
            click.echo(f"{name}: {card.state}, now at {card.links['recording']}")
        except (BlackboxError, OSError) as error:
            failed += 1
            click.echo(f"{name}: stays in {each.folder}: {error}", err=True)
    if failed:
        raise SystemExit(1)
