"""`dask blackbox …`: one module per verb, loaded when it is asked for.

The `dask` command imports this module at every start, so that nothing heavy stands here.
Errors become a line of text and an exit code in this one place.
"""

from __future__ import annotations

import difflib
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

from dask_blackbox.errors import BlackboxError, ConfigurationError

__all__ = ["COMMANDS", "VERBS", "blackbox"]

VERBS = {
    "run": "Record every Dask client that a command makes.",
    "record": "Record a cluster that is already running.",
    "ls": "List the newest runs.",
    "show": "Show the card of a run: why it failed, and what to do.",
    "why": "Explain why a run failed, with evidence and commands that show it.",
    "note": "Write a note on a run, which cards of equal failures show.",
    "compare": "Show how two runs differ.",
    "history": "List the runs of a job with durations and failures.",
    "check": "Exit with 3 if a run was slower or larger than its limits.",
    "sizes": "Predict how long a run takes with fewer or more workers.",
    "logs": "Search the logs of a run, including those of dead workers.",
    "top": "Show the progress of a run in a terminal.",
    "report": "Write the report of a run to a file, or open it.",
    "export": "Convert a run for other tools: traces, profiles, tables, images.",
    "replay": "Rerun a failed task with its inputs.",
    "redact": "Show what would be masked in a text, and by which rule.",
    "rules": "List the rules, or show one.",
    "scan": "Find what today's patterns would mask in stored runs.",
    "serve": "Browse the runs of a store.",
    "mcp": "Let coding assistants read the runs of a store.",
    "metrics": "Print the last run of each job for Prometheus.",
    "watch": "Report jobs that did not run.",
    "sync": "Upload the recordings in this machine's spool.",
    "rm": "Delete a run or a job from a store.",
    "prune": "Delete old runs.",
    "reap": "Close clusters whose driver is gone.",
    "policy": "Print the IAM policy that a store in a bucket needs.",
    "doctor": "Check store, credentials, settings, clock and cluster.",
}
"""The verbs, in the order of `--help`; each is the command of that name in its module."""

COMMANDS = "dask_blackbox.commands"
"""The group of entry points by which a host's package adds verbs of its own."""


def _host_commands() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=COMMANDS)}


def _loaded(point: EntryPoint) -> click.Command:
    try:
        command: click.Command = point.load()
    except Exception as error:
        package = point.dist.name if point.dist else point.module
        raise click.ClickException(
            f"{package} cannot be loaded ({type(error).__name__}: {error}); install a version "
            f"of it that supports the installed version of {point.name}"
        ) from error
    return command


EXAMPLES = (
    "run --store ./runs -- python nightly.py",
    "why --store ./runs",
    "ls --store ./runs --state failed",
    "doctor --store ./runs",
)


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *_host_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            # This reads the metadata of all installed packages.
            point = _host_commands().get(cmd_name)
            return _loaded(point) if point else None
        module = import_module(f"dask_blackbox.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = args[0] if args else ""
        if typed and not typed.startswith("-") and not self.get_command(ctx, typed):
            known = self.list_commands(ctx)
            close = difflib.get_close_matches(typed, known, n=1)
            like = f"; did you mean '{close[0]}'? " if close else ". "
            ctx.fail(
                f"there is no command '{typed}'{like}Commands: {', '.join(known)}."
            )
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        # Not the inherited one: it would load every command for one line of help.
        with formatter.section("Commands"):
            hosts = [(name, f"Only with {name}.") for name in _host_commands()]
            formatter.write_dl([*VERBS.items(), *hosts])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dask_blackbox.cli.options import examples_of

        formatter.write(examples_of(EXAMPLES))

    def invoke(self, ctx: click.Context) -> object:
        # A sign that the terminal's encoding lacks is no reason to fail.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except BlackboxError as error:
            click.echo(f"dask blackbox: {error}", err=True)
            ctx.exit(2 if isinstance(error, ConfigurationError) else 1)


def _print_versions(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if not value or ctx.resilient_parsing:
        return
    from dask_blackbox.cli.options import versions

    click.echo("\n".join(f"{name} {number}" for name, number in versions().items()))
    ctx.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of dask-blackbox, Dask and Python.",
)
def blackbox() -> None:
    """Inspect recorded Dask runs: why they failed and what changed.

    RUN is `latest`, JOB (its newest run), JOB/RUN, JOB/RUN/ATTEMPT, an unambiguous
    prefix of one, or the URL printed on a card.
    """
