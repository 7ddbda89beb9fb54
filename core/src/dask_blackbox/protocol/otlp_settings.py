"""The setting `blackbox.otlp`: where the trace of a run is sent, and whose span it belongs to."""

from __future__ import annotations

import logging
import os
import sys
from importlib.util import find_spec
from urllib.parse import urlsplit

from dask_blackbox.calling_task import calling_task
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded
from dask_blackbox.protocol.messages import Otlp
from dask_blackbox.settings import setting

logger = logging.getLogger("dask_blackbox")

_TRACEPARENT = bounded(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_EXPORTER = "opentelemetry.exporter"
_API = "opentelemetry.trace"


def otlp_set() -> Otlp | None:
    """Return where traces are sent; None: nowhere.  A mistake is a line in the log."""
    try:
        return _chosen(setting("otlp"))
    except ConfigurationError as error:
        logger.warning("no trace is sent: %s", error)
        return None


def _chosen(value: object) -> Otlp | None:
    if value in (None, False, ""):
        return None
    if value is not True and not isinstance(value, str):
        raise ConfigurationError(
            f"blackbox.otlp is {value!r}; give the URL of a collector, or true to use "
            "OTEL_EXPORTER_OTLP_ENDPOINT"
        )
    endpoint = value if isinstance(value, str) else None
    if endpoint is not None and urlsplit(endpoint).scheme not in {"http", "https"}:
        raise ConfigurationError(
            "blackbox.otlp is no URL; give one like 'http://collector:4318'"
        )
    if not _is_installed():
        raise ConfigurationError(
            "blackbox.otlp needs OpenTelemetry: pip install 'dask-blackbox[otlp]'"
        )
    return Otlp(endpoint=endpoint, traceparent=_traceparent())


def _is_installed() -> bool:
    try:
        return find_spec(f"{_EXPORTER}.otlp.proto.http") is not None
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
