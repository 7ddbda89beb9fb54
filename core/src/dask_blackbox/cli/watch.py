"""`dask blackbox watch`: report jobs that did not run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import click

from dask_blackbox.cli.options import Verb, opened_store, store_option
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.formatting import age_of, duration, plain

_LATE = 3


@click.command(
    cls=Verb,
    examples=[
        "watch nightly=26h",
        "watch nightly=26h hourly=2h --quiet --store s3://dask-runs/etl",
    ],
)
@click.argument("expected", metavar="JOB=AGE...", nargs=-1, required=True)
@store_option
@click.option("--quiet", is_flag=True, help="Print nothing about jobs that ran.")
def watch(*, expected: tuple[str, ...], store_url: str | None, quiet: bool) -> None:
    """Exit with 3 if a JOB did not start within AGE, and send a notice about it.

    Run it from cron, on a machine that only reads the store. Notices go to
    blackbox.notify.urls.
    """
    store = opened_store(store_url)
    late = []
    for job, age in list(_expectations(expected)):
        from dask_blackbox.reader import marked_runs

        newest = next(marked_runs(store, job=job), None)
        since = None if newest is None else time.time() - newest.started
        if since is not None and since <= age:
            if not quiet:
                click.echo(f"✓ {plain(job)}: started {duration(since)} ago")
            continue
        last = "has no runs" if since is None else f"started {duration(since)} ago"
        text = f"{plain(job)} did not start within {duration(age)}"
        click.echo(
            f"✗ {text}; its newest run {last}" if since else f"✗ {text}; it {last}"
        )
        late.append((job, text))
    if not late:
        return
    _send(late, store.url)
    sys.exit(_LATE)


def _expectations(expected: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    for each in expected:
        job, _, age = each.rpartition("=")
        if not job or not age:
            raise ConfigurationError(f"{each!r} is not like nightly=26h")
        yield job, age_of(age, job)


def _send(late: list[tuple[str, str]], store: str) -> None:
    from dask_blackbox.protocol.notify_settings import notify_set
    from dask_blackbox.recorder.notices import deliver
    from dask_blackbox.report.notice import Notice, without_mentions

    notify = notify_set()
    for job, text in late:
        notice = Notice(news="missing", subject=text, text=f"Store: {store}")
        data = {
            "text": without_mentions(text),
            "news": "missing",
            "subject": text,
            "job": job,
        }
        for problem in deliver(notify, notice, data):
            click.echo(f"a notice was not sent to {problem}", err=True)
