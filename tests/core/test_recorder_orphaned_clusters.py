"""Clusters whose processes outlive a driver that was killed are closed, and only those."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from conditions import until
from dask_blackbox import Run, RunCard
from dask_blackbox.analyse import findings_in, run_state
from dask_blackbox.analyse.rules.driver_stopped import CLUSTER_ORPHANED
from dask_blackbox.cli import blackbox
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader import documents
from dask_blackbox.recorder import earlier_recordings
from dask_blackbox.recorder.orphaned_clusters import (
    OwnedCluster,
    close_now,
    owned_clusters,
)
from dask_blackbox.store import open_store
from dask_blackbox.testing import a_run, an_event, fires, stays_silent
from distributed import Client, LocalCluster
from scenario_runs import Home, begin, ended, run_scenario
from stored_events import details
from stored_runs import Shelf

pytestmark = pytest.mark.processes


def reported(home: Home, word: str) -> Any:
    def received() -> Any:
        try:
            return json.loads((home.folder / "reported.json").read_text()).get(word)
        except (OSError, ValueError):
            return None

    return until(received, f"{word!r} of the scenario")


def killed_driver(homes: Callable[[], Home], address: str, *then: str) -> Home:
    """Return the home of a driver that was killed while it owned a cluster."""
    home = homes()
    process = begin(home, "orphaning.py", str(home.folder / "store"), address, *then)
    os.kill(reported(home, "driver"), signal.SIGKILL)
    ended(home, process)
    home.quiet()
    return home


@pytest.mark.timeout(180)
def test_the_recorder_closes_the_cluster_of_a_killed_driver(
    homes: Callable[[], Home],
) -> None:
    its_home = homes()
    cluster = begin(its_home, "clusters.py")
    address = reported(its_home, "address")

    home = killed_driver(homes, address)

    run = Run.open(reported(home, "links")["recording"])
    assert run.state == "aborted"
    [orphaned] = details(run, "cluster-orphaned")
    assert orphaned["closed"] is True
    assert list(owned_clusters(run)) == []
    card = msgspec.json.decode(run.store.get(f"{run.folder}card.json"), type=RunCard)
    assert card.verdict is not None
    assert card.verdict.rule == "driver-killed"
    titles = [each.title for each in card.findings]
    assert f"The recorder closed the cluster at {address}" in titles
    with pytest.raises(OSError, match=r"(?i)connect"):
        Client(address, timeout="2 s")
    its_home.clear()
    cluster.communicate()


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_the_recorder_closes_a_cluster_to_which_no_client_had_connected(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    process = begin(home, "orphaning_unconnected.py", str(home.folder / "store"))
    address = reported(home, "address")
    # It says it to the recorder in a thread of its own.
    recording = reported(home, "links")["recording"]
    until(lambda: list(owned_clusters(Run.open(recording))), "its cluster")
    os.kill(reported(home, "driver"), signal.SIGKILL)
    ended(home, process)
    home.quiet()

    run = Run.open(recording)
    assert run.state == "aborted"
    [orphaned] = details(run, "cluster-orphaned")
    assert orphaned["closed"] is True
    assert list(owned_clusters(run)) == []
    card = msgspec.json.decode(run.store.get(f"{run.folder}card.json"), type=RunCard)
    titles = [each.title for each in card.findings]
    assert f"The recorder closed the cluster at {address}" in titles


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_the_recorder_closes_the_cluster_of_a_driver_that_is_killed_after_its_end(
    homes: Callable[[], Home],
) -> None:
    its_home = homes()
    cluster = begin(its_home, "clusters.py")
    address = reported(its_home, "address")

    home = killed_driver(homes, address, "end")

    assert Run.open(reported(home, "links")["recording"]).state == "aborted"
    with pytest.raises(OSError, match=r"(?i)connect"):
        Client(address, timeout="2 s")
    its_home.clear()
    cluster.communicate()


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_the_next_attempt_closes_what_a_machine_that_went_has_left(
    homes: Callable[[], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    its_home = homes()
    cluster = begin(its_home, "clusters.py")
    address = reported(its_home, "address")
    home = homes()
    process = begin(home, "orphaning.py", str(home.folder / "store"), address)
    recording = reported(home, "links")["recording"]
    until(lambda: list(owned_clusters(Run.open(recording))), "segments")
    home.clear()  # driver and recorder at once
    ended(home, process)
    monkeypatch.setattr(documents, "STALE", 5.0)
    store = open_store(home.folder / "store")
    own = RunAddress.of("orphaning", "killed", 3)

    async def closed() -> list[Any]:
        before = earlier_recordings.earlier_attempts(own)
        closing = earlier_recordings.close_clusters_of(store, before, dict)
        return [row async for row in closing]

    [(_, kind, subject, detail)] = asyncio.run(closed())

    assert (kind, subject) == ("cluster-orphaned", address)
    assert json.loads(detail)["closed"] is True
    assert json.loads(detail)["run"] == "orphaning/killed/1"
    with pytest.raises(OSError, match=r"(?i)connect"):
        Client(address, timeout="2 s")
    its_home.clear()
    cluster.communicate()


@pytest.mark.timeout(180)
@pytest.mark.nightly
def test_the_next_run_of_the_job_closes_the_cluster_of_one_that_nobody_finished(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    shelf = Shelf(home.folder / "store")
    with LocalCluster(n_workers=0, protocol="tcp", dashboard_address=":0") as cluster:
        owned = an_event(
            "driver-attached",
            pid=7,
            client="Client-that-is-gone",
            cluster={
                "kind": "KubeCluster",
                "scheduler": cluster.scheduler_address,
                "owned": cluster.scheduler.id,
            },
        )
        lost = shelf.record("nightly", "run-1", owned, state="lost")

        finished = run_scenario(
            home,
            "finishes_lost_run.py",
            shelf.url,
            f"{shelf.url}/{lost.folder}complete.json",
        )

        # The scheduler answers before it has closed.
        until(lambda: is_refused(cluster.scheduler_address), "the cluster's end")
    titles = [each.title for each in finished.card.findings]
    assert f"The recorder closed the cluster at {cluster.scheduler_address}" in titles
    home.quiet()


def is_refused(address: str) -> bool:
    """Return whether no client can connect to a scheduler any more."""
    try:
        Client(address, timeout="2 s", set_as_default=False).close(timeout=2)
    except OSError:
        return True
    return False


@pytest.mark.nightly
def test_a_cluster_whose_driver_is_connected_is_not_closed() -> None:
    with LocalCluster(n_workers=1, dashboard_address=":0") as cluster:
        named = cluster.scheduler.id
        with Client(cluster.scheduler_address, set_as_default=False) as client:
            owned = OwnedCluster(cluster.scheduler_address, named, client.id)

            assert close_now(owned) == "its driver is still connected"
            assert client.submit(sum, (1, 2)).result() == 3

        assert until(lambda: close_now(owned) == "", "the client to leave")


def test_another_cluster_at_the_same_address_is_left_alone() -> None:
    with LocalCluster(n_workers=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address

        assert close_now(OwnedCluster(address, "Scheduler-of-yesterday")) is None

        with Client(address) as client:
            assert client.submit(sum, (1, 2)).result() == 3


def test_reap_closes_clusters_that_a_recording_lists_as_open(
    homes: Callable[[], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    its_home = homes()
    cluster = begin(its_home, "clusters.py")
    address = reported(its_home, "address")
    home = homes()
    process = begin(home, "orphaning.py", str(home.folder / "store"), address)
    recording = reported(home, "links")["recording"]
    until(lambda: list(owned_clusters(Run.open(recording))), "segments")
    store = str(home.folder / "store")
    kept = CliRunner().invoke(blackbox, ["reap", "orphaning", "--store", store])
    assert "orphaning is being recorded; its cluster is not closed." in kept.output
    home.clear()  # the machine goes: driver and recorder at once
    ended(home, process)
    monkeypatch.setattr(run_state, "STALE", 5.0)
    until(lambda: Run.open(recording).state == "lost", "the lost run")

    shown = CliRunner().invoke(
        blackbox, ["reap", "orphaning/killed", "--dry-run", "--store", store]
    )
    assert shown.output == f"orphaning/killed: {address}\n"
    done = CliRunner().invoke(blackbox, ["reap", "orphaning/killed", "--store", store])
    assert done.exit_code == 0, done.output
    assert done.output == f"orphaning/killed: the cluster at {address} is closed\n"
    again = CliRunner().invoke(blackbox, ["reap", "orphaning/killed", "--store", store])
    assert again.exit_code == 0
    assert "No cluster of these runs answers any more." in again.output
    its_home.clear()
    cluster.communicate()


def test_a_cluster_that_could_not_be_closed_is_named() -> None:
    left = an_event(
        "cluster-orphaned",
        "tcp://10.0.0.5:8786",
        at=20,
        scheduler="Scheduler-1",
        closed=False,
        error="its scheduler still answers 15 s after it was asked to close",
    )

    fires(
        CLUSTER_ORPHANED, a_run(left, state="aborted"), naming=["tcp://10.0.0.5:8786"]
    )


def test_the_run_whose_cluster_was_closed_is_named() -> None:
    closed = an_event(
        "cluster-orphaned",
        "tcp://10.0.0.5:8786",
        at=2,
        scheduler="Scheduler-1",
        closed=True,
        run="nightly.price/monday/1",
    )

    found = fires(CLUSTER_ORPHANED, a_run(closed), naming=["nightly.price/monday/1"])

    assert found.severity == "notice"


def test_a_cluster_of_a_lost_driver_may_still_run() -> None:
    owned = an_event(
        "driver-attached",
        pid=7,
        cluster={
            "kind": "KubeCluster",
            "scheduler": "tcp://10.0.0.5:8786",
            "owned": "Scheduler-1",
        },
    )

    fires(CLUSTER_ORPHANED, a_run(owned, state="lost"), naming=["KubeCluster"])
    stays_silent(CLUSTER_ORPHANED, a_run(owned, state="succeeded"))


@pytest.mark.parametrize("clients", [(None, "c"), ("c",), ("c", "d")])
def test_a_cluster_is_named_once_by_the_client_that_it_got(
    clients: tuple[str | None, ...],
) -> None:
    owned = {"kind": "KubeCluster", "scheduler": "tcp://10.0.0.7:8786", "owned": "s-1"}
    attached = [
        an_event("driver-attached", "driver", pid=7, client=client, cluster=owned)
        for client in clients
    ]
    run = a_run(an_event("driver-attached", "driver", pid=7), *attached, state="lost")

    assert list(owned_clusters(run)) == [
        OwnedCluster("tcp://10.0.0.7:8786", "s-1", "c")
    ]
    titles = [each.title for each in findings_in(run)]
    assert titles.count("The cluster at tcp://10.0.0.7:8786 may still run") == 1


def test_a_cluster_that_was_given_by_its_address_is_nobodys_orphan() -> None:
    given = an_event("driver-attached", pid=7, cluster={"kind": "Cluster"})

    stays_silent(CLUSTER_ORPHANED, a_run(given, state="lost"))
