"""Sends the trace, the numbers and the card of a run to a collector of OpenTelemetry.

By the official SDK, once the card has been handed to the driver: no run waits for it.  What
cannot be sent in a bounded time is a line in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dask_blackbox.card import RunCard
from dask_blackbox.card_data import TraceSpan
from dask_blackbox.protocol.messages import Otlp
from dask_blackbox.recorder.sending import send_in_time

if TYPE_CHECKING:
    # An extra: imported where something is sent.
    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

_TIMEOUT = 8  # seconds for one request, retries included
_NAME = "dask-blackbox"
_NANOSECONDS = 1_000_000_000
_GAUGES = {
    "duration": ("dask.run.duration", "s"),
    "tasks": ("dask.run.tasks", "{task}"),
    "task_failures": ("dask.run.task_failures", "{task}"),
    "worker_deaths": ("dask.run.worker_deaths", "{worker}"),
    "peak_memory": ("dask.run.peak_memory", "By"),
}
"""Name and unit of the metrics, by the numbers of a card."""


def send_trace(to: Otlp, card: RunCard, spans: Sequence[TraceSpan]) -> list[str]:
    """Send a run to a collector; return what could not be sent, and log it.

    Args:
        to: Where to.
        card: Of the run.
        spans: Of the run, the run's own first.
    """
    return send_in_time("the trace of the run", partial(_send, to, card, spans))


def _send(to: Otlp, card: RunCard, spans: Sequence[TraceSpan]) -> list[str]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExportResult

    resource = Resource.create(
        {"service.name": _NAME, "service.version": version("dask-blackbox")}
    )
    made = _spans(to, spans, resource)
    exporter = OTLPSpanExporter(endpoint=_at(to, "traces"), timeout=_TIMEOUT)
    sent = exporter.export(made) is SpanExportResult.SUCCESS
    exporter.shutdown()  # type: ignore[no-untyped-call]
    problems = [] if sent else ["the collector did not accept the spans"]
    problems += _send_numbers(to, card, resource)
    if made:
        problems += _send_card(to, card, resource, made[0])
    return problems


def _at(to: Otlp, signal: str) -> str | None:
    """Return where a signal is sent; None: where OpenTelemetry's variables say."""
    return None if to.endpoint is None else f"{to.endpoint.rstrip('/')}/v1/{signal}"


def _spans(
    to: Otlp, spans: Sequence[TraceSpan], resource: Resource
) -> Sequence[ReadableSpan]:
    """Return the spans of a run as the SDK has them, the run's own first."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
        InMemorySpanExporter,
    )
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer(_NAME)
    contexts: list[Context | None] = []
    made: list[tuple[Any, TraceSpan]] = []
    for each in spans:
        within = _caller(to) if each.parent is None else contexts[each.parent]
        span = tracer.start_span(
            each.name,
            context=within,
            kind=SpanKind.INTERNAL,
            attributes=each.attributes,
            start_time=int(each.start * _NANOSECONDS),
        )
        if each.exception is not None:
            kind, message, traceback = each.exception
            details = {"exception.type": kind, "exception.message": message}
            details |= {"exception.stacktrace": traceback} if traceback else {}
            span.add_event("exception", details, int(each.stop * _NANOSECONDS))
        if each.error:
            span.set_status(Status(StatusCode.ERROR, each.error))
        contexts.append(set_span_in_context(span))
        made.append((span, each))
    for span, each in made:
        span.end(end_time=int(each.stop * _NANOSECONDS))
    provider.shutdown()
    return kept.get_finished_spans()


def _caller(to: Otlp) -> Context | None:
    from opentelemetry.trace.propagation.tracecontext import (
        TraceContextTextMapPropagator,
    )

    if not to.traceparent:
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": to.traceparent})


def _send_numbers(to: Otlp, card: RunCard, resource: Resource) -> list[str]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import (
        OTLPMetricExporter,
    )
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import (
        InMemoryMetricReader,
        MetricExportResult,
    )

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter(_NAME)
    about = {"dask.job": card.job, "dask.state": card.state}
    for number, (name, unit) in _GAUGES.items():
        if isinstance(value := card.numbers.get(number), int | float):
            meter.create_gauge(name, unit=unit).set(value, about)
    found = reader.get_metrics_data()
    provider.shutdown()
    if found is None:
        return []
    exporter = OTLPMetricExporter(endpoint=_at(to, "metrics"), timeout=_TIMEOUT)
    sent = exporter.export(found) is MetricExportResult.SUCCESS
    exporter.shutdown()
    return [] if sent else ["the collector did not accept the metrics"]


def _send_card(
    to: Otlp, card: RunCard, resource: Resource, root: ReadableSpan
) -> list[str]:
    """Send the card as a log record of the run's span."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import (
        InMemoryLogRecordExporter,
        LogRecordExportResult,
        SimpleLogRecordProcessor,
    )
    from opentelemetry.trace import NonRecordingSpan, set_span_in_context

    kept = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    good = card.state == "succeeded"
    span = root.get_span_context()
    provider.get_logger(_NAME).emit(
        LogRecord(
            timestamp=root.end_time,
            context=None
            if span is None
            else set_span_in_context(NonRecordingSpan(span)),
            severity_number=SeverityNumber.INFO if good else SeverityNumber.ERROR,
            severity_text="INFO" if good else "ERROR",
            body=card.to_markdown(),
            attributes={"dask.job": card.job, "dask.run_id": card.run_id},
        )
    )
    provider.shutdown()
    exporter = OTLPLogExporter(endpoint=_at(to, "logs"), timeout=_TIMEOUT)
    sent = exporter.export(kept.get_finished_logs()) is LogRecordExportResult.SUCCESS
    exporter.shutdown()  # type: ignore[no-untyped-call]
    return [] if sent else ["the collector did not accept the card"]
