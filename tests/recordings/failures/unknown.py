"""Failures that leave no trace of their cause: the verdict must be `unknown`."""

from __future__ import annotations

import os
from pathlib import Path

from distributed import Client
from staging import Stage, failure
from starting import processes


@failure("unknown", names=())
def a_host_says_failed_and_nothing_else(stage: Stage) -> None:
    from dask_blackbox.driver import recording

    with processes(1) as cluster, Client(cluster.address) as client:
        client.wait_for_workers(1, timeout=40)
        flight = recording(client, store=stage.store, job=stage.name, run_id="recorded")
        flight.start()
        client.gather(client.map(abs, range(10)))
        flight.finish(state="failed")


@failure(
    "unknown",
    "driver-exception",
    how="command",
    why="the driver's own code ended it without giving a reason",
)
def a_command_fails_without_a_word(stage: Stage) -> None:
    with stage.local(1) as client:
        client.gather(client.map(abs, range(10)))
    os._exit(3)


@failure("unknown", noise="a scale-down")
def a_framework_reports_failure_after_good_work(stage: Stage) -> None:
    from dask_blackbox.driver import recording
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        flight = recording(client, store=stage.store, job=stage.name, run_id="recorded")
        flight.start()
        client.gather(client.map(abs, range(10)))
        cluster.scale(1)
        client.gather(client.map(abs, range(10, 30)))
        flight.finish(state="failed")


@failure(
    "unknown",
    "driver-exception",
    how="command",
    why="another program fails with an exit code and no message",
    held_out="second",
)
def a_tool_called_by_the_driver_ends_it(stage: Stage) -> None:
    with stage.local(1) as client:
        client.gather(client.map(lambda n: n, range(3)))
        os._exit(Path("/bin/false").exists() * 4)
