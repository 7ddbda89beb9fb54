"""`recording()` without a client: every client of this process is recorded."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox import Run, recording
from dask_blackbox.driver.session import Recording
from distributed import Client

pytestmark = pytest.mark.processes

IN_PROCESS: dict[str, Any] = {"processes": False, "dashboard_address": ":0"}


def compute(client: Client, tasks: int) -> None:
    def double(number: int) -> int:
        return 2 * number

    client.gather(client.map(double, range(tasks), pure=False))


def tasks_of(recorded: Recording) -> int:
    return Run.open(recorded.card.links["recording"]).tasks.height


def test_clients_that_are_made_in_the_block_are_recorded(tmp_path: Path) -> None:
    with recording(store=tmp_path, job="etl") as rec:
        with Client(**IN_PROCESS) as client:
            compute(client, 3)
        with Client(**IN_PROCESS) as client:
            compute(client, 4)

    assert tasks_of(rec) == 7
    assert rec.card.completeness["complete"]


def test_a_client_that_is_connected_already_is_recorded(tmp_path: Path) -> None:
    with Client(**IN_PROCESS) as client, recording(store=tmp_path, job="etl") as rec:
        compute(client, 3)

    assert tasks_of(rec) == 3


def test_a_client_that_stays_is_recorded_by_each_recording(tmp_path: Path) -> None:
    with Client(**IN_PROCESS) as client:
        with recording(store=tmp_path, job="etl") as first:
            compute(client, 3)
        with recording(store=tmp_path, job="etl") as second:
            compute(client, 4)

    assert (tasks_of(first), tasks_of(second)) == (3, 4)


@pytest.mark.nightly
def test_attaching_such_a_client_again_changes_nothing(tmp_path: Path) -> None:
    with recording(store=tmp_path, job="etl") as rec, Client(**IN_PROCESS) as client:
        rec.attach(client)
        compute(client, 3)

    assert tasks_of(rec) == 3
    assert rec.card.completeness["complete"]


@pytest.mark.nightly
def test_a_client_of_another_thread_is_recorded(tmp_path: Path) -> None:
    def work() -> None:
        with Client(**IN_PROCESS) as client:
            compute(client, 3)

    with recording(store=tmp_path, job="etl") as rec:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert tasks_of(rec) == 3


def test_a_client_belongs_to_the_innermost_recording(tmp_path: Path) -> None:
    with recording(store=tmp_path, job="outer") as outer:
        with (
            recording(store=tmp_path, job="inner") as inner,
            Client(**IN_PROCESS) as client,
        ):
            compute(client, 3)
        with Client(**IN_PROCESS) as client:
            compute(client, 4)

    assert (tasks_of(inner), tasks_of(outer)) == (3, 4)


def test_a_forked_child_records_nothing(tmp_path: Path) -> None:
    with recording(store=tmp_path, job="etl") as rec:
        here = rec.recorded_now
        child = os.fork()
        if not child:
            os._exit(7 if rec.recorded_now else 3)
        _, status = os.waitpid(child, 0)

    assert (here, os.waitstatus_to_exitcode(status)) == (True, 3)
    assert not rec.recorded_now


def test_asynchronous_clients_are_recorded(tmp_path: Path) -> None:
    async def work(tasks: int, client: Client) -> None:
        await client.gather(client.map(float, range(tasks), pure=False))

    async def both() -> Recording:
        async with Client(asynchronous=True, **IN_PROCESS) as before:
            async with recording(store=tmp_path, job="etl") as rec:
                await work(3, before)
                async with Client(asynchronous=True, **IN_PROCESS) as within:
                    await work(4, within)
            return rec

    assert tasks_of(asyncio.run(both())) == 7


@pytest.mark.parametrize(
    "given", [True, pytest.param(False, marks=pytest.mark.nightly)]
)
def test_other_clients_are_left_alone_where_one_is_given_or_none_is_wanted(
    tmp_path: Path,
    given: bool,  # noqa: FBT001
) -> None:
    with Client(**IN_PROCESS) as first, Client(**IN_PROCESS) as second:
        rec = (
            recording(first, store=tmp_path, job="etl")
            if given
            else recording(store=tmp_path, job="etl", every_client=False)
        )
        with rec:
            compute(first, 3)
            compute(second, 4)

    assert tasks_of(rec) == (3 if given else 0)


@pytest.mark.nightly
def test_recordings_one_after_another_share_a_socket_of_their_scheduler(
    tmp_path: Path,
) -> None:
    with Client(**IN_PROCESS) as client:
        for number in range(2):
            with recording(client, store=tmp_path, job=f"job-{number}") as rec:
                compute(client, 3)

            assert tasks_of(rec) == 3
        scheduler = client.cluster.scheduler

        assert len(scheduler.listeners) == 2
