"""`dask blackbox …`: one module per verb, loaded when it is asked for.

The `dask` command imports this module at every start, so that nothing heavy stands here.
Errors become a line of text and an exit code in this one place.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from dask_blackbox.errors import BlackboxError, ConfigurationError

__all__ = ["VERBS", "blackbox"]

VERBS = {
    "run": "Record every Dask client that a command makes.",
    "record": "Record a cluster that is already running.",
    "ls": "List the newest runs.",
    "show": "Show the card of a run: why it failed, and what to do.",
    "why": "Say why a run failed: the evidence, each with how to see it.",
    "compare": "Show in what two runs differ.",
    "history": "List the runs of a job with what they took, and its failures.",
    "logs": "Search the logs of a run, dead workers included.",
    "report": "Write the report of a run to a file, or open it.",
    "replay": "Run a task that failed again, with its inputs.",
    "rules": "List the rules that are asked, or show one.",
    "serve": "Browse the runs of a store.",
    "sync": "Upload what waits in this machine's spool.",
}
"""The verbs, in the order of `--help`; each is the command of that name in its module."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = import_module(f"dask_blackbox.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        # Not the inherited one: it would load every verb for one line of help.
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BlackboxError as error:
            click.echo(f"dask blackbox: {error}", err=True)
            ctx.exit(2 if isinstance(error, ConfigurationError) else 1)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
def blackbox() -> None:
    """Look into recorded Dask runs: why did it fail, and what has changed?

    RUN is `latest`, JOB (its newest run), JOB/RUN, JOB/RUN/ATTEMPT, a beginning of one
    that fits no other, or the address that a card prints.
    """
