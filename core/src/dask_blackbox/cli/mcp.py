"""`dask blackbox mcp`: let coding assistants read the runs of a store."""

from __future__ import annotations

from importlib.util import find_spec

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError


@click.command(
    cls=Verb,
    examples=[
        "mcp --store s3://dask-runs/etl",
        "mcp --http --port 8898",
    ],
)
@store_option
@click.option(
    "--http", is_flag=True, help="Listen for HTTP instead of using stdin and stdout."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address for --http."
)
@click.option(
    "--port",
    default=8898,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port for --http; 0: any free port.",
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Name under which clients may ask for it, besides that of this machine "
    "(repeatable).",
)
def mcp(
    *,
    store_url: str | None,
    http: bool,
    host: str,
    port: int,
    names: tuple[str, ...],
) -> None:
    """Let coding assistants read the runs of a store (Model Context Protocol).

    The tools list runs, explain failures, search logs and tables, and compare runs;
    none of them changes anything. With --http, clients send the printed token, or that of
    blackbox.serve-token, as a bearer token.
    """
    lacking = [name for name in ("mcp", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise ConfigurationError(
            f"this needs {' and '.join(lacking)}: pip install 'dask-blackbox[mcp]'"
        )
    from dask_blackbox.serve.mcp_server import PATH, mcp_app, mcp_server

    store = opened_store(store_url)
    # What is wrong with the store is reported now, not by the first tool.
    next(iter(store.names("index/", limit=1)), None)
    if not http:
        mcp_server(store).run("stdio")
        return
    from dask_blackbox.cli.serve import access_token, hosts_of, listening, run_app

    token = access_token()
    with listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}{PATH}"
        click.echo(f"Runs of {store.url}: {url}  (end with Ctrl-C)")
        click.echo(f"Authorization: Bearer {token}")
        run_app(mcp_app(store, hosts=hosts_of(host, names), token=token), listener)
