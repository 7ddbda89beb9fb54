"""Flow runs that end while Prefect's server is away: it gets their ends when it is back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled, until
from flow_clusters import shared_runner
from gateway_before_server import gateway
from prefect import task
from prefect.settings import PREFECT_API_URL
from prefect_dask_blackbox import late_ends, observed_flow

HERE = Path(__file__).parent


def run_into_an_outage(story: str, store: Path, folder: Path) -> tuple[str, int]:
    """Run a flow that ends while the gateway before the server is away.

    Returns:
        What it printed, and the port of the gateway.
    """
    flag, away = folder / "began", folder / "away"
    api = str(PREFECT_API_URL.value())
    with (folder / "output.txt").open("w+", encoding="utf-8") as output:
        with gateway(api, refusals=0) as server:
            port = server.server_port
            process = subprocess.Popen(
                [sys.executable, str(HERE / "failing_flows.py"), story],
                env={
                    **os.environ,
                    "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
                    # Its engine retries for a minute; 3.4 gives up at once.
                    "PREFECT_CLIENT_MAX_RETRIES": "0",
                    "DASK_BLACKBOX__STORE__URL": str(store),
                    "FLAG": str(flag),
                    "AWAY": str(away),
                },
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            until(lambda: flag.exists() or process.poll() is not None, "the flow's end")
        away.touch()
        code = process.wait(scaled(120))
        output.seek(0)
        printed = output.read()
    assert flag.exists(), printed
    assert code != 0, printed  # of Prefect's engine, which could not set the state
    return printed, port


@pytest.mark.parametrize(
    ("story", "ends"),
    [
        ("fails_in_an_outage", ("FAILED", ["driver-exception"])),
        pytest.param(
            "returns_in_an_outage", ("COMPLETED", []), marks=pytest.mark.nightly
        ),
        pytest.param(
            "fails_without_dask_in_an_outage",
            ("FAILED", ["driver-exception"]),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_server_that_is_back_gets_the_end_of_a_flow_run(
    prefect: Any, store: Path, tmp_path: Path, story: str, ends: tuple[str, list[str]]
) -> None:
    name = story.replace("_", "-")
    printed, port = run_into_an_outage(story, store, tmp_path)
    before = prefect.newest(name, store)
    with gateway(str(PREFECT_API_URL.value()), refusals=0, port=port):
        until(lambda: prefect.newest(name, store).state != "RUNNING", "a final state")
        if ends[1]:  # the event comes last
            assert prefect.events("dask.run.diagnosed", before.id) == ends[1]
    after = prefect.newest(name, store)

    assert before.state == "RUNNING"
    assert printed.count("dask-blackbox continued without") == 1, printed
    assert after.card is not None
    if after.state == "COMPLETED":
        assert after.card.state == "succeeded"
        assert "Prefect's server did not answer" in after.message
    else:
        assert after.message == after.card.headline
    assert after.card.headline in after.artifacts[f"dask-run-{name}"]
    assert {task for task in after.all_tasks if task.state != "COMPLETED"} == set()
    assert after.state == ends[0]


@task
def add_one(number: int) -> int:
    return number + 1


@pytest.mark.parametrize("with_dask", [True, False])
@pytest.mark.parametrize("ends", ["returns", "raises", "retries", "exits"])
def test_no_process_is_started_for_a_server_that_answers(
    tmp_path: Path, ends: str, *, with_dask: bool
) -> None:
    tried = tmp_path / "tried"
    runner = {"task_runner": shared_runner()} if with_dask else {}

    @observed_flow(name=f"{ends}-as-usual", retries=int(ends == "retries"), **runner)
    def as_usual() -> int:
        made = add_one.submit(1).result() if with_dask else 2
        if ends == "exits":
            sys.exit(3)
        if ends == "raises" or (ends == "retries" and not tried.exists()):
            tried.touch()
            raise ValueError("no orders")
        return made

    with suppress(ValueError, SystemExit):
        as_usual()
    for thread in threading.enumerate():
        if thread.name == "dask-blackbox-prefect-event":
            thread.join(scaled(60))

    assert list(late_ends._started) == []
