"""What the tab may read: the administrator's choice, whatever a task announces.

A task may write anything into an XCom.  Of what it says, the API server takes the URL of the
store, and a connection or an endpoint only where Airflow's configuration permits them: else
any DAG author could have the API server send signed requests to any host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from airflow.configuration import conf
from dask_blackbox.errors import ConfigurationError

__all__ = ["check_store", "permitted_connection", "permitted_settings"]

_SECTION: Final = "dask_blackbox"
_WHERE: Final = "section [dask_blackbox] of Airflow's configuration"
_FROM_LIST: Final = ("endpoint", "region")
_HARMLESS: Final = ("checksum",)
"""Settings that lead to no other server and to no other credentials."""


class _Permitted(NamedTuple):
    """An entry of `tab_stores`: `URL`, or `URL endpoint=https://… region=…`."""

    url: str
    settings: dict[str, str]

    def covers(self, url: str) -> bool:
        return url == self.url or url.startswith(f"{self.url}/")


def _listed(option: str) -> list[str]:
    text = conf.get(_SECTION, option, fallback="") or ""
    return [each.strip() for each in text.split(",") if each.strip()]


def _stores() -> list[_Permitted]:
    found = []
    for entry in _listed("tab_stores"):
        url, *rest = entry.split()
        settings = dict(word.partition("=")[::2] for word in rest)
        unknown = sorted(set(settings) - set(_FROM_LIST))
        if unknown:
            raise ConfigurationError(
                f"option tab_stores, {_WHERE}: {unknown[0]!r} is unknown; an entry is a "
                "URL, optionally followed by endpoint=URL and region=NAME"
            )
        found.append(_Permitted(url.rstrip("/"), settings))
    return found


def check_store(url: str) -> None:
    """Check that this server may read a store.

    Raises:
        ConfigurationError: if it may not.
    """
    stores = _stores()
    if stores and not any(each.covers(url) for each in stores):
        raise ConfigurationError(
            f"{url} is not among the stores that this page may read; they are listed "
            f"in option tab_stores, {_WHERE}"
        )


def permitted_connection(announced: str | None) -> str | None:
    """Return the connection that a task announced, if it is permitted; None: the server's.

    Raises:
        ConfigurationError: if there is a list, and it does not have that connection.
    """
    allowed = _listed("tab_connections")
    own = conf.get(_SECTION, "store_conn_id", fallback=None) or None
    if announced is None or announced == own or announced in allowed:
        return announced
    if not allowed:
        return None
    raise ConfigurationError(
        f"connection {announced!r} is not among those that this page may use; they are "
        f"listed in option tab_connections, {_WHERE}"
    )


def permitted_settings(
    url: str | None, announced: Mapping[str, object], own: Mapping[str, object]
) -> dict[str, object]:
    """Return the settings that a task may choose for a store.

    Args:
        url: Of the store; None: the server's own.
        announced: What the task chose.
        own: The settings that the server uses by itself.

    Raises:
        ConfigurationError: if it chose an endpoint that this server may not ask.
    """
    chosen = {
        name: value for name, value in announced.items() if isinstance(value, str)
    }
    found: dict[str, object] = {n: chosen[n] for n in _HARMLESS if n in chosen}
    for each in _stores():
        covers = url is not None and each.covers(url) and each.settings
        if covers and not _differ(each.settings, chosen):
            return found | each.settings
    endpoint = chosen.get("endpoint")
    if endpoint is not None and endpoint != own.get("endpoint"):
        raise ConfigurationError(
            f"this task recorded through {endpoint}, which this page may not ask; permit "
            f"it with an entry `{url} endpoint={endpoint}` of option tab_stores, or the "
            f"task's connection with tab_connections, {_WHERE}, or set "
            "blackbox.store.endpoint for the API server"
        )
    return found


def _differ(settings: Mapping[str, object], chosen: Mapping[str, str]) -> bool:
    """Return whether a task chose something else than is permitted for a store."""
    return any(
        settings.get(name) != chosen[name]
        for name in _FROM_LIST
        if name in chosen and (name == "endpoint" or name in settings)
    )
