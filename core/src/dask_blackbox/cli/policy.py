"""`dask blackbox policy`: the IAM policy that recording into, or reading from, a bucket needs."""

from __future__ import annotations

import json
from typing import Any

import click

from dask_blackbox.cli.options import Verb
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import JobPatterns
from dask_blackbox.store.base import CHECK
from dask_blackbox.store.url import Bucket, place_of

_PUT, _GET, _DELETE = "s3:PutObject", "s3:GetObject", "s3:DeleteObject"
_CHECKS = f"{CHECK}*"
_AUDIT = "audit/*"


@click.command(
    cls=Verb,
    examples=[
        "policy s3://dask-runs/etl",
        "policy --write-only --job nightly s3://dask-runs/etl",
    ],
)
@click.argument("store_url", metavar="[STORE]", required=False)
@click.option(
    "--write-only",
    is_flag=True,
    help="For jobs: they cannot read recordings, except their run.json.",
)
@click.option(
    "--read-only", is_flag=True, help="For readers: they cannot write or delete."
)
@click.option(
    "--job", metavar="JOB", help="Only for recordings of this job. Default: all jobs."
)
def policy(
    *, store_url: str | None, write_only: bool, read_only: bool, job: str | None
) -> None:
    """Print the IAM policy for recording into a bucket, as JSON.

    STORE is s3://bucket/prefix. Default: blackbox.store.url.
    """
    from dask_blackbox.store import store_settings

    if write_only and read_only:
        raise click.UsageError("choose one of --write-only and --read-only")
    place = place_of(str(store_settings(store_url)["url"]))
    if not isinstance(place, Bucket) or place.scheme != "s3":
        what = (
            f"{place.url} is no bucket of S3"
            if isinstance(place, Bucket)
            else f"{place} is a folder"
        )
        raise ConfigurationError(
            f"{what}, and IAM policies are for buckets of S3; name one as "
            "s3://bucket/prefix (`dask blackbox doctor` checks who can read a folder)"
        )
    if write_only:
        statements = _write_only(place, job)
    elif read_only:
        statements = _read_only(place, job)
    else:
        statements = _recording(place, job)
    document = {"Version": "2012-10-17", "Statement": statements}
    click.echo(json.dumps(document, indent=2))


def _recording(place: Bucket, job: str | None) -> list[dict[str, Any]]:
    if job is None:
        everything = _allowed(place, "Record", [_PUT, _GET, _DELETE], ["*"])
        audit = _allowed(place, "KeepAudit", [_DELETE], [_AUDIT])
        return [everything, audit | {"Effect": "Deny"}, _listing(place, ["*"])]
    of = JobPatterns.of(job)
    kept = [of.runs, of.job_marks, of.sketches, of.notes]
    return [
        _allowed(place, "Record", [_PUT, _GET], kept),
        _allowed(place, "Mark", [_PUT], [of.all_marks]),
        _allowed(place, "Replace", [_DELETE], [of.bundles, of.sketches]),
        _allowed(place, "Check", [_PUT, _GET, _DELETE], [_CHECKS]),
        _listing(place, [*kept, _CHECKS]),
    ]


def _write_only(place: Bucket, job: str | None) -> list[dict[str, Any]]:
    of = JobPatterns.of(job)
    written = [of.runs, of.all_marks, of.job_marks, of.sketches]
    return [
        _allowed(place, "Record", [_PUT], written),
        # Whether an attempt is its own, or one of another recording that is not overwritten.
        _allowed(place, "FindOwnAttempt", [_GET], [of.manifests]),
        _allowed(place, "Check", [_PUT, _GET, _DELETE], [_CHECKS]),
        _listing(place, [of.of_one_run, _CHECKS]),
    ]


def _read_only(place: Bucket, job: str | None) -> list[dict[str, Any]]:
    if job is None:
        return [_allowed(place, "Read", [_GET], ["*"]), _listing(place, ["*"])]
    of = JobPatterns.of(job)
    read = [of.runs, of.job_marks, of.sketches, of.notes]
    return [_allowed(place, "Read", [_GET], read), _listing(place, [*read, _CHECKS])]


def _allowed(
    place: Bucket, what: str, actions: list[str], names: list[str]
) -> dict[str, Any]:
    start = f"{place.arn_of_objects}{_literal(place.prefix)}"
    return {
        "Sid": what,
        "Effect": "Allow",
        "Action": actions,
        "Resource": [f"{start}{name}" for name in names],
    }


def _listing(place: Bucket, names: list[str]) -> dict[str, Any]:
    prefixes = [f"{_literal(place.prefix)}{name}" for name in names]
    return {
        "Sid": "List",
        "Effect": "Allow",
        "Action": ["s3:ListBucket"],
        "Resource": [place.arn],
        "Condition": {"StringLike": {"s3:prefix": prefixes}},
    }


def _literal(text: str) -> str:
    """Return a text for a policy, in which `*`, `?` and `$` have a meaning otherwise."""
    return "".join(f"${{{each}}}" if each in "*?$" else each for each in text)
