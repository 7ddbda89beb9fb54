"""Flow runs that are suspended, to be resumed later in another process."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from prefect import task
from prefect.client.orchestration import get_client
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow
from prefect.flow_runs import resume_flow_run, suspend_flow_run
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import observed_flow
from prefect_dask_blackbox.finalising import finalise_run

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

TINY = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}


@task
def loaded(day: int) -> int:
    return day


@task
def slept(seconds: int) -> int:
    time.sleep(seconds)
    return seconds


@observed_flow(
    name="suspends",
    persist_result=True,
    task_runner=DaskTaskRunner(cluster_kwargs=TINY),
)
def suspends(flag: str) -> int:
    loaded.submit(1).result()
    if not Path(flag).exists():
        Path(flag).touch()
        slept.submit(600)
        suspend_flow_run(timeout=600)
    return loaded.submit(2).result()


@pytest.mark.nightly
def test_a_suspended_flow_run_has_not_failed_and_goes_on_as_an_attempt(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    with get_client(sync_client=True) as client:
        # Prefect suspends flow runs of deployments only.
        deployment = client.create_deployment(client.create_flow(suspends), "nightly")
        made = client.create_flow_run_from_deployment(
            deployment, parameters={"flag": str(tmp_path / "flag")}
        )
        with pytest.raises(Pause):
            run_flow(suspends, client.read_flow_run(made.id), made.parameters)
        seen = prefect.newest("suspends", store)
        host = {"flow_run_id": str(made.id), "flow_name": "suspends"}
        finalised = finalise_run(host, seen.card, ())
        again = prefect.newest("suspends", store)
        resume_flow_run(made.id)
        run_flow(suspends, client.read_flow_run(made.id), made.parameters)
        resumed = client.read_flow_run(made.id)

    assert (seen.state_name, seen.card.state) == ("Suspended", "aborted")
    assert seen.card.headline.startswith("Suspended after ")
    assert seen.card.headline.endswith(" 1 of 2 tasks were done")
    assert "Resume it in Prefect" in seen.card.verdict.remedy
    assert prefect.tags(made.id) == []
    assert {task.message for task in seen.all_tasks if task.state == "CANCELLED"} == {
        "Stopped before it finished, because its flow run was suspended."
    }
    assert not [task for task in seen.all_tasks if task.state == "CRASHED"]
    assert (finalised, again.state_name) == (False, "Suspended")
    pages = prefect.attempts("suspends")
    assert (resumed.state_name, resumed.run_count) == ("Completed", 1)
    assert "Attempt 1](" in pages[2][1]
    assert "): Suspended after " in pages[2][1]
