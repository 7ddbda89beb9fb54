"""Where a task records to: the operator's arguments, Airflow's configuration, a connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dask_blackbox.errors import ConfigurationError

from airflow_dask_blackbox.arguments import connection_of
from airflow_dask_blackbox.compat import conf

if TYPE_CHECKING:
    # The real one imports Dask's configuration, and DAG files are parsed all day.
    from dask_blackbox.store import StoreChoice

__all__ = ["TaskStore", "configured_store", "store_settings_of"]

_SECTION = "dask_blackbox"
_FROM_EXTRA = {
    "endpoint_url": "endpoint",
    "region_name": "region",
    "profile_name": "profile",
}


_NEED_PROVIDER = (
    "role_arn",
    "assume_role_method",
    "assume_role_kwargs",
    "aws_account_id",
    "aws_iam_role",
    "session_kwargs",
    "service_config",
)
_PROVIDER = "airflow.providers.amazon.aws.hooks.base_aws"
_OF_GOOGLE, _OF_AZURE = "extra__google_cloud_platform__", "extra__wasb__"
"""How names of a connection's extra began in older versions of Airflow."""
_GOOGLE = (
    "keyfile_dict",
    "key_path",
    "key_secret_name",
    "credential_config_file",
    "impersonation_chain",
)
_LARGEST_KEY = 2**16


class TaskStore(NamedTuple):
    """The store of a task's recording, as the task was given it.

    Attributes:
        url: None: that of Airflow's configuration, else of Dask's.
        conn_id: Its Airflow connection; None: that of Airflow's configuration, if any.
        settings: Single settings, which have the last word.
    """

    url: str | None = None
    conn_id: str | None = None
    settings: Mapping[str, object] | None = None

    def chosen(self) -> StoreChoice:
        """Return it with what Airflow's configuration and its connection add.

        Raises:
            ConfigurationError: as `store_settings_of`.
        """
        from dask_blackbox.store import StoreChoice

        settings = store_settings_of(self.conn_id, self.settings)
        return StoreChoice(configured_store(self.url), settings)


def configured_store(store: str | None) -> str | None:
    """Return the store that the operator names, else the one in Airflow's configuration.

    None leaves the choice to Dask's configuration (`blackbox.store.url`).
    """
    return store or conf.get(_SECTION, "store", fallback=None) or None


def store_settings_of(
    conn_id: str | None, settings: Mapping[str, object] | None
) -> dict[str, object] | None:
    """Return settings for the store from a cloud's connection, `settings` having the last word.

    Raises:
        ConfigurationError: if there is no such connection, it is of another kind, or
            takes more than is installed here.
    """
    conn_id = conn_id or conf.get(_SECTION, "store_conn_id", fallback=None) or None
    if conn_id is None:
        return dict(settings) if settings else None
    connection = connection_of(conn_id, "store_conn_id", "aws")
    options = _OPTIONS.get(connection.conn_type)
    if options is None:
        raise ConfigurationError(
            f"connection {conn_id!r} is of type {connection.conn_type!r}; "
            "store_conn_id= needs one of type 'aws', 'google_cloud_platform' or 'wasb'"
        )
    found = options(connection)
    known = {name: value for name, value in found.items() if value}
    return {**known, **(settings or {})}


def _options_of_aws(connection: Any) -> dict[str, Any]:
    """Return what a connection says, by itself or through Airflow's amazon provider.

    What boto3 finds by itself, as for a profile, it can renew while a run lasts; so the
    provider is asked only for what nobody else can do.

    Raises:
        ConfigurationError: if it takes the provider, which is not here.
    """
    extra = connection.extra_dejson
    more = sorted(name for name in _NEED_PROVIDER if extra.get(name))
    if more and _provider_installed():
        return _options_of_provider(connection.conn_id)
    if more:
        raise ConfigurationError(
            f"connection {connection.conn_id!r} has {', '.join(more)}, which needs "
            "Airflow's amazon provider: install apache-airflow-providers-amazon where "
            "tasks run, or name a profile in the connection's extra (profile_name)"
        )
    return {
        "key": connection.login or extra.get("aws_access_key_id"),
        "secret": connection.password or extra.get("aws_secret_access_key"),
        "token": extra.get("aws_session_token"),
        **{ours: extra.get(theirs) for theirs, ours in _FROM_EXTRA.items()},
    }


def _provider_installed() -> bool:
    try:
        return find_spec(_PROVIDER) is not None
    except ModuleNotFoundError:  # of one of its parents
        return False


def _options_of_provider(conn_id: str) -> dict[str, object]:
    """Return what the amazon provider makes of a connection: roles, tokens and all."""
    hook = import_module(_PROVIDER).AwsBaseHook(aws_conn_id=conn_id, client_type="s3")
    credentials = hook.get_credentials(region_name=hook.region_name)
    return {
        "key": credentials.access_key,
        "secret": credentials.secret_key,
        "token": credentials.token,
        "region": hook.region_name,
        "endpoint": hook.conn_config.get_service_endpoint_url("s3"),
    }


def _options_of_google(connection: Any) -> dict[str, Any]:
    """Return the key of the service account that a `google_cloud_platform` connection has.

    Without one, the credentials are those of the environment, the machine or the pod.

    Raises:
        ConfigurationError: if its key file cannot be read, or it is none of these.
    """
    extra = connection.extra_dejson
    known = {name: extra.get(name) or extra.get(_OF_GOOGLE + name) for name in _GOOGLE}
    if text := known["keyfile_dict"]:
        return {"credentials": text if isinstance(text, str) else json.dumps(text)}
    if path := known["key_path"]:
        return {"credentials": _key_file(connection.conn_id, path)}
    others = [name for name in _GOOGLE if known[name]]
    if others:
        raise ConfigurationError(
            f"connection {connection.conn_id!r} has {others[0]}, which a store does not "
            "read; give keyfile_dict or key_path, or leave all empty to use the "
            "credentials of the environment"
        )
    return {}


def _key_file(conn_id: str, path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as key:
            return key.read(_LARGEST_KEY)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"connection {conn_id!r}: its key_path cannot be read: {error}"
        ) from error


def _options_of_azure(connection: Any) -> dict[str, Any]:
    """Return what a `wasb` connection has: a connection string, a key, a SAS token or a principal.

    Without one, the credentials are those of the environment, the machine or the pod.
    """
    extra = connection.extra_dejson
    extra = {**extra, **{n.removeprefix(_OF_AZURE): v for n, v in extra.items() if v}}
    login, password = connection.login, connection.password
    if text := extra.get("connection_string"):
        return {"credentials": text}
    if tenant := extra.get("tenant_id"):
        principal = {"clientId": login, "clientSecret": password, "tenantId": tenant}
        return {"credentials": json.dumps(principal)}
    account = f"AccountName={login};" if login else ""
    if token := extra.get("sas_token"):
        # It may be the token, or the container's URL with it.
        token = str(token).rpartition("?")[2]
        return {"credentials": f"{account}SharedAccessSignature={token}"}
    if key := extra.get("shared_access_key") or password:
        return {"credentials": f"{account}AccountKey={key}"}
    return {}


_OPTIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "aws": _options_of_aws,
    "s3": _options_of_aws,
    "google_cloud_platform": _options_of_google,
    "wasb": _options_of_azure,
}
"""What a store takes from a connection, by its type."""
