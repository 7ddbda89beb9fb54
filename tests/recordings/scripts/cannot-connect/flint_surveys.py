"""Flint surveys: counts knapped flakes per trench square, on the field laboratory's cluster.

The laboratory's launcher writes `cluster/ticket.json` in the season's folder; jobs of the season read it.
"""

import json
import pathlib
import subprocess
import sys
import time

import click
import pandas as pd

import dask
from dask.distributed import Client

SEASON = pathlib.Path("season_2026")


class Launcher:
    """Starts the scheduler and its workers, and leaves a ticket for the jobs of the season."""

    def __init__(self, season):
        self.ticket = season / "cluster" / "ticket.json"
        self.ticket.parent.mkdir(parents=True, exist_ok=True)
        self.running = []

    def start(self, ticket=None):
        ticket = ticket or self.ticket
        base = [sys.executable, "-m", "dask"]
        self.running.append(
            subprocess.Popen(
                base
                + [
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    str(ticket),
                ]
            )
        )
        self.running.append(
            subprocess.Popen(
                base
                + [
                    "worker",
                    "--scheduler-file",
                    str(ticket),
                    "--no-nanny",
                    "--nthreads",
                    "2",
                    "--no-dashboard",
                    "--memory-limit",
                    "400MB",
                    "--death-timeout",
                    "20",
                ]
            )
        )
        for _ in range(100):
            if ticket.exists() and ticket.read_text().strip().endswith("}"):
                return
            time.sleep(0.2)
        raise click.ClickException("the launcher wrote no ticket")

    def stop(self):
        for process in reversed(self.running):
            process.kill()
        for process in self.running:
            process.wait()
        self.running.clear()


@dask.delayed
def square_counts(square, flakes):
    frame = pd.DataFrame(
        {"square": square, "mm": [(square * 7 + n * 13) % 61 for n in range(flakes)]}
    )
    return (
        frame.groupby(pd.cut(frame.mm, [0, 10, 25, 61], right=False), observed=True)
        .size()
        .rename(square)
    )


def table(squares, flakes):
    parts = dask.compute(*[square_counts(square, flakes) for square in range(squares)])
    return pd.concat(parts, axis=1).fillna(0).astype(int)


@click.group()
def cli():
    pass


@cli.command()
@click.option("--squares", default=6)
def yesterday(squares):
    """Trial run on the cluster of the day before."""
    launcher = Launcher(SEASON)
    launcher.start()
    try:
        with Client(scheduler_file=str(launcher.ticket), timeout=15):
            click.echo(table(squares, 200).sum(axis=1).to_string())
    finally:
        launcher.stop()


@cli.command()
@click.option("--squares", default=24)
@click.option("--flakes", default=900)
def tonight(squares, flakes):
    """Full count. The cluster of the night is already there; its launcher keeps one ticket for each night."""
    launcher = Launcher(SEASON)
    launcher.start(launcher.ticket.with_name("ticket-0412.json"))
    try:
        ticket = json.loads(launcher.ticket.read_text())
        click.echo(f"ticket of {ticket['type']} {ticket['id'][:18]}")
        with Client(scheduler_file=str(launcher.ticket), timeout=6) as client:
            click.echo(f"{len(client.scheduler_info()['workers'])} workers")
            click.echo(table(squares, flakes).to_string())
    finally:
        launcher.stop()
        click.echo("launcher stopped")


if __name__ == "__main__":
    cli(["yesterday"], standalone_mode=False)
    cli(["tonight"])
