"""`dask blackbox redact`: what would be masked in a text, and by which rule."""

from __future__ import annotations

from typing import TextIO

import click

from dask_blackbox.cli.options import Verb

_LINES_BEFORE = "a name, a table or a private key in the lines before"


@click.command(
    cls=Verb,
    examples=[
        "redact job.log",
        "redact - --all",
    ],
)
@click.argument("file", type=click.File("r", errors="replace"))
@click.option("--all", "every_line", is_flag=True, help="Print unchanged lines, too.")
def redact(*, file: TextIO, every_line: bool) -> None:
    """Show the lines of a text in which something is masked, and the rule that masks it.

    FILE is a text file, or - for standard input.  The patterns of the setting
    `blackbox.redact` are applied, too; values that only a run knows are not.
    """
    from dask_blackbox.formatting import plain
    from dask_blackbox.recorder.redact import Redactor
    from dask_blackbox.settings import setting_patterns

    redactor = Redactor(setting_patterns("redact"), limit=_LIMIT)
    masked = 0
    for number, (line, clean) in enumerate(redactor.pairs(file), 1):
        if clean != line:
            masked += 1
            rules = redactor.rules_for(line) or [_LINES_BEFORE]
            click.echo(f"{number}: {plain(clean)}    ← {'; '.join(rules)}")
        elif every_line:
            click.echo(f"{number}: {plain(line)}")
    click.echo(f"{masked} lines masked", err=True)


_LIMIT = 0.5
"""CPU seconds for one line, as in a recorder."""
