"""Buckets that blocks of prefect-aws, prefect-gcp and prefect-azure name, as stores.

Their fields are read, and none of these collections is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.store import StoreChoice
from prefect.blocks.core import Block
from pydantic import SecretStr

from prefect_dask_blackbox.block_names import (
    AZURE_CONTAINER,
    BLOCK,
    GCS_BUCKET,
    S3_BUCKET,
)

__all__ = ["plain", "store_of_bucket"]

_LARGEST_KEY = 2**16


def store_of_bucket(name: str) -> StoreChoice:
    """Return the store that a bucket's block names, with its credentials.

    Args:
        name: With the slug of its type: `s3-bucket/prod`.

    Raises:
        ConfigurationError: if there is no such block, it is no bucket's, or its
            credentials cannot be read.
    """
    slug = name.partition("/")[0]
    if slug not in _READERS:
        raise ConfigurationError(
            f"{name!r} is no block of a bucket; known types: {', '.join(_READERS)}"
        )
    try:
        block: Any = Block.load(name, _sync=True)  # type: ignore[call-arg]
    except (ValueError, RuntimeError) as error:
        raise ConfigurationError(f"store='{BLOCK}{name}': {error}") from error
    url, settings = _READERS[slug](block, name)
    return StoreChoice(
        url.rstrip("/"), {key: value for key, value in settings.items() if value}
    )


def plain(value: Any) -> str | None:
    """Return a field's text, secret or not."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return None if value is None else str(value)


def _s3_bucket(block: Any, name: str) -> tuple[str, dict[str, Any]]:
    credentials = getattr(block, "credentials", None)
    client = getattr(credentials, "aws_client_parameters", None)
    found: dict[str, Any] = {
        "key": plain(_first(credentials, "aws_access_key_id", "minio_root_user")),
        "secret": plain(
            _first(credentials, "aws_secret_access_key", "minio_root_password")
        ),
        "token": plain(getattr(credentials, "aws_session_token", None)),
        "region": getattr(credentials, "region_name", None),
        "profile": getattr(credentials, "profile_name", None),
        **_of_client(client),
    }
    if getattr(credentials, "assume_role_arn", None):
        found |= _of_role(credentials, name)
    folder = _folder(getattr(block, "bucket_folder", None))
    return f"s3://{block.bucket_name}/{folder}", found


def _of_client(parameters: Any) -> dict[str, Any]:
    """Return the settings for what a block sets of boto3's client.

    Certificates are verified and requests signed whatever it says.
    """
    config: dict[str, Any] = getattr(parameters, "config", None) or {}
    verify = getattr(parameters, "verify", None)
    bundle = getattr(parameters, "verify_cert_path", None) or verify
    retries = config.get("retries") or {}
    again = retries.get("max_attempts")  # after the first one
    addressing = (config.get("s3") or {}).get("addressing_style")
    return {
        "endpoint": getattr(parameters, "endpoint_url", None),
        "ca-bundle": None if isinstance(bundle, bool) else plain(bundle),
        "addressing": None if addressing == "auto" else addressing,
        "checksum": config.get("request_checksum_calculation"),
        "connect-timeout": config.get("connect_timeout"),
        "read-timeout": config.get("read_timeout"),
        "attempts": retries.get("total_max_attempts")
        or (None if again is None else again + 1),
    }


def _gcs_bucket(block: Any, name: str) -> tuple[str, dict[str, Any]]:
    credentials = getattr(block, "gcp_credentials", None)
    info = getattr(credentials, "service_account_info", None)
    file = getattr(credentials, "service_account_file", None)
    found = None
    if info is not None:
        found = json.dumps(info.get_secret_value())
    elif file is not None:
        found = _key_file(Path(file).expanduser(), name)
    folder = _folder(getattr(block, "bucket_folder", None))
    return f"gs://{block.bucket}/{folder}", {"credentials": found}


def _key_file(file: Path, name: str) -> str:
    try:
        with file.open(encoding="utf-8") as key:
            return key.read(_LARGEST_KEY)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"store='{BLOCK}{name}': its service_account_file cannot be read: {error}"
        ) from error


def _azure_container(block: Any, name: str) -> tuple[str, dict[str, Any]]:
    credentials = getattr(block, "credentials", None)
    connection = plain(getattr(credentials, "connection_string", None))
    account = urlsplit(getattr(credentials, "account_url", None) or "").hostname
    folder = _folder(getattr(block, "base_folder", None))
    container = block.container_name
    if connection or not account:
        return f"az://{container}/{folder}", {"credentials": connection}
    principal = {
        "clientId": getattr(credentials, "client_id", None),
        "clientSecret": plain(getattr(credentials, "client_secret", None)),
        "tenantId": getattr(credentials, "tenant_id", None),
    }
    # Without a principal, both use what the environment, the machine or the pod has.
    given = json.dumps(principal) if all(principal.values()) else None
    return f"abfs://{container}@{account}/{folder}", {"credentials": given}


_READERS: dict[str, Callable[[Any, str], tuple[str, dict[str, Any]]]] = {
    S3_BUCKET: _s3_bucket,
    GCS_BUCKET: _gcs_bucket,
    AZURE_CONTAINER: _azure_container,
}


def _of_role(credentials: Any, name: str) -> dict[str, Any]:
    """Return the temporary credentials of the role that a block assumes.

    They end with the role's session, as those that prefect-aws itself uses.

    Raises:
        ConfigurationError: if the role cannot be assumed.
    """
    try:
        assumed = credentials.get_boto3_session().get_credentials()
        frozen = assumed.get_frozen_credentials()
    except Exception as error:
        role = credentials.assume_role_arn
        raise ConfigurationError(
            f"store='{BLOCK}{name}': the role {role!r} cannot be assumed: {error}"
        ) from error
    return {
        "key": frozen.access_key,
        "secret": frozen.secret_key,
        "token": frozen.token,
    }


def _folder(value: object) -> str:
    return str(value or "").strip("/")


def _first(owner: Any, *names: str) -> Any:
    return next((v for n in names if (v := getattr(owner, n, None)) is not None), None)
