"""`dask blackbox scan`: what today's patterns would mask in recordings that are stored already."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import Verb, job_option, opened_store, store_option
from dask_blackbox.errors import RecordingError
from dask_blackbox.formatting import command, counted, plain

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader.run import Run
    from dask_blackbox.recorder.redact import Redactor

_LIMIT = 0.5
"""CPU seconds for one text, as in a recorder."""
_FOUND = 3
_MOST_NAMED = 20


@click.command(
    cls=Verb,
    examples=[
        "scan --store s3://dask-runs/etl",
        "scan --job nightly",
    ],
)
@store_option
@job_option
def scan(*, store_url: str | None, job: str | None) -> None:
    """Find log lines and errors in a store that today's patterns would mask.

    After a pattern was added to `blackbox.redact`, or after an upgrade. Nothing is changed:
    the last line says how to delete these runs. Exits with 3 if there are some.
    """
    from dask_blackbox.reader.run_index import marked_runs
    from dask_blackbox.reader.run_lookup import find_job, find_run
    from dask_blackbox.recorder.redact import Redactor
    from dask_blackbox.settings import setting_patterns

    store = opened_store(store_url)
    redactor = Redactor(setting_patterns("redact"), limit=_LIMIT)
    named = None if job is None else find_job(store, job)
    found, searched, unread = [], 0, 0
    for entry in marked_runs(store, job=named):
        name = entry.address.name
        try:
            rules = _rules_in(redactor, find_run(store, name))
        except RecordingError as error:
            unread += 1
            click.echo(f"{plain(name)}: cannot be read: {plain(str(error))}", err=True)
            continue
        searched += 1
        if rules:
            found.append(name)
            what = ", ".join(
                f"{rule} ({number})" for rule, number in rules.most_common()
            )
            click.echo(f"{plain(name)}: {counted(rules.total(), 'text')}: {what}")
    not_read = f", {unread} could not be read" if unread else ""
    click.echo(f"{counted(searched, 'run')} searched{not_read}", err=True)
    if found:
        some = command("rm", *found[:_MOST_NAMED], "--dry-run", store=store_url)
        click.echo(f"Delete {counted(len(found), 'run')}: {some}", err=True)
        sys.exit(_FOUND)


def _rules_in(redactor: Redactor, run: Run) -> Counter[str]:
    """Return by which rules how many texts of a run would be changed."""
    rules: Counter[str] = Counter()
    for text in _texts(run):
        if redactor.text(text) != text:
            rules.update(redactor.rules_for(text)[:1] or ["another one"])
    return rules


def _texts(run: Run) -> Iterator[str]:
    yield from set(run.logs["message"].drop_nulls())
    for column in ("message", "traceback"):
        if column in run.errors.columns:
            yield from set(run.errors[column].drop_nulls())
    ending = run.ending
    if ending is not None and ending.exception is not None:
        yield from (ending.exception.message, ending.exception.traceback or "")
