"""`dask blackbox rm`: delete all that a store holds of a run or a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dask_blackbox.cli.options import Verb, opened_store, runs_beginning, store_option
from dask_blackbox.cli.prune import delete, deleting_options
from dask_blackbox.errors import ConfigurationError, RunNotFoundError
from dask_blackbox.patterns import bounded

if TYPE_CHECKING:  # heavy
    from dask_blackbox.reader.deletion import Erasure
    from dask_blackbox.store import Store


@click.command(
    cls=Verb,
    examples=[
        "rm nightly/run-7 --dry-run",
        "rm nightly/run-7/2 --yes",
        "rm --job nightly --dry-run",
    ],
)
@click.argument(
    "names", metavar="[JOB/RUN]...", nargs=-1, shell_complete=runs_beginning
)
@store_option
@click.option("--job", metavar="JOB", help="All runs of this job (full name).")
@deleting_options
def rm(
    *,
    names: tuple[str, ...],
    store_url: str | None,
    job: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete runs: recording, reports, kept inputs, sketch and markers.

    JOB/RUN deletes all attempts of a run, JOB/RUN/ATTEMPT one of them. The cards of
    later runs of the job may still mention it ("what changed").
    """
    from dask_blackbox.reader.deletion import job_erasures, run_erasures
    from dask_blackbox.reader.run_lookup import find_addresses

    if bool(names) == (job is not None):
        raise ConfigurationError("use either JOB/RUN or --job JOB, not both")
    store = opened_store(store_url)
    if job is not None:
        found = job_erasures(store, job)
        if not found:
            raise RunNotFoundError(job, store.url, "job")
    else:
        found = []
        for name in names:
            _check_that_it_names_a_run(name)
            try:
                found += run_erasures(store, find_addresses(store, name))
            except RunNotFoundError:
                sketched = _only_sketched(store, name)
                if not sketched:
                    raise
                found += sketched
    delete(store, found, dry_run=dry_run, yes=yes)


def _check_that_it_names_a_run(name: str) -> None:
    if name != "latest" and "/" not in name.strip("/"):
        raise ConfigurationError(
            f"{name!r} is not a single run; use JOB/RUN, or --job {name} for all runs "
            "of a job"
        )


def _only_sketched(store: Store, name: str) -> list[Erasure]:
    """Return the remaining blobs of a run without a recording, given its full name."""
    from dask_blackbox.layout import safe
    from dask_blackbox.reader.deletion import job_erasures

    for slash in bounded("/").finditer(name):
        job, rest = name[: slash.start()], name[slash.end() :]
        head, _, last = rest.rpartition("/")
        attempt = int(last) if head and last.isdigit() else None
        found = [
            each
            for each in job_erasures(store, job)
            if each.address.run == safe(rest)
            or each.address[1:] == (safe(head), attempt)
        ]
        if found:
            return found
    return []
