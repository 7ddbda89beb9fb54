"""`dask blackbox record ADDRESS`: record a cluster that is already running."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import click

from dask_blackbox.cli.options import Verb, links_option, printable, store_option
from dask_blackbox.errors import BlackboxError, ConfigurationError

if TYPE_CHECKING:  # it imports distributed
    from distributed.comm import Comm
    from distributed.security import Security

_POLL_INTERVAL = 0.5
_CONNECTING, _ANSWERING = 10.0, 20.0
_GIVE_UP_AFTER = 10.0


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
@click.option(
    "--tls-ca-file",
    type=click.Path(exists=True, dir_okay=False),
    help="CA certificates of a tls:// cluster.",
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False),
    help="Client certificate.",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False),
    help="Key of the client certificate.",
)
@links_option
@click.argument("address")
def record(address: str, **chosen: Any) -> None:
    """Record the cluster at ADDRESS (tcp://host:port) for all its clients, until Ctrl-C.

    The recording also ends when the scheduler does.  Nothing has to be installed on
    the cluster, and all plugins are removed at the end.
    """
    from dask_blackbox.driver import recording
    from dask_blackbox.report import text

    scheduler = _WatchedScheduler(address, _security(chosen))
    scheduler.find()
    asked = _asked_to_end()  # before anything of ours is on the cluster
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
    lost = _wait_for_the_end(scheduler, asked)
    card = rec.finish(state="failed") if lost else rec.finish_attached()
    scheduler.close()
    shown = printable(card, chosen["links"], terminal=sys.stderr.isatty())
    click.echo(text(shown), err=True)


def _security(chosen: dict[str, object]) -> Security:
    from distributed.security import Security

    tls = {
        "tls_ca_file": chosen["tls_ca_file"],
        "tls_client_cert": chosen["tls_cert"],
        "tls_client_key": chosen["tls_key"],
    }
    return Security(**{k: v for k, v in tls.items() if v})


def _asked_to_end() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set from now on."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, frame: asked.set())
    return asked


def _wait_for_the_end(scheduler: _WatchedScheduler, asked: threading.Event) -> bool:
    """Wait until that is asked for; return whether the scheduler went away first."""
    while not asked.wait(_POLL_INTERVAL):
        if not scheduler.responds():
            return True
    return False


class _WatchedScheduler:
    """A scheduler that is looked at from outside, without being its client."""

    def __init__(self, address: str, security: Security) -> None:
        self.address, self.security = address, security
        self._missed_since: float | None = None
        self._comm: Comm | None = None
        # A loop that runs while we ask, on which the connection lives.
        self._runner = asyncio.Runner()

    def find(self) -> None:
        """Make sure that a Dask scheduler answers there.

        Raises:
            ConfigurationError: if none does.
        """
        try:
            answer = self._runner.run(self._ask("identity"))
        except Exception as error:
            raise ConfigurationError(
                f"no Dask scheduler answers at {self.address} "
                f"({str(error) or type(error).__name__}); "
                "give its address as tcp://host:8786, or tls://… with the --tls options"
            ) from error
        kind = answer.get("type") if isinstance(answer, dict) else "something else"
        if kind != "Scheduler":
            raise ConfigurationError(
                f"{self.address} is a {kind}, not a Dask scheduler; give the "
                "scheduler's address"
            )

    def responds(self) -> bool:
        """Return whether it answers, or has not been missed for long."""
        try:
            self._runner.run(self._ask("echo"))
        except Exception:  # noqa: BLE001 - it does not answer, however it does that
            self._missed_since = self._missed_since or time.monotonic()
            return time.monotonic() - self._missed_since < _GIVE_UP_AFTER
        self._missed_since = None
        return True

    def close(self) -> None:
        """Hang up."""
        if self._comm is not None:
            self._comm.abort()
        self._runner.close()

    async def _ask(self, op: str) -> object:
        from distributed.comm import connect
        from distributed.core import send_recv

        try:
            async with asyncio.timeout(_ANSWERING):
                if self._comm is None:
                    args = self.security.get_connection_args("client")
                    self._comm = await connect(
                        self.address, timeout=_CONNECTING, **args
                    )
                return await send_recv(self._comm, op=op)
        except BaseException:
            comm, self._comm = self._comm, None
            if comm is not None:
                comm.abort()
            raise
