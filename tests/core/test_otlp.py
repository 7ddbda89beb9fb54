"""A run as an OpenTelemetry trace: what a collector gets from the recorder, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import dask.config
import pytest
from conditions import until
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import TraceSpan
from dask_blackbox.protocol.destinations import otlp_set
from dask_blackbox.protocol.messages import Otlp
from dask_blackbox.recorder.otlp import send_trace
from dask_blackbox.report.trace_spans import trace_spans
from dask_blackbox.testing import EPOCH, a_run, a_task, a_task_error
from http_receiver import Receiver, receiver
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.sdk.trace import TracerProvider

pytestmark = pytest.mark.processes

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collected(NamedTuple):
    """What a collector of OTLP got by HTTP.

    Attributes:
        spans: By name.
        metrics: Values by name.
        logs: Records of logs.
    """

    spans: dict[str, Any]
    metrics: dict[str, float]
    logs: list[Any]


def collected(found: Receiver) -> Collected:
    """Return what is in the requests that came, as the protocol says."""
    spans: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    records: list[Any] = []
    for each in found.posts:
        if each.path == "/v1/traces":
            traces = trace_service_pb2.ExportTraceServiceRequest.FromString(each.body)
            [group] = traces.resource_spans[0].scope_spans
            spans.update({span.name: span for span in group.spans})
        elif each.path == "/v1/metrics":
            numbers = metrics_service_pb2.ExportMetricsServiceRequest
            sent = numbers.FromString(each.body).resource_metrics[0].scope_metrics
            for metric in sent[0].metrics:
                [point] = metric.gauge.data_points
                metrics[metric.name] = point.as_double or point.as_int
        elif each.path == "/v1/logs":
            logs = logs_service_pb2.ExportLogsServiceRequest.FromString(each.body)
            [group] = logs.resource_logs[0].scope_logs
            records.extend(group.log_records)
    return Collected(spans, metrics, records)


def attributes(span: Any) -> dict[str, Any]:
    return {
        each.key: each.value.string_value
        or each.value.int_value
        or each.value.double_value
        for each in span.attributes
    }


def failed_card(**fields: Any) -> RunCard:
    given: dict[str, Any] = {
        "job": "nightly",
        "run_id": "run-7",
        "attempt": 2,
        "state": "failed",
        "headline": "KeyError in 'clean'",
        "numbers": {"duration": 60.0, "tasks": 2, "task_failures": 1},
    }
    return RunCard(**given | fields)


def spans_of_a_failed_run() -> tuple[TraceSpan, ...]:
    run = a_run(
        a_task("load-1", start=1.0, compute=2.0),
        a_task("clean-1", start=4.0, compute=1.0, outcome="erred"),
        a_task_error(
            "clean-1",
            at=5.0,
            exception="builtins.KeyError",
            message="'price'",
            traceback="Traceback …",
        ),
    )
    return trace_spans(run, failed_card())


def test_a_run_is_a_span_with_its_prefixes_and_failures() -> None:
    with receiver() as found:
        problems = send_trace(
            Otlp(endpoint=found.url, traceparent=CALLER),
            failed_card(),
            spans_of_a_failed_run(),
        )

    assert problems == []
    sent = collected(found)
    whole, clean, failure = (sent.spans[n] for n in ("nightly", "clean", "clean-1"))
    assert whole.trace_id.hex() == CALLER.split("-")[1]
    assert whole.parent_span_id.hex() == CALLER.split("-")[2]
    assert (clean.parent_span_id, failure.parent_span_id) == (
        whole.span_id,
        clean.span_id,
    )
    assert whole.end_time_unix_nano - whole.start_time_unix_nano == 60 * 10**9
    assert failure.start_time_unix_nano == int((EPOCH + 4) * 10**9)
    assert whole.status.message == "KeyError in 'clean'"
    known = attributes(whole)
    assert known["cicd.pipeline.result"] == "failure"
    assert (known["dask.attempt"], known["dask.task_failures"]) == (2, 1)
    [event] = failure.events
    assert event.name == "exception"
    assert attributes(event)["exception.type"] == "builtins.KeyError"
    assert sent.metrics["dask.run.duration"] == 60.0
    [record] = sent.logs
    assert "KeyError in 'clean'" in record.body.string_value
    assert record.span_id == whole.span_id
    assert record.severity_text == "ERROR"


def test_many_prefixes_and_failures_are_bounded_and_counted() -> None:
    tasks = [a_task(f"p{n}-1", compute=float(n + 1)) for n in range(120)]
    errors = [a_task_error(f"p{n}-1") for n in range(70)]
    spans = trace_spans(a_run(*tasks, *errors), failed_card())

    assert len(spans) == 1 + 100 + 50
    assert spans[0].attributes["dask.prefixes_left_out"] == 20
    assert spans[1].name == "p119"  # what computed most comes first


@pytest.mark.parametrize(
    "trouble", ["refuses", pytest.param("is away", marks=pytest.mark.nightly)]
)
def test_what_a_collector_does_not_take_is_a_line_in_the_log(
    trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver(400) as found:
        endpoint = found.url if trouble == "refuses" else "http://127.0.0.1:9"
        to = Otlp(endpoint=endpoint)
        problems = send_trace(to, failed_card(), spans_of_a_failed_run())

    assert problems
    assert "the trace of the run was not sent" in caplog.text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("collector:4318", "is no URL; give one like 'http://collector:4318'"),
        (4318, "give a URL, or true to use OTEL_EXPORTER_OTLP_ENDPOINT"),
    ],
)
def test_a_mistake_in_the_setting_is_a_line_in_the_log(
    value: object, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with dask.config.set({"blackbox.otlp": value}):
        assert otlp_set() is None

    assert says in caplog.text


def test_the_span_of_the_program_goes_before_that_of_the_shell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEPARENT", CALLER)
    tracer = TracerProvider().get_tracer("test")
    with dask.config.set({"blackbox.otlp": True}):
        outside = otlp_set()
        with tracer.start_as_current_span("flow") as span:
            inside = otlp_set()
    monkeypatch.setenv("TRACEPARENT", "nonsense")
    with dask.config.set({"blackbox.otlp": "http://collector:4318"}):
        alone = otlp_set()

    assert outside == Otlp(traceparent=CALLER)
    assert inside is not None
    assert f"{span.get_span_context().trace_id:032x}" in inside.traceparent
    assert alone == Otlp(endpoint="http://collector:4318")


_DRIVER = """
import os, signal, sys
from distributed import Client, LocalCluster
from dask_blackbox import recording

