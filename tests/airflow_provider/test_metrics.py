"""What Airflow's own metrics count of recorded tasks: real clients of StatsD and OpenTelemetry."""

from __future__ import annotations

import atexit
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from airflow_dask_blackbox.metrics import count_run
from http_receiver import receiver
from retry_cards import a_card

_DAG = """
def good():
    import dask
    return dask.delayed(sum)([1, 2]).compute()

def bad():
    import dask
    return dask.delayed(divide)(1, 0).compute()

def divide(a, b):
    return a / b

with DAG("counted"):
    DaskObservedOperator(
        task_id="good", python_callable=good, cluster_kwargs=TINY, store={store!r})
    DaskObservedOperator(
        task_id="bad", python_callable=bad, cluster_kwargs=TINY, store={store!r})
"""


@pytest.fixture
def statsd() -> Iterator[socket.socket]:
    """Have Airflow send its metrics here; yield the socket that receives them."""
    pytest.importorskip(
        "airflow.sdk.observability.stats", reason="Airflow 3.2 or newer"
    )
    client_of = pytest.importorskip(
        "statsd", reason="an extra of Airflow's"
    ).StatsClient
    from airflow.sdk._shared.observability.metrics import base_stats_logger, stats
    from airflow.sdk._shared.observability.metrics.statsd_logger import (
        SafeStatsdLogger,
    )

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0)
        client = client_of("127.0.0.1", server.getsockname()[1], prefix="airflow")
        logger: Any = SafeStatsdLogger(client)
        stats.initialize(factory=lambda: logger, export_legacy_names=False)
        yield server
        client.close()
        stats.initialize(
            factory=base_stats_logger.NoStatsLogger, export_legacy_names=False
        )


def _received(server: socket.socket) -> list[str]:
    """Return the counters of ours that have arrived; over loopback that is at once."""
    lines = []
    while True:
        try:
            lines += server.recv(65536).decode().splitlines()
        except BlockingIOError:
            return sorted(each for each in lines if ".dask_blackbox." in each)


def test_each_recorded_task_is_counted_once_by_state_and_verdict(
    airflow: Any, tmp_path: Path, statsd: socket.socket
) -> None:
    airflow.load(_DAG.format(store=str(tmp_path)), "counted").test()

    assert _received(statsd) == [
        "airflow.dask_blackbox.runs.failed:1|c",
        "airflow.dask_blackbox.runs.succeeded:1|c",
        "airflow.dask_blackbox.verdicts.task-exception:1|c",
    ]


def test_a_task_that_was_not_recorded_is_counted_as_that(
    statsd: socket.socket,
) -> None:
    card = a_card("succeeded", confidence="high", advice="unknown")
    card = msgspec.structs.replace(card, completeness={"recorded": False})

    count_run(SimpleNamespace(dag_id="d", task_id="t"), card)

    assert "airflow.dask_blackbox.not_recorded:1|c" in _received(statsd)


def test_opentelemetry_gets_the_verdict_with_the_task_and_the_retry_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(
        "airflow.sdk.observability.stats", reason="Airflow 3.2 or newer"
    )
    from airflow.sdk._shared.observability.metrics import base_stats_logger, stats
    from airflow.sdk._shared.observability.metrics.otel_logger import (
        flush_otel_metrics,
        get_otel_logger,
    )
    from opentelemetry import metrics

    card = a_card("failed", confidence="high", advice="memory")
    with receiver() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        logger: Any = get_otel_logger(conf_interval=3_600_000)
        provider: Any = metrics.get_meter_provider()
        stats.initialize(factory=lambda: logger, export_legacy_names=False)
        try:
            count_run(SimpleNamespace(dag_id="d", task_id="t"), card)
            provider.force_flush()
        finally:
            atexit.unregister(flush_otel_metrics)  # the collector is gone by then
            provider.shutdown()
            stats.initialize(
                factory=base_stats_logger.NoStatsLogger, export_legacy_names=False
            )

    assert card.verdict is not None
    task = {"dag_id": "d", "task_id": "t"}
    assert _counters([each.body for each in collector.posts]) == {
        "airflow.dask_blackbox.runs.failed": (1, task),
        f"airflow.dask_blackbox.verdicts.{card.verdict.rule}": (
            1,
            {**task, "retry": "memory"},
        ),
    }


def _counters(bodies: list[bytes]) -> dict[str, tuple[int, dict[str, str]]]:
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

    requests = map(metrics_service_pb2.ExportMetricsServiceRequest.FromString, bodies)
    return {
        metric.name: (
            int(point.as_double or point.as_int),
            {each.key: each.value.string_value for each in point.attributes},
        )
        for request in requests
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.sum.data_points
    }
