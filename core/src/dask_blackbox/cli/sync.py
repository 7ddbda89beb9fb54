"""`dask blackbox sync`: upload what waits in this machine's spool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import Verb
from dask_blackbox.errors import BlackboxError
from dask_blackbox.store.options import CREDENTIALS

if TYPE_CHECKING:  # heavy
    from dask_blackbox.recorder.spool_folder import Spooled

_CORRECTED = (
    *(
        "endpoint",
        "region",
        "profile",
        "sse",
        "sse-kms-key-id",
        "addressing",
        "ca-bundle",
        "requester-pays",
    ),
    *CREDENTIALS,
)


_LOST = 3
"""Exit code: everything was uploaded, but how some run ended is not known."""
_REMAINS, _ELSEWHERE = "", "uploaded elsewhere"


@click.command(
    cls=Verb,
    examples=[
        "sync",
        "sync --store s3://dask-runs/etl",
    ],
)
@click.option(
    "--spool",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of waiting recordings. Default: blackbox.spool.",
)
@click.option(
    "--store",
    "store_url",
    metavar="URL",
    help="Upload to this store. Default: the store that each recording was meant for.",
)
def sync(spool: Path | None, store_url: str | None) -> None:
    """Upload recordings that could not be uploaded during their runs.

    Exits with 1 if any of them remains in the spool, and with 3 if all were uploaded but
    the end of at least one run is not known (its state is `lost`).
    """
    from dask_blackbox.recorder.spool_folder import chosen_spool, spooled_in

    root = spool or chosen_spool()
    waiting = spooled_in(root)
    for folder in waiting.busy:
        click.echo(
            f"{folder.name}: the run is in progress, or another process uploads it."
        )
    for folder, why in waiting.broken:
        click.echo(
            f"{folder.name}: cannot be uploaded: "
            f"{why}; if it is no longer needed, delete {folder}",
            err=True,
        )
    if waiting.problem is not None:
        click.echo(f"dask blackbox: {waiting.problem}", err=True)
        raise SystemExit(1)
    if not waiting.ready:
        click.echo(f"Nothing to upload in {root}.")
    states = [_uploaded(each, store_url) for each in waiting.ready]
    if _REMAINS in states or waiting.broken:
        raise SystemExit(1)
    if "lost" in states:
        raise SystemExit(_LOST)


def _uploaded(spooled: Spooled, store_url: str | None) -> str:
    """Upload a recording; return the state of its run, or that it was not uploaded."""
    from dask_blackbox.recorder.sync import upload_recording

    name = f"{spooled.manifest.job}/{spooled.manifest.run_id}"
    try:
        card = upload_recording(spooled, settings=_settings(spooled, store_url))
    except (BlackboxError, OSError) as error:
        click.echo(f"{name}: remains in {spooled.folder}: {error}", err=True)
        return _REMAINS
    if card is None:
        click.echo(f"{name}: another process has uploaded it or is uploading it.")
        return _ELSEWHERE
    click.echo(f"{name}: {card.state}, now at {card.links['recording']}")
    return card.state


def _settings(spooled: Spooled, store_url: str | None) -> dict[str, object]:
    """Return settings that override those of the store that a recording was meant for."""
    from dask_blackbox.store import store_settings

    meant = spooled.settings.get("url")
    url = store_url or (meant if isinstance(meant, str) else None)
    ours = store_settings(url)
    if store_url is not None:
        return ours
    try:
        same = store_settings()["url"] == url
    except BlackboxError:
        same = False
    # What is configured counts where it is configured for that store: it may have been
    # corrected since.  Of another store, only the credentials can be missing here.
    names = _CORRECTED if same else CREDENTIALS
    return {name: ours[name] for name in names if ours[name]}
