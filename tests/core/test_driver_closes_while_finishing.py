"""A host closes its cluster while the report of the run is made."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox import recording
from distributed import Client, LocalCluster
from recorder_processes import recorder_of

pytestmark = pytest.mark.processes


def test_nothing_is_lost_of_a_cluster_that_closes_once_the_recorder_has_left_it(
    tmp_path: Path,
) -> None:
    run = recording(store=tmp_path, job="closes", every_client=False)
    run.start()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        run.attach(client)
        client.gather(client.map(str, range(50), pure=False))
        ending = threading.Thread(target=run.finish)
        ending.start()
        run.wait_until_left()
    ending.join()

    card = run.card
    assert (card.state, card.numbers["tasks"]) == ("succeeded", 50)
    assert card.completeness["complete"] is True
    assert card.numbers["deaths"] == 0


@pytest.mark.nightly
def test_the_recorder_prepares_for_an_end_that_is_near_and_goes_on_recording(
    tmp_path: Path,
) -> None:
    run = recording(store=tmp_path, job="prepares", every_client=False)
    run.start()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        run.attach(client)
        recorder = recorder_of(os.getpid())

        def makes_tables() -> bool:
            return any("polars" in each.path for each in recorder.memory_maps())

        client.gather(client.map(str, range(20), pure=False))
        before = makes_tables()
        run.ending()
        until(makes_tables)
        client.gather(client.map(str, range(30), pure=False))
        card = run.finish()

    assert before is False
    assert (card.state, card.numbers["tasks"]) == ("succeeded", 50)
    assert card.completeness["complete"] is True
