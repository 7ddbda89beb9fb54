"""`dask blackbox metrics`: the last run of each job, for Prometheus."""

from __future__ import annotations

import os
import tempfile
from importlib.resources import files
from pathlib import Path

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError


@click.command(
    cls=Verb,
    examples=[
        "metrics",
        "metrics --store s3://dask-runs/etl --output dask.prom",
        "metrics --push http://pushgateway:9091",
        "metrics --alert-rules",
        "metrics --grafana-dashboard",
    ],
)
@store_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to replace, in the folder of node_exporter's textfile collector.",
)
@click.option(
    "--push",
    "gateway",
    metavar="URL",
    help="Replace what the Prometheus Pushgateway at URL has of the group dask_blackbox.",
)
@click.option(
    "--alert-rules",
    "shipped",
    flag_value="alerts.yaml",
    help="Print alert rules for Prometheus.",
)
@click.option(
    "--grafana-dashboard",
    "shipped",
    flag_value="grafana.json",
    help="Print a dashboard for Grafana.",
)
def metrics(
    *,
    store_url: str | None,
    output: Path | None,
    gateway: str | None,
    shipped: str | None,
) -> None:
    """Print the last run of each job as OpenMetrics: state, verdict, duration, memory.

    The viewer has the same at /metrics.
    """
    if shipped is not None:
        file = files("dask_blackbox.reader") / "monitoring" / shipped
        click.echo(file.read_text("utf-8"), nl=False)
        return
    from dask_blackbox.reader.open_metrics import open_metrics, push

    text = open_metrics(opened_store(store_url))
    if gateway is not None:
        push(text, gateway)
    if output is None:
        if gateway is None:
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
