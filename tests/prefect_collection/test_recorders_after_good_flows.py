"""What a recorder does after a flow run that ended as usual: nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conditions import scaled
from prefect.settings import PREFECT_API_URL
from recorder_processes import recorder_of

HERE = Path(__file__).parent


@pytest.mark.usefixtures("store")
@pytest.mark.nightly
def test_a_recorder_sets_no_state_of_a_flow_run_that_ended_as_usual(
    tmp_path: Path,
) -> None:
    """Its driver ends soon after its cluster: which one the recorder sees first varies."""
    environment = {
        **os.environ,
        "PREFECT_API_URL": str(PREFECT_API_URL.value()),
        "DASK_BLACKBOX__STORE__URL": str(tmp_path / "store"),
        "DASK_BLACKBOX__SPOOL": str(tmp_path / "spool"),
    }
    command = [sys.executable, str(HERE / "failing_flows.py"), "on_its_parents_cluster"]
    with subprocess.Popen(command, env=environment) as process:
        while not (logs := list(tmp_path.glob("spool/*/recorder.log"))):
            assert process.poll() is None

            time.sleep(0.05)
        with logs[0].open(encoding="utf-8") as log:  # its folder is removed at the end
            recorder = recorder_of(process.pid)
            code = process.wait()
            recorder.wait(timeout=scaled(60))
            said = log.read()

    assert code == 0
    assert "done" in said
    assert "the run's state" not in said
