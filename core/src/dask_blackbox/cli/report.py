"""`dask blackbox report`: the report of a run, as a file."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from dask_blackbox.cli.options import (
    opened_run,
    opened_store,
    run_argument,
    store_option,
)
from dask_blackbox.errors import ConfigurationError

__all__ = ["report"]


@click.command()
@run_argument
@store_option
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write it: a file or a folder.",
)
def report(
    *, name: str, store_url: str | None, opens: bool, output: Path | None
) -> None:
    """Write the report of RUN to a file that opens without a network.

    It is the report from the store; of a run that has not ended, or whose recorder died,
    it is made from what was recorded.
    """
    from dask_blackbox.serve.stored import report_of_run

    run = opened_run(opened_store(store_url), name)
    page = report_of_run(run, "report.html")
    path = _written(page, output, "-".join(map(str, run.address)))
    click.echo(path)
    if opens and not webbrowser.open(path.as_uri()):
        click.echo(f"No browser answers here; open {path.as_uri()} in one.", err=True)


def _written(page: bytes, output: Path | None, called: str) -> Path:
    path = output or Path(tempfile.mkdtemp(prefix="dask-blackbox-"))
    if path.is_dir():
        path /= f"{called}.html"
    try:
        path.write_bytes(page)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write the report to {path}: {error.strerror}; "
            "choose another place with --output"
        ) from error
    return path.absolute()
