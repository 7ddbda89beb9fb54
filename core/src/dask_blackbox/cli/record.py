"""`dask blackbox record ADDRESS`: record a cluster that is already running."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import click

from dask_blackbox.cli.options import Verb, store_option

if TYPE_CHECKING:  # it imports distributed
    from distributed.security import Security

    from dask_blackbox.cli.watched_scheduler import WatchedScheduler

_POLL_INTERVAL = 0.5


@click.command(
    cls=Verb,
    examples=[
        "record tcp://scheduler:8786",
        "record --store s3://dask-runs/shared --job shared tcp://scheduler:8786",
    ],
)
@store_option
@click.option("--job", metavar="NAME", help="Job name; runs of one job are compared.")
@click.option(
    "--run-id", metavar="ID", help="Run id. Default: derived from host and start time."
)
@click.option("--tls-ca-file", type=click.Path(exists=True, dir_okay=False))
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False))
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False))
@click.argument("address")
def record(address: str, **chosen: Any) -> None:
    """Record the cluster at ADDRESS (tcp://host:port) for all its clients, until Ctrl-C.

    The recording also ends when the scheduler does.  Nothing has to be installed there,
    and all plugins are removed at the end.
    """
    from dask_blackbox.cli.watched_scheduler import WatchedScheduler
    from dask_blackbox.driver import recording
    from dask_blackbox.errors import BlackboxError
    from dask_blackbox.report import text

    scheduler = WatchedScheduler(address, _security(chosen))
    scheduler.find()
    rec = recording(
        store=chosen["store_url"],
        job=chosen["job"] or f"cluster {address.partition('://')[2] or address}",
        run_id=chosen["run_id"],
        host={"kind": "attached", "scheduler": address},
    )
    rec.start()
    rec.attach_address(address, scheduler.security)
    if not rec.attached:
        rec.finish(state="aborted")
        raise BlackboxError(f"cannot record the cluster at {address}; see above")
    click.echo(f"Recording {address} until Ctrl-C …", err=True)
    lost = _wait_for_the_end(scheduler)
    card = rec.finish(state="failed") if lost else rec.finish_attached()
    scheduler.close()
    click.echo(text(card), err=True)


def _security(chosen: dict[str, object]) -> Security:
    from distributed.security import Security

    tls = {
        "tls_ca_file": chosen["tls_ca_file"],
        "tls_client_cert": chosen["tls_cert"],
        "tls_client_key": chosen["tls_key"],
    }
    return Security(**{k: v for k, v in tls.items() if v})


def _wait_for_the_end(scheduler: WatchedScheduler) -> bool:
    """Wait for Ctrl-C or SIGTERM; return whether the scheduler went away first."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, frame: asked.set())
    while not asked.wait(_POLL_INTERVAL):
        if not scheduler.responds():
            return True
    return False
