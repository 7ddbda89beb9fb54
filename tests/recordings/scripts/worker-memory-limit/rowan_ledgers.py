"""Year-end ledgers of the Rowan building society: one statement for each customer group, in two languages.

Templates and scanned signatures are slow to read, so the renderer keeps what it has read in its worker.
"""

import time
from dataclasses import dataclass, field

import click
import dask
import numpy as np
from distributed import Client, LocalCluster, get_worker
from distributed.scheduler import KilledWorker


@dataclass
class Renderer:
    """Lives as long as its worker."""

    pages: dict = field(default_factory=dict)

    def scans(self, group, language):
        key = group, language
        if key not in self.pages:
            rng = np.random.default_rng(group)
            self.pages[key] = rng.random((3, 1100, 800))
        return self.pages[key]


def renderer():
    worker = get_worker()
    if not hasattr(worker, "rowan_renderer"):
        worker.rowan_renderer = Renderer()
    return worker.rowan_renderer


def render_statement(group, language):
    scans = renderer().scans(group, language)
    time.sleep(0.15)
    return {"group": group, "language": language, "ink": round(float(scans.mean()), 4)}


def total_ink(rows):
    return sum(row["ink"] for row in rows)


def run(client, groups):
    done = []
    for language in ("en", "cy"):
        jobs = client.map(render_statement, range(groups), language=language)
        rows = client.gather(jobs)
        done += rows
        click.echo(f"{language}: {len(rows)} statements, ink {total_ink(rows):.2f}")
        client.cancel(jobs)
    return done


@click.command(help=__doc__.splitlines()[0])
@click.option("--groups", default=20, show_default=True)
@click.option("--limit", default="400MB", show_default=True)
def cli(groups, limit):
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.pause": False,  # a paused worker once held up the whole night
        }
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            try:
                rows = run(client, groups)
            except KilledWorker as exc:
                click.echo(f"giving up: {exc.task}", err=True)
                raise click.ClickException(f"statements incomplete: {exc}")
    click.echo(f"{len(rows)} statements to the printers")


if __name__ == "__main__":
    cli()
