"""Final states for many task runs at once, on a real server."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from prefect import flow, task
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.states import Completed, Crashed, Running
from prefect_dask_blackbox.final_states import FinalState, read_runs, settle

MANY = 12
DEAD = "Lost: its worker was killed."


@flow
def etl() -> None: ...


@task
def load() -> None: ...


def make_run(
    client: SyncPrefectClient, flow_run_id: UUID, state: State[Any], *tags: str
) -> UUID:
    identity = uuid4()
    client.create_task_run(
        load.with_options(tags=list(tags)),
        flow_run_id=flow_run_id,
        dynamic_key=str(identity),
        id=identity,
        name="load-old",
        state=state,
    )
    return identity


def crashed(identity: UUID, name: str, *, rename: bool = False) -> FinalState:
    return FinalState(
        id=identity,
        name=name,
        task_key=load.task_key,
        state=Crashed(message=DEAD),
        rename=rename,
    )


def test_many_task_runs_are_ended_and_those_that_never_began_are_created(
    prefect: Any,
) -> None:
    with get_client(sync_client=True) as client:
        flow_run = client.create_flow_run(etl)
        running = [make_run(client, flow_run.id, Running()) for _ in range(MANY)]
        ended = make_run(client, flow_run.id, Completed(message="by itself"))
        rerun = make_run(client, flow_run.id, Completed())
        missing = [uuid4() for _ in range(MANY)]
        finals = [
            *(crashed(each, "load-new", rename=True) for each in running),
            *(crashed(each, "load-never") for each in missing),
            crashed(ended, "load-ended"),
            FinalState(
                id=rerun,
                name="load-rerun",
                task_key=load.task_key,
                state=Crashed(message=DEAD),
                if_completed=Crashed(message=f"It had completed. {DEAD}"),
            ),
        ]

        count = settle(client, flow_run.id, finals)
        again = settle(client, flow_run.id, finals)
        runs = read_runs(client, [final.id for final in finals])

    assert (count, again) == (2 * MANY + 1, 0)
    assert len(runs) == 2 * MANY + 2
    assert {each.flow_run_id for each in runs.values()} == {flow_run.id}
    for identity in running:
        run = runs[identity]
        assert run.state is not None
        assert (run.name, run.state_name, run.state.message) == (
            "load-new",
            "Crashed",
            DEAD,
        )
        assert run.end_time == run.state.timestamp
        assert run.total_run_time.total_seconds() > 0
        assert run.run_count == 1
    for identity in missing:
        run = runs[identity]
        assert run.state is not None
        assert (run.name, run.state_name, run.state.message) == (
            "load-never",
            "Crashed",
            DEAD,
        )
    assert runs[ended].state_name == "Completed"
    state = runs[rerun].state
    assert state is not None
    assert (state.name, state.message) == ("Crashed", f"It had completed. {DEAD}")
    logged = [line.task_run_id for line in prefect.logs(flow_run.id)]
    assert sorted(logged) == sorted([*running, *missing, rerun])


def test_slots_of_concurrency_limits_are_released(prefect: Any) -> None:
    with get_client(sync_client=True) as client:
        flow_run = client.create_flow_run(etl)
        client.request(
            "POST",
            "/concurrency_limits/",
            json={"tag": "database", "concurrency_limit": MANY},
        ).raise_for_status()
        tagged = [
            make_run(client, flow_run.id, Running(), "database") for _ in range(MANY)
        ]
        for each in tagged:
            client.request(
                "POST",
                "/concurrency_limits/increment",
                json={"names": ["database"], "task_run_id": str(each)},
            ).raise_for_status()
        before = slots(client)

        count = settle(client, flow_run.id, [crashed(each, "load") for each in tagged])

        after = slots(client)

    assert count == MANY
    assert before == {str(each) for each in tagged}
    assert after == set()


def slots(client: SyncPrefectClient) -> set[str]:
    answer = client.request(
        "GET", "/concurrency_limits/tag/{tag}", path_params={"tag": "database"}
    )
    return set(answer.raise_for_status().json()["active_slots"])
