"""`dask blackbox metrics`: the last run of each job, for Prometheus."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError


@click.command(
    cls=Verb,
    examples=[
        "metrics",
        "metrics --store s3://dask-runs/etl --output dask.prom",
    ],
)
@store_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to replace, in the folder of node_exporter's textfile collector.",
)
def metrics(*, store_url: str | None, output: Path | None) -> None:
    """Print the last run of each job as OpenMetrics: state, verdict, duration, memory.

    The viewer has the same at /metrics.
    """
    from dask_blackbox.reader.open_metrics import open_metrics

    text = open_metrics(opened_store(store_url))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        # A collector never reads half of it.
        with tempfile.NamedTemporaryFile(
            "w", dir=output.parent, prefix=f".{output.name}-", delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o644)  # noqa: PTH101 - a collector has another user
        Path(file.name).replace(output)
    except OSError as error:
        raise ConfigurationError(
            f"{output} cannot be written: {error.strerror or error}"
        ) from error
