"""`dask blackbox sizes`: how long a run would take with fewer or more workers."""

from __future__ import annotations

import click
import msgspec
from rich.table import Table
from rich.text import Text

from dask_blackbox.cli.options import (
    Verb,
    opened_run,
    opened_store,
    print_rendered,
    run_argument,
    store_option,
)
from dask_blackbox.formatting import plain


@click.command(cls=Verb, examples=["sizes", "sizes nightly --json"])
@run_argument
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/cost.md).")
def sizes(*, name: str, store_url: str | None, as_json: bool) -> None:
    """Predict how long RUN takes with half, twice and four times its workers.

    The run's executions are scheduled again, with their recorded times and what each of
    them waited for. Nothing is predicted for a run that did not succeed, lost workers, or
    whose recorded duration this does not reproduce within a tenth.
    """
    from dask_blackbox.analyse.cluster_sizes import cluster_sizes_of

    run = opened_run(opened_store(store_url), name)
    found = cluster_sizes_of(run)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
        return

    def render(*, width: int = 100, colour: bool = False) -> str:
        # The libraries of the pages, which JSON can do without.
        from dask_blackbox.report.cluster_sizes import (
            ASSUMED,
            SizeRow,
            size_rows,
            size_summary,
        )
        from dask_blackbox.report.text_card import printed

        parts: list[Text | Table] = [
            Text(plain(run.address.name), style="bold"),
            Text(size_summary(found)),
        ]
        if rows := size_rows(found, run.manifest.job):
            table = Table(box=None, pad_edge=False, header_style="dim")
            for heading in SizeRow._fields[:-1]:
                table.add_column(heading, justify="right")
            table.add_column("")
            for row in rows:
                table.add_row(*row)
            parts += [Text(), table, Text(), Text(ASSUMED, style="dim")]
        return printed(parts, width=width, colour=colour)

    print_rendered(render)
