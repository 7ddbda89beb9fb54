"""Credentials for Google Cloud Storage and Azure that a setting holds, by obstore's names."""

from __future__ import annotations

import json
import os

from dask_blackbox.errors import ConfigurationError

__all__ = ["config_of_credentials", "config_of_environment"]

_SETTING = "blackbox.store.credentials"
_CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
_GOOGLE_FILES = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")
_PARTS_OF_CONNECTION = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
_PARTS_OF_PRINCIPAL = {
    "client_id": ("clientId", "appId"),
    "client_secret": ("clientSecret", "password"),
    "tenant_id": ("tenantId", "tenant"),
}
"""obstore's name of each part of a service principal, and those that `az` prints."""
_OF_SERVICE_ACCOUNT = ("client_email", "private_key")


def config_of_credentials(scheme: str, text: str) -> dict[str, str]:
    """Return what obstore needs to sign in with these credentials.

    Args:
        scheme: `gs` or `az`.
        text: For Google, the JSON of a service account's key; for Azure, a connection
            string, or the JSON of a service principal as `az ad sp create-for-rbac`
            prints it.

    Raises:
        ConfigurationError: if they are neither; its text holds none of them.
    """
    if scheme == "gs":
        return _service_account(text)
    return (
        _principal(text) if text.lstrip().startswith("{") else _given_connection(text)
    )


def config_of_environment() -> dict[str, str]:
    """Return what a connection string of Azure in the environment says, which obstore does not read."""
    return _connection(os.environ.get(_CONNECTION_STRING, ""))


def _service_account(text: str) -> dict[str, str]:
    found = _json(text)
    if missing := [name for name in _OF_SERVICE_ACCOUNT if not found.get(name)]:
        raise ConfigurationError(
            f"{_SETTING} lacks {' and '.join(missing)}; give the JSON of a service "
            "account's key"
        )
    if file := next((name for name in _GOOGLE_FILES if os.environ.get(name)), None):
        raise ConfigurationError(
            f"{_SETTING} and the variable {file} both name a service account; remove one"
        )
    return {"service_account_key": text}


def _principal(text: str) -> dict[str, str]:
    found = _json(text)
    config = {
        name: str(value)
        for name, printed in _PARTS_OF_PRINCIPAL.items()
        if (value := next((found[each] for each in printed if found.get(each)), None))
    }
    missing = [name for name in _PARTS_OF_PRINCIPAL if name not in config]
    if missing:
        lacks = " and ".join(_PARTS_OF_PRINCIPAL[name][0] for name in missing)
        raise ConfigurationError(
            f"{_SETTING} lacks {lacks}; give the JSON that `az ad sp create-for-rbac` "
            "prints, or a connection string"
        )
    return config


def _given_connection(text: str) -> dict[str, str]:
    config = _connection(text)
    if not config.keys() & {"account_key", "sas_key"}:
        raise ConfigurationError(
            f"{_SETTING} is no connection string of a storage account: it has no "
            "AccountKey= and no SharedAccessSignature="
        )
    return config


def _connection(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return {
        _PARTS_OF_CONNECTION[name]: value
        for name, _, value in pairs
        if name in _PARTS_OF_CONNECTION and value
    }


def _json(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        # Not `from error`: its text may hold credentials.
        raise ConfigurationError(
            f"{_SETTING} is not JSON; give the text of the file, not its path"
        )
    return found
