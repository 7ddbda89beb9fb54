"""`dask blackbox serve`: browse the runs of a store."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import socket
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp

_SHORTEST = 16


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
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Name under which browsers may ask for it, besides that of this machine "
    "(repeatable).",
)
@click.option(
    "--token/--no-token",
    "with_token",
    default=True,
    help="Let only those in who have the printed URL (the default), or everyone.",
)
def serve(
    *,
    store_url: str | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    with_token: bool,
) -> None:
    """Browse the runs of a store: their cards, reports and logs.

    The printed URL has a token, which is new at each start unless blackbox.serve-token
    is set. Each request is logged on standard error.
    """
    lacking = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise ConfigurationError(
            f"the viewer needs {' and '.join(lacking)}: pip install 'dask-blackbox[serve]'"
        )
    from dask_blackbox.serve import create_app
    from dask_blackbox.serve.app import RequestTimeoutProtocol

    store = opened_store(store_url)
    # What is wrong with the store is said now, not on the first page.
    next(iter(store.names("index/", limit=1)), None)
    token = access_token() if with_token else None
    if token is None and not _is_loopback(host):
        click.echo(
            f"There is no login: anyone who can reach {host} can read these "
            "recordings. Put it behind a server that authenticates users.",
            err=True,
        )
    with listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        asked = "" if token is None else f"?{urlencode({'token': token})}"
        click.echo(f"Runs of {store.url}: {url}{asked}  (end with Ctrl-C)")
        app = create_app(store, hosts=hosts_of(host, names), token=token)
        run_app(app, listener, http=RequestTimeoutProtocol)


def hosts_of(host: str, names: tuple[str, ...]) -> list[str]:
    """Return the names under which what listens on `host` may be asked for."""
    return ["localhost", host, socket.gethostname(), socket.getfqdn(), *names]


def run_app(
    app: ASGIApp,
    listener: socket.socket,
    *,
    http: type[asyncio.Protocol] | Literal["auto"] = "auto",
) -> None:
    """Serve an application until Ctrl-C; each request is logged on standard error."""
    import uvicorn

    _log_requests()
    settings = uvicorn.Config(
        app,
        http=http,
        log_level="warning",
        access_log=False,  # that one would log the token
        server_header=False,
    )
    # uvicorn ends in good order and then raises the Ctrl-C once more.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[listener])


def access_token() -> str:
    """Return the token of the settings, or a new one.

    Raises:
        ConfigurationError: if that of the settings is too short.
    """
    from dask_blackbox.settings import setting

    chosen = setting("serve-token")
    if chosen is None:
        return secrets.token_urlsafe(24)
    if not isinstance(chosen, str) or len(chosen) < _SHORTEST:
        raise ConfigurationError(
            f"blackbox.serve-token has to be a text of {_SHORTEST} characters or more"
        )
    return chosen


def _log_requests() -> None:
    lines = logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("dask_blackbox.serve")
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        ConfigurationError: if it cannot.
    """
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
