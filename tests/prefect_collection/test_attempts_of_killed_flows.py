"""A flow run whose process was killed, and that somebody has started once more since."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from dask_blackbox.card import RunCard
from dask_blackbox.events import TaskNamed
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.states import AwaitingRetry, Running
from prefect.types._datetime import now
from prefect_dask_blackbox.finalising import finalise_run


@flow(name="started-again")
def started_again() -> None: ...


@task
def load() -> None: ...


def task_run(client: Any, flow_run_id: UUID) -> Any:
    """Return a task run that is running."""
    key = str(uuid4())
    return client.create_task_run(load, flow_run_id, key, state=Running())


def test_its_first_attempt_gets_its_card_and_the_second_one_stays_as_it_is(
    prefect: Any,
) -> None:
    key = f"load-{uuid4().hex}"
    with get_client(sync_client=True) as client:
        run = client.create_flow_run(started_again, state=Running())
        first = task_run(client, run.id)
        states: list[Any] = [AwaitingRetry(scheduled_time=now("UTC")), Running()]
        for state in states:
            client.set_flow_run_state(run.id, state, force=True)
        second = task_run(client, run.id)
        host = {"flow_run_id": str(run.id), "flow_name": "started-again"}
        card = RunCard(
            job="started-again",
            run_id=str(run.id),
            attempt=1,
            state="aborted",
            headline="The driver was ended by SIGKILL",
        )
        tasks = [TaskNamed(at=0.0, subject=key, id=str(first.id))]

        changed = finalise_run(host, card, tasks)
        nothing = finalise_run(host, card, tasks)

        found = [client.read_task_run(each.id).state for each in (first, second)]
        after = client.read_flow_run(run.id)

    assert after.run_count == 2
    assert (changed, nothing) == (True, False)
    assert [each.type.value for each in found if each] == ["CRASHED", "RUNNING"]
    assert after.state_type is not None
    assert (after.state_type.value, after.tags) == ("RUNNING", [])
    assert "ended by SIGKILL" in prefect.attempts("started-again")[1][1]
