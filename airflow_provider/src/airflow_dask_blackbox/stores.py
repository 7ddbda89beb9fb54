"""Where a task records to: the operator's arguments, Airflow's configuration, a connection."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
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
    """Return settings for the store from an `aws` connection, `settings` having the last word.

    Raises:
        ConfigurationError: if there is no such connection, it is of another kind, or
            takes more than is installed here.
    """
    conn_id = conn_id or conf.get(_SECTION, "store_conn_id", fallback=None) or None
    if conn_id is None:
        return dict(settings) if settings else None
    connection = connection_of(conn_id, "store_conn_id", "aws")
    if connection.conn_type not in {"aws", "s3"}:
        raise ConfigurationError(
            f"connection {conn_id!r} is of type {connection.conn_type!r}; "
            "store_conn_id= needs one of type 'aws'"
        )
    found = _options_of_connection(connection)
    known = {name: value for name, value in found.items() if value}
    return {**known, **(settings or {})}


def _options_of_connection(connection: Any) -> dict[str, Any]:
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
