"""`dask blackbox export`: a run for other tools."""

from __future__ import annotations

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
from dask_blackbox.report.export import FORMATS
from dask_blackbox.report.export import export as export_run


@click.command(
    cls=Verb,
    examples=[
        "export nightly --format perfetto",
        "export nightly --format speedscope --output profile.speedscope.json",
        "export nightly/run-7 --format parquet --output tables",
        "export latest --format png",
    ],
)
@run_argument
@store_option
@click.option(
    "--format",
    "form",
    required=True,
    type=click.Choice([*FORMATS]),
    help="perfetto: a trace for ui.perfetto.dev; speedscope: profiles for speedscope.app; "
    "parquet, csv, jsonl: the tables; svg, png: a picture.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Output file; for tables, a folder. Default: in the current folder, named after the run.",
)
def export(*, name: str, store_url: str | None, form: str, output: Path | None) -> None:
    """Convert RUN to a format that other tools read, and print the files' names."""
    run = opened_run(opened_store(store_url), name)
    to = output or Path("-".join(map(str, run.address)) + FORMATS[form])
    try:
        for file in export_run(run, form, to):
            click.echo(file)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write to {to}: {error.strerror or error}; "
            "choose another place with --output"
        ) from error
