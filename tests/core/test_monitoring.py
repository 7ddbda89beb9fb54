"""Shipped alert rules and dashboard: a real Prometheus knows what they ask, and alerts arrive."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import dask
import pytest
from click.testing import CliRunner
from conditions import until
from dask_blackbox import Run
from dask_blackbox.cli import blackbox
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.reader.open_metrics import open_metrics
from dask_blackbox.testing import a_metric, a_task, a_task_error
from http_receiver import Receiver, receiver
from stored_runs import Shelf

PROGRAMS = ("prometheus", "prometheus-pushgateway", "prometheus-alertmanager")
PRICE = {"blackbox.price.core-hour": 0.05, "blackbox.price.gib-hour": 0.01}


def typed(*words: str) -> str:
    done = CliRunner().invoke(blackbox, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def runs(shelf: Shelf) -> Shelf:
    """Return a store with a job that failed last, and one that did not."""
    for job, state, fact in (
        ("nightly", "succeeded", a_task("load-1")),
        ("revenue", "failed", a_task_error("load-1")),
    ):
        memory = a_metric(memory=2**30)
        at = shelf.record(job, "run-1", fact, memory, state=state)
        run = Run.at(shelf.store, at)
        write_sketch(shelf.store, run, run.card())
    return shelf


class Monitoring:
    """Prometheus, Pushgateway and Alertmanager of a test."""

    def __init__(self, folder: Path, webhook: Receiver) -> None:
        self.prometheus, self.gateway, self.alertmanager = (
            f"127.0.0.1:{free_port()}" for _ in PROGRAMS
        )
        rules = folder / "alerts.yaml"
        rules.write_text(typed("metrics", "--alert-rules"))
        hook = {"url": webhook.url}
        (folder / "am.json").write_text(
            json.dumps(
                {
                    "route": {
                        "receiver": "hook",
                        "group_wait": "1s",
                        "group_by": ["..."],
                    },
                    "receivers": [{"name": "hook", "webhook_configs": [hook]}],
                }
            )
        )
        pushed = {"job_name": "push", "honor_labels": True}
        (folder / "prometheus.json").write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(rules)],
                    "alerting": {
                        "alertmanagers": [
                            {"static_configs": [{"targets": [self.alertmanager]}]}
                        ]
                    },
                    "scrape_configs": [
                        {**pushed, "static_configs": [{"targets": [self.gateway]}]}
                    ],
                }
            )
        )
        self.commands = {
            "prometheus": [
                f"--config.file={folder}/prometheus.json",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={self.prometheus}",
            ],
            "prometheus-pushgateway": [f"--web.listen-address={self.gateway}"],
            "prometheus-alertmanager": [
                f"--config.file={folder}/am.json",
                f"--storage.path={folder}/am",
                f"--web.listen-address={self.alertmanager}",
                "--cluster.listen-address=",
            ],
        }

    def query(self, expression: str) -> list[Any]:
        """Return what Prometheus answers."""
        asked = urllib.parse.urlencode({"query": expression})
        url = f"http://{self.prometheus}/api/v1/query?{asked}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
        return found

    def is_ready(self) -> bool:
        """Return whether all three answer."""
        try:
            for where in (self.prometheus, self.gateway, self.alertmanager):
                urllib.request.urlopen(f"http://{where}/-/ready", timeout=5).close()
        except OSError:
            return False
        return True


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    """Return a webhook that Alertmanager sends alerts to."""
    with receiver() as found:
        yield found


@pytest.fixture
def monitoring(tmp_path: Path, webhook: Receiver) -> Iterator[Monitoring]:
    if missing := [each for each in PROGRAMS if shutil.which(each) is None]:
        pytest.skip(f"NOT TESTED: alerts by Prometheus, without {', '.join(missing)}")
    made = Monitoring(tmp_path, webhook)
    with ExitStack() as ending:
        for program, options in made.commands.items():
            with (tmp_path / f"{program}.log").open("wb") as log:
                process = subprocess.Popen(
                    [program, *options], stdout=log, stderr=log, cwd=tmp_path
                )
            ending.callback(process.wait)
            ending.callback(process.kill)
        until(made.is_ready, "Prometheus and its companions are ready")
        yield made


def expressions(dashboard: dict[str, Any]) -> list[str]:
    """Return the queries of a dashboard, for all jobs."""
    return [
        target["expr"].replace("$job", ".*")
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


def test_rules_and_dashboard_ask_for_metrics_that_are_reported(runs: Shelf) -> None:
    with dask.config.set(PRICE):
        reported = open_metrics(runs.store)
    dashboard = json.loads(typed("metrics", "--grafana-dashboard"))
    asked = [*expressions(dashboard), typed("metrics", "--alert-rules")]

    words = {
        word
        for text in asked
        for word in text.replace("{", " ").replace("[", " ").replace(")", " ").split()
        if "dask_blackbox_" in word
    }
    names = {word[word.index("dask_blackbox_") :].strip(">") for word in words}

    assert len(names) > 6
    assert [each for each in names if f"# TYPE {each} gauge" not in reported] == []


def test_a_gateway_that_does_not_take_metrics_is_reported(runs: Shelf) -> None:
    for gateway, said in (
        (f"http://127.0.0.1:{free_port()}", "does not take the metrics"),
        ("pushgateway:9091", "is no Pushgateway; give a URL"),
    ):
        command = ["metrics", "--store", runs.url, "--push", gateway]
        done = CliRunner().invoke(blackbox, command)

        assert done.exit_code == 2
        assert said in " ".join(done.output.split())


@pytest.mark.nightly
def test_a_failed_run_is_an_alert_and_the_dashboard_has_its_numbers(
    runs: Shelf, monitoring: Monitoring, webhook: Receiver
) -> None:
    with dask.config.set(PRICE):
        gateway = f"http://{monitoring.gateway}"
        assert typed("metrics", "--store", runs.url, "--push", gateway) == ""

    def failed() -> list[dict[str, Any]]:
        return [
            each
            for post in list(webhook.posts)
            for each in post.json()["alerts"]
            if each["labels"]["alertname"] == "DaskRunFailed"
        ]

    until(failed, "the alert has arrived")
    [alert] = failed()
    assert alert["labels"]["job_name"] == "revenue"
    assert alert["annotations"]["summary"] == "revenue: the last run failed"
    assert "Verdict: task-exception." in alert["annotations"]["description"]
    dashboard = json.loads(typed("metrics", "--grafana-dashboard"))
    empty = [each for each in expressions(dashboard) if not monitoring.query(each)]
    assert empty == []
