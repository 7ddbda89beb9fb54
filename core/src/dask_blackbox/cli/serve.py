"""`dask blackbox serve`: browse the runs of a store."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from importlib.util import find_spec

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError


@click.command(
    cls=Verb,
    examples=[
        "serve",
        "serve --store s3://dask-runs/etl --port 8899",
    ],
)
@store_option
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
@click.option(
    "--port",
    default=8899,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0: any free port.",
)
def serve(*, store_url: str | None, host: str, port: int) -> None:
    """Browse the runs of a store: their cards, reports and logs."""
    lacking = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise ConfigurationError(
            f"the viewer needs {' and '.join(lacking)}: pip install 'dask-blackbox[serve]'"
        )
    import uvicorn

    from dask_blackbox.serve import create_app
    from dask_blackbox.serve.app import RequestTimeoutProtocol

    store = opened_store(store_url)
    # What is wrong with the store is said now, not on the first page.
    next(iter(store.names("index/", limit=1)), None)
    alone = _is_loopback(host)
    if not alone:
        click.echo(
            f"There is no login: anyone who can reach {host} can read these "
            "recordings. Put it behind a server that authenticates users.",
            err=True,
        )
    with _listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        click.echo(f"Runs of {store.url}: {url}  (end with Ctrl-C)")
        names = ["127.0.0.1", "localhost", "[::1]", host] if alone else None
        settings = uvicorn.Config(
            create_app(store, hosts=names),
            http=RequestTimeoutProtocol,
            log_level="warning",
            server_header=False,
        )
        # uvicorn ends in good order and then raises the Ctrl-C once more.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; "
            "choose another with --host and --port"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
