"""How boto3 is set up: the one place that knows its switches."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config

from dask_blackbox.store.options import StoreOptions

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SOMEWHERE = "us-east-1"


def client_of(options: StoreOptions) -> S3Client:
    """Return a client for these options.

    Raises:
        botocore.exceptions.BotoCoreError: for a profile or region that there is not.
    """
    session = _session(options)
    # Other servers than Amazon's have seldom a DNS name for each bucket.
    by_path = {"addressing_style": "path"}
    if options.endpoint and not _is_amazon(options.endpoint):
        return _client(session, options, by_path)
    client = _client(session, options, {})
    # The endpoint may as well come from the environment or the profile.
    if _is_amazon(client.meta.endpoint_url):
        return client
    return _client(session, options, by_path)


def credentials_found(options: StoreOptions) -> str | None:
    """Return boto3's word for where credentials come from: `env`, `iam-role`, …"""
    found = _session(options).get_credentials()
    return None if found is None else str(found.method)


def _session(options: StoreOptions) -> boto3.session.Session:
    core = botocore.session.Session(profile=options.profile)
    # Not the whole session: after a new login, the new credentials are used.
    core.register_component("data_loader", _models(options.profile))
    return boto3.session.Session(
        botocore_session=core,
        aws_access_key_id=options.key,
        aws_secret_access_key=options.secret,
        aws_session_token=options.token,
        profile_name=options.profile,
        region_name=options.region,
    )


@cache
def _models(profile: str | None) -> object:
    """Return what loads the descriptions of services, which all clients can share."""
    loader = botocore.session.Session(profile=profile).get_component("data_loader")
    loader.file_loader = _WithoutTexts()
    return loader


class _WithoutTexts(botocore.loaders.JSONFileLoader):
    """Leaves out of descriptions what is for people: most of their memory, for a whole run."""

    def load_file(self, file_path: str) -> object:
        return _without_texts(super().load_file(file_path))


def _without_texts(part: object) -> object:
    if isinstance(part, dict):
        return {
            sys.intern(name): ""  # its key has to be there
            if name == "documentation" and isinstance(value, str)
            else _without_texts(value)
            for name, value in part.items()
        }
    if isinstance(part, list):
        return [_without_texts(each) for each in part]
    return part


def _client(
    session: boto3.session.Session, options: StoreOptions, s3: dict[str, Any]
) -> S3Client:
    switches: dict[str, Any] = {
        # Without it, links to a custom endpoint get the signature of 2006.
        "signature_version": "s3v4",
        "s3": s3,
        "connect_timeout": options.connect_timeout,
        "read_timeout": options.read_timeout,
        "retries": {"mode": "standard", "total_max_attempts": options.attempts},
        "request_checksum_calculation": options.checksum,
        "response_checksum_validation": options.checksum,
    }
    return session.client(
        "s3",
        endpoint_url=options.endpoint,
        region_name=session.region_name or _SOMEWHERE,
        config=Config(**switches),
    )


def _is_amazon(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu"))
