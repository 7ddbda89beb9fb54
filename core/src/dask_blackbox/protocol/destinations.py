"""The settings `blackbox.otlp` and `blackbox.openlineage`: where a run is sent, and whose it is."""

from __future__ import annotations

import logging
import os
import sys
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from dask_blackbox.calling_task import calling_task
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from dask_blackbox.protocol.messages import OpenLineage, Otlp
from dask_blackbox.settings import setting

logger = logging.getLogger("dask_blackbox")

_TRACEPARENT = bounded(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_PARENT = bounded(r".+/[^/]+/[0-9a-fA-F-]{36}")
_API = "opentelemetry.trace"
_TRUE = "true"
"""In place of a URL: where the variables and files of the client say."""


class _Kind(NamedTuple):
    """What is known of a kind of destination.

    Attributes:
        name: Of the setting, and of the extra that it needs.
        what: What is sent.
        client: The package that sends it.
        module: Of that package.
        own: What says where to, if the setting is true.
        example: A URL.
    """

    name: str
    what: str
    client: str
    module: str
    own: str
    example: str


_OTLP = _Kind(
    name="otlp",
    what="trace",
    client="OpenTelemetry",
    module="opentelemetry.exporter.otlp.proto.http",
    own="OTEL_EXPORTER_OTLP_ENDPOINT",
    example="http://collector:4318",
)
_OPENLINEAGE = _Kind(
    name="openlineage",
    what="OpenLineage event",
    client="OpenLineage's client",
    module="openlineage.client",
    own="OPENLINEAGE_URL or openlineage.yml",
    example="http://marquez:5000",
)


def otlp_set() -> Otlp | None:
    """Return where traces are sent; None: nowhere.  A mistake is a line in the log."""
    to = _chosen(_OTLP, setting("otlp"))
    if to is None:
        return None
    return Otlp(endpoint=None if to == _TRUE else to, traceparent=_traceparent())


def openlineage_set() -> OpenLineage | None:
    """Return where lineage is sent; None: nowhere.  A mistake is a line in the log."""
    to = _chosen(_OPENLINEAGE, setting("openlineage"))
    if to is None:
        return None
    parent = os.environ.get("OPENLINEAGE_PARENT_ID", "")
    return OpenLineage(
        url=None if to == _TRUE else to,
        namespace=os.environ.get("OPENLINEAGE_NAMESPACE") or "dask",
        parent=parent if _PARENT.fullmatch(parent) else "",
    )


def _chosen(kind: _Kind, value: object) -> str | None:
    """Return a URL, or `_TRUE`; None: nothing is sent."""
    try:
        return _checked(kind, value)
    except ConfigurationError as error:
        logger.warning("no %s is sent: %s", kind.what, error)
        return None


def _checked(kind: _Kind, value: object) -> str | None:
    if value in (None, False, ""):
        return None
    if value is not True and not isinstance(value, str):
        raise ConfigurationError(
            f"blackbox.{kind.name} is {value!r}; give a URL, or true to use {kind.own}"
        )
    url = value if isinstance(value, str) else _TRUE
    if url != _TRUE and urlsplit(url).scheme not in {"http", "https"}:
        raise ConfigurationError(
            f"blackbox.{kind.name} is no URL; give one like '{kind.example}'"
        )
    if not _is_installed(kind.module):
        raise ConfigurationError(
            f"blackbox.{kind.name} needs {kind.client}: "
            f"pip install 'dask-blackbox[{kind.name}]'"
        )
    return url


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of one of its parents
        return False


def _traceparent() -> str:
    """Return the span that this process belongs to: its own, the task's, or the shell's."""
    found = [
        _current_span(),
        calling_task(os.environ).get("traceparent", ""),
        os.environ.get("TRACEPARENT", ""),
    ]
    return next((each for each in found if _TRACEPARENT.fullmatch(each)), "")


def _current_span() -> str:
    """Return the current span of this program; empty: it does not trace."""
    api = sys.modules.get(_API)
    if api is None:
        return ""
    with guard("the current span of OpenTelemetry"):
        context = api.get_current_span().get_span_context()
        if context.is_valid:
            flags = int(context.trace_flags)
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"
    return ""
