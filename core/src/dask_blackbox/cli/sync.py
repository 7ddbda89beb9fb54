"""`dask blackbox sync`: upload what waits in this machine's spool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dask_blackbox.errors import BlackboxError

if TYPE_CHECKING:  # heavy
    from dask_blackbox.record.spooled import Spooled

__all__ = ["sync"]

_CORRECTED = ("endpoint", "region", "profile", "key", "secret", "sse", "sse-kms-key-id")


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
    from dask_blackbox.settings import setting

    root = spool or Path(setting("spool") or default_spool())
    waiting = spooled_in(root)
    for folder in waiting.busy:
        click.echo(f"{folder.name}: its run goes on, or another process uploads it.")
    for folder, why in waiting.broken:
        click.echo(
            f"{folder.name}: no recording that can be uploaded: {why}; "
            f"if it is of no use any more, delete {folder}",
            err=True,
        )
    if waiting.problem is not None:
        click.echo(f"dask blackbox: {waiting.problem}", err=True)
        raise SystemExit(1)
    if not waiting.ready:
        click.echo(f"Nothing waits in {root}.")
    failed = [each for each in waiting.ready if not _brought(each, store_url)]
    if failed or waiting.broken:
        raise SystemExit(1)


def _brought(spooled: Spooled, store_url: str | None) -> bool:
    import msgspec

    from dask_blackbox.record.syncing import bring_home

    name = f"{spooled.manifest.job}/{spooled.manifest.run_id}"
    try:
        card = bring_home(spooled, settings=_settings(spooled, store_url))
    except (BlackboxError, OSError, msgspec.MsgspecError) as error:
        click.echo(f"{name}: stays in {spooled.folder}: {error}", err=True)
        return False
    if card is None:
        click.echo(f"{name}: another process has uploaded it, or is about to.")
    else:
        click.echo(f"{name}: {card.state}, now at {card.links['recording']}")
    return True


def _settings(spooled: Spooled, store_url: str | None) -> dict[str, Any]:
    """Return what goes before the settings of the store that a recording was meant for."""
    from dask_blackbox.store import store_settings

    url = store_url or spooled.settings.get("url")
    ours = store_settings(url)
    if store_url is not None:
        return ours
    try:
        same = store_settings()["url"] == url
    except BlackboxError:
        same = False
    # What is configured counts where it is configured for that store: it may have been
    # corrected since.  Of another store, only the credentials can be missing here.
    names = _CORRECTED if same else ("key", "secret")
    return {name: ours[name] for name in names if ours[name]}
