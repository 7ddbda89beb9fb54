"""Where a task records to: the operator's own words, Airflow's configuration, a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.configuration import conf
from dask_blackbox.errors import ConfigurationError

__all__ = ["configured_store", "store_settings_of"]

_SECTION = "dask_blackbox"
_FROM_EXTRA = {
    "endpoint_url": "endpoint",
    "region_name": "region",
    "profile_name": "profile",
}


def configured_store(store: str | None) -> str | None:
    """Return the store that the operator names, else the one in Airflow's configuration.

    None leaves the choice to Dask's configuration (`blackbox.store.url`).
    """
    return store or conf.get(_SECTION, "store", fallback=None) or None


def store_settings_of(
    conn_id: str | None, settings: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return settings for the store from an `aws` connection, `settings` having the last word.

    Raises:
        ConfigurationError: if the connection is of another kind.
        AirflowNotFoundException: if there is no such connection.
    """
    conn_id = conn_id or conf.get(_SECTION, "store_conn_id", fallback=None) or None
    if conn_id is None:
        return dict(settings) if settings else None
    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type not in {"aws", "s3"}:
        raise ConfigurationError(
            f"connection {conn_id!r} is of type {connection.conn_type!r}; "
            "store_conn_id= wants one of type 'aws'"
        )
    extra = connection.extra_dejson
    found = {
        "key": connection.login or extra.get("aws_access_key_id"),
        "secret": connection.password or extra.get("aws_secret_access_key"),
        **{ours: extra.get(theirs) for theirs, ours in _FROM_EXTRA.items()},
    }
    known = {name: value for name, value in found.items() if value}
    return {**known, **(settings or {})}
