"""Clusters of a real dask-gateway: whose driver is killed, and those that record themselves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from conditions import flag_of, until
from dask_blackbox import Run
from dask_blackbox.layout import RunAddress
from dask_blackbox.recorder.orphaned_clusters import (
    OwnedCluster,
    close_now,
    owned_clusters,
    stop_at_gateway,
)
from dask_blackbox.store import open_store
from environments_with_core import python_with_core
from gateway_server import REQUIREMENTS, Gateway, served_gateway
from recorder_processes import recorder_of

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
DRIVER = """
import os, sys, time
from pathlib import Path
from dask_blackbox import recording
from dask_gateway import Gateway

store, http, tcp, flag = sys.argv[1:]
gateway = Gateway(f"http://127.0.0.1:{http}", proxy_address=f"gateway://127.0.0.1:{tcp}")
with recording(store=store, job="at_gateway", run_id="1") as rec:
    cluster = gateway.new_cluster()
    client = cluster.get_client()
    rec.attach(client, owned=True)
    Path(flag).write_text(f"{os.getpid()} {cluster.scheduler_address}")
    time.sleep(600)
"""


ALWAYS_ON = """
import json, os, sys, time
import psutil
from dask_gateway import Gateway

http, tcp, settings, how = sys.argv[1:]
gateway = Gateway(f"http://127.0.0.1:{http}", proxy_address=f"gateway://127.0.0.1:{tcp}")
cluster = gateway.new_cluster(settings=json.loads(settings))
client = cluster.get_client()
cluster.scale(2)
client.wait_for_workers(2, timeout=300)
client.gather(client.map(abs, range(20)))
if how == "stopped":
    futures = client.map(time.sleep, [600.0, 601.0])
    while not all(client.processing().values()):
        time.sleep(0.1)
    other = Gateway(gateway.address, proxy_address=gateway.proxy_address)
    other.stop_cluster(cluster.name)
    while client.status == "running":
        time.sleep(0.1)
    sys.exit(1)
if how == "scale":
    processes = client.run(os.getpid)
    cluster.scale(0)
    # Also their last lines are there when they have ended.
    while client.scheduler_info()["workers"] or any(map(psutil.pid_exists, processes.values())):
        time.sleep(0.1)
cluster.close()
time.sleep(5 if how == "later" else 0)
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose clusters are processes of this machine."""
    folder = tmp_path_factory.mktemp("gateway")
    python = python_with_core(folder, *REQUIREMENTS)
    with served_gateway(folder, python) as served:
        yield served


@contextmanager
def _begun(gateway: Gateway, folder: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Give a driver that has started a cluster, and its cluster's address."""
    flag, script = folder / "flag", folder / "driver.py"
    script.write_text(DRIVER)
    words = [folder / "store", gateway.http, gateway.tcp, flag]
    environ = {**os.environ, "DASK_BLACKBOX__SPOOL": str(folder / "spool")}
    with (folder / "driver.log").open("wb") as log:
        driver = subprocess.Popen(
            [str(gateway.python), str(script), *map(str, words)],
            env=environ,
            stdout=log,
            stderr=log,
        )
    try:
        message = flag_of(flag, describe=(folder / "driver.log").read_text)
        pid, address = message.split()
        # Until then, a driver that is killed takes along what nobody else knows.
        run = RunAddress.of("at_gateway", "1", 1)
        until(lambda: list(owned_clusters(Run.at(open_store(folder / "store"), run))))
        yield psutil.Process(int(pid)), address
    finally:
        driver.kill()
        driver.wait()


def _card(folder: Path) -> Any:
    for file in folder.glob("store/runs/*/*/*/card.json"):
        card = json.loads(file.read_text())
        return None if card["state"] == "running" else card
    return None


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_recorder_stops_the_cluster_of_a_killed_driver(
    gateway: Gateway, tmp_path: Path
) -> None:
    with _begun(gateway, tmp_path) as (driver, address):
        assert address.rpartition("/")[2] in gateway.clusters()
        driver.send_signal(signal.SIGKILL)

    card = until(lambda: _card(tmp_path))

    titles = [each["title"] for each in card["findings"]]
    assert f"The recorder closed the cluster at {address}" in titles
    assert address.rpartition("/")[2] not in gateway.clusters()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_reap_stops_the_cluster_of_a_driver_that_was_killed_with_its_recorder(
    gateway: Gateway, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    with _begun(gateway, tmp_path) as (driver, address):
        name = address.rpartition("/")[2]
        recorder = recorder_of(driver.pid)
        driver.suspend()
        recorder.kill()
    assert name in gateway.clusters()
    command = [str(gateway.python), "-m", "dask", "blackbox", "reap", "at_gateway/1"]

    def reaped() -> str:
        words = [*command, "--store", store]
        return subprocess.check_output(words, text=True)

    message = until(reaped)  # nothing, until its recording has been silent for a minute

    assert message == f"at_gateway/1: the cluster at {address} is closed\n"
    assert name not in gateway.clusters()


def test_a_cluster_behind_a_connection_of_an_unknown_kind_is_not_reported_as_gone() -> (
    None
):
    message = close_now(OwnedCluster("private://somewhere/abc", "Scheduler-1"))

    assert message is not None
    assert message.startswith("only its driver could connect to it (")


def test_a_cluster_that_cannot_be_stopped_is_named_with_the_call_that_does() -> None:
    message = asyncio.run(
        stop_at_gateway("http://gateway:8000", "gateway://gateway:8001/ns.abc")
    )

    assert message == (
        "dask-gateway is not installed here; where it is, "
        "`dask_gateway.Gateway('http://gateway:8000').stop_cluster('ns.abc')` stops it"
    )


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["close", "later", "scale"])
def test_nothing_is_found_in_a_good_run_that_the_scheduler_records(
    gateway: Gateway, tmp_path: Path, how: str
) -> None:
    card = _recorded_by_scheduler(gateway, tmp_path, how)

    assert card["state"] == "succeeded"
    assert card["findings"] == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_cluster_that_somebody_stops_has_lost_its_scheduler_and_nothing_else(
    gateway: Gateway, tmp_path: Path
) -> None:
    card = _recorded_by_scheduler(gateway, tmp_path, "stopped")

    assert card["verdict"]["rule"] == "scheduler-lost"
    # The last lines of its workers, which had work, may be missing.
    assert {each["rule"] for each in card["findings"]} <= {"recording-incomplete"}
    assert card["numbers"]["deaths"] == 0


def _recorded_by_scheduler(gateway: Gateway, tmp_path: Path, how: str) -> Any:
    """Return the card that the scheduler of a gateway's cluster makes of a run."""
    preload = "dask_blackbox.preload"
    scheduler = [str(gateway.python), "-m", "dask", "scheduler", "--preload", preload]
    places = {"STORE__URL": tmp_path / "store", "SPOOL": tmp_path / "spool"}
    environ = {f"DASK_BLACKBOX__{name}": str(each) for name, each in places.items()}
    settings = json.dumps({"scheduler_cmd": scheduler, "environment": environ})
    words = [str(gateway.http), str(gateway.tcp), settings, how]

    done = subprocess.run([gateway.python, "-c", ALWAYS_ON, *words], check=False)
    assert done.returncode == (how == "stopped")
    return until(lambda: _card(tmp_path))
