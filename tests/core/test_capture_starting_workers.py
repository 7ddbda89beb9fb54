"""A worker whose preload does not return is recorded with what it waits for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conditions import scaled
from dask_blackbox import Run
from dask_blackbox.events import WorkerStarting
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.store import open_store

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]
PRELOAD = """
import fcntl

def dask_setup(worker):
    worker.calibration = open("calibration.json")
    fcntl.flock(worker.calibration, fcntl.LOCK_EX)
"""
JOB = """
import subprocess, sys
from distributed import Client, LocalCluster
from dask_blackbox import recording

def main():
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster) as client:
        with recording(client, store=sys.argv[1], job="sondes", run_id="one"):
            command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address]
            command += ["--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
            program = subprocess.Popen([*command, "--preload", "lock.py"])
            try:
                client.wait_for_workers(1)  # on a busy machine, that takes long, too
                client.wait_for_workers(2, timeout=float(sys.argv[2]))
            finally:
                program.terminate()
                program.wait()

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sondes")
    (folder / "calibration.json").write_text("{}")
    (folder / "lock.py").write_text(PRELOAD)
    (folder / "job.py").write_text(JOB)
    store = str(folder / "store")
    # The nanny looks after 10, 20, 40 s: once at least while the lock is waited for.
    command = [sys.executable, "job.py", store, str(scaled(25))]
    subprocess.run(
        command, cwd=folder, timeout=scaled(300), check=False, capture_output=True
    )
    return find_run(open_store(store), "sondes/one")


@pytest.mark.nightly
def test_what_a_worker_that_does_not_start_waits_for_is_recorded(run: Run) -> None:
    # Of the other worker there are some, too, where it took longer than the first look.
    last = run.of(WorkerStarting)[-1]
    assert last.lasted >= 10
    assert [Path(each).name for each in last.files] == ["calibration.json"]


@pytest.mark.nightly
def test_the_headline_says_what_it_waits_for(run: Run) -> None:
    verdict = run.card().verdict

    assert verdict is not None
    assert verdict.rule == "workers-never-arrived"
    assert verdict.title.endswith(
        "; 1 worker was still starting, and waited for a file lock"
    )
    assert "calibration.json open." in verdict.cause
    assert verdict.retry_advice == "unknown"
