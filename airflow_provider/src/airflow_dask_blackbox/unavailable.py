"""What Airflow is given where a part of ours cannot be loaded, so that Airflow itself starts.

Airflow reads the attributes of a plugin and the facts of a provider without a guard of its own:
an exception in one of them ends the API server, or every process.  A newer Airflow can break any
import of ours, so this module imports only the standard library.
"""

from __future__ import annotations

import html
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias, TypeVar

__all__ = ["PREFIX", "page_that_says", "value_or", "why"]

PREFIX: Final = "/dask-blackbox"
"""Below which Airflow's API server serves our pages."""

_log = logging.getLogger("dask_blackbox")
_Made = TypeVar("_Made")
_Event: TypeAlias = MutableMapping[str, Any]
_Application: TypeAlias = Callable[
    [_Event, Callable[[], Awaitable[_Event]], Callable[[_Event], Awaitable[None]]],
    Awaitable[None],
]
_LONGEST: Final = 500


def value_or(
    otherwise: Callable[[Exception], _Made], doing: str, make: Callable[[], _Made]
) -> _Made:
    """Return what `make` returns; if it raises, one log line says so, and `otherwise` is used.

    Args:
        otherwise: Returns what Airflow is given instead; takes the error.
        doing: What Airflow continues without, in the words of the log line.
        make: What may fail.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever it was, Airflow must start
        _log.warning("dask-blackbox continued without %s: %s", doing, why(error))
        return otherwise(error)


def why(error: Exception) -> str:
    """Return an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]


def page_that_says(error: Exception) -> _Application:
    """Return an ASGI application whose only page says why the tab is not there.

    Anybody may see it, so it names modules that cannot be imported, and of any other error only
    the class.
    """
    shown = why(error) if isinstance(error, ImportError) else type(error).__name__
    page = (
        "<!doctype html><meta charset=utf-8><title>Dask runs</title>"
        '<body style="font: 15px/1.5 system-ui, sans-serif; margin: 2em">'
        "<h1>Dask runs cannot be shown</h1>"
        "<p>The Airflow API server could not load this page of "
        f"airflow-provider-dask-blackbox: <code>{html.escape(shown)}</code></p>"
        "<p>Tasks are not affected. Install a version of airflow-provider-dask-blackbox that "
        "supports this version of Airflow; the log of the API server has the details.</p>"
    ).encode()
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (
            b"content-security-policy",
            b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
        ),
        (b"cache-control", b"private, no-store"),
    )

    async def application(
        scope: _Event,
        receive: Callable[[], Awaitable[_Event]],
        send: Callable[[_Event], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        start = {
            "type": "http.response.start",
            "status": 503,
            "headers": list(headers),  # middleware of Airflow's adds its own
        }
        await send(start)
        await send({"type": "http.response.body", "body": page})

    return application
