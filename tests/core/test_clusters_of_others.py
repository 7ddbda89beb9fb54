"""A recording leaves a cluster of others as it was, however it is made and however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox import recording
from distributed import Client
from scenario_runs import Home
from shared_clusters import cluster_of_others, state_of, unchanged

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

_WORKS = """
import os, sys, time
from distributed import Client
if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        print(sum(client.gather(client.map(abs, range(-20, 0)))), flush=True)
"""
_RECORDS = """
import sys, time
from dask_blackbox import recording
from distributed import Client
if __name__ == "__main__":
    with Client(sys.argv[1]) as client, recording(client, store=sys.argv[2], job="dies"):
        print(client.submit(abs, -1).result(), flush=True)
        time.sleep(3600)
"""


def _by_recording(address: str, store: Path) -> None:
    with (
        Client(address) as client,
        recording(client, store=str(store), job="two") as one,
    ):
        with recording(client, store=str(store), job="at once"):
            client.gather(client.map(abs, range(20)))
        assert client.submit(abs, -1).result() == 1
    assert one.card.state == "succeeded"


def _by_command(address: str, store: Path) -> None:
    file = store.with_suffix(".py")
    file.write_text(_WORKS)
    words = ("run", "--store", str(store), "--", sys.executable, str(file), address)
    ended = subprocess.run(
        [sys.executable, "-m", "dask", "blackbox", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "210" in ended.stdout


def _by_record(address: str, store: Path) -> None:
    words = ("record", address, "--store", str(store), "--job", "others")
    recorder = subprocess.Popen([sys.executable, "-m", "dask", "blackbox", *words])
    until(lambda: "dask-blackbox" in str(state_of(address)), "the recording")
    recorder.send_signal(signal.SIGINT)
    recorder.wait()


def _killed(address: str, store: Path) -> None:
    with _recorded(address, store) as driver:
        os.kill(driver.pid, signal.SIGKILL)


def _killed_with_its_recorder(address: str, store: Path) -> None:
    """As a host that is lost, or a driver that alone could connect to the scheduler."""
    home = Home(store.with_suffix(".home"))
    with _recorded(address, store, **home.environment()):
        home.clear()
    home.quiet()


@contextlib.contextmanager
def _recorded(
    address: str, store: Path, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    driver = subprocess.Popen(
        [sys.executable, "-c", _RECORDS, address, str(store)],
        stdout=subprocess.PIPE, start_new_session=True, env=environment or None,
    )  # fmt: skip
    with driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"1\n"
        assert "dask-blackbox" in str(state_of(address))
        yield driver


@pytest.mark.parametrize(
    "way",
    [
        _by_recording,
        pytest.param(_killed, marks=pytest.mark.nightly),
        *(
            pytest.param(each, marks=pytest.mark.nightly)
            for each in (_by_command, _by_record, _killed_with_its_recorder)
        ),
    ],
    ids=lambda each: each.__name__,
)
def test_the_cluster_is_as_before(way: object, tmp_path: Path) -> None:
    assert callable(way)
    with cluster_of_others(tmp_path) as address:
        before = state_of(address)

        way(address, tmp_path / "store")

        assert unchanged(address, before)


@pytest.mark.nightly
def test_a_cluster_that_always_records_is_as_before_its_first_run(
    tmp_path: Path,
) -> None:
    store = {"DASK_BLACKBOX__STORE__URL": str(tmp_path / "store")}
    options = ("--preload", "dask_blackbox.preload")
    with cluster_of_others(tmp_path, *options, **store) as address:
        before = state_of(address)

        with Client(address) as client:
            assert client.submit(abs, -1).result() == 1

        assert unchanged(address, before)
