"""`dask blackbox report`: the report of a run, as a file."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    run_argument,
    store_option,
)
from dask_blackbox.errors import ConfigurationError


@click.command(
    cls=Verb,
    examples=[
        "report",
        "report nightly --open",
        "report nightly --performance",
        "report nightly/run-7 --output report.html",
    ],
)
@run_argument
@store_option
@click.option(
    "--performance",
    is_flag=True,
    help="Write the performance report (as Dask's `performance_report`).",
)
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Output file or folder.",
)
def report(
    *,
    name: str,
    store_url: str | None,
    performance: bool,
    opens: bool,
    output: Path | None,
) -> None:
    """Write the report of RUN to a file that opens without a network.

    For a run in progress, or one whose recorder was lost, it is built from the data in the
    store.
    """
    from dask_blackbox.serve.cards import report_of_run

    run = opened_run(opened_store(store_url), name)
    which = "performance_report.html" if performance else "report.html"
    page = report_of_run(run, which)
    called = "-".join(map(str, run.address))
    path = _written(page, output, f"{called}-performance" if performance else called)
    click.echo(path)
    if opens and not webbrowser.open(path.as_uri()):
        click.echo(f"No browser available; open {path.as_uri()} in one.", err=True)


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