def price(row):
    return row["unit_price"]

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client, recording(client, store=sys.argv[1], job="nightly"):
            client.submit(price, {}, key="price-1").exception()
            if sys.argv[2] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            client.submit(price, {}, key="price-2").result()
"""


@pytest.mark.parametrize(
    "ending", ["failed", pytest.param("killed", marks=pytest.mark.nightly)]
)
def test_a_recorded_run_arrives_within_its_callers_trace(
    ending: str, tmp_path: Path
) -> None:
    script = tmp_path / "nightly.py"
    script.write_text(_DRIVER)
    with receiver() as found:
        environ = os.environ | {
            "DASK_BLACKBOX__OTLP": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": found.url,
            "TRACEPARENT": CALLER,
        }
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "store"), ending],
            env=environ,
            capture_output=True,
            check=False,
        )
        until(
            lambda: collected(found).logs,
            "the run has arrived",
            describe=lambda: done.stderr,
        )

    assert done.returncode == (1 if ending == "failed" else -signal.SIGKILL)
    spans = collected(found).spans
    whole = spans["nightly"]
    assert whole.trace_id.hex() == CALLER.split("-")[1]
    verdict = "task-exception" if ending == "failed" else "driver-killed"
    assert attributes(whole)["dask.verdict"] == verdict
    if (
        ending == "failed"
    ):  # else what the tasks said may have been lost with the driver
        assert spans["price"].parent_span_id == whole.span_id
        assert "KeyError" in spans["price-1"].status.message
