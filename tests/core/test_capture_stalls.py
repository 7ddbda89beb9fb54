"""A run that hangs is distinguished from its neighbours, and from the library that it hangs in."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import pytest
from conditions import until
from dask_blackbox import Run, recording
from distributed import Client, LocalCluster
from scenario_runs import Home, ScenarioRun, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "stalls.py", str(home.folder / "store"))


def hung(finished: ScenarioRun, job: str) -> Run:
    """Return the recording of a run that our own option ended."""
    error, recording = finished.reported[job]
    assert error == "FutureCancelledError"
    return Run.open(recording)


def test_a_run_hangs_though_another_on_the_same_scheduler_is_busy(
    finished: ScenarioRun,
) -> None:
    card = hung(finished, "resource").card()

    assert card.verdict is not None
    assert (card.state, card.verdict.rule) == ("failed", "no-valid-worker")


def test_what_hung_is_known_though_the_driver_gave_up_before(
    finished: ScenarioRun,
) -> None:
    run = Run.open(finished.reported["given_up"])

    assert [stall["states"]["no-worker"] for stall in details(run, "stall")] == [1]
    verdict = run.card().verdict
    assert verdict is not None
    assert verdict.rule == "no-valid-worker"


def _wait_for(file: str) -> None:
    while not Path(file).exists():
        time.sleep(0.01)


@pytest.mark.nightly
def test_work_that_continues_when_the_run_ends_is_no_stall(tmp_path: Path) -> None:
    settings = {
        "blackbox.spool": str(tmp_path / "spool"),
        "blackbox.stall.after": "1h",  # however slow this machine is
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=tmp_path / "store", job="stall") as rec:
            waiting = client.submit(_wait_for, str(tmp_path / "go"))
            until(client.processing, "the task")
        (tmp_path / "go").touch()
        waiting.result()

    assert details(Run.open(rec.card.links["recording"]), "stall") == []


def _watch(dask_scheduler: Any) -> Any:
    plugins = dask_scheduler.plugins.values()
    return next(p._stall_watch for p in plugins if hasattr(p, "_stall_watch"))


def _describes(dask_scheduler: Any) -> bool:
    return _watch(dask_scheduler)._busy is not None


def _seen(dask_scheduler: Any) -> int:
    return int(_watch(dask_scheduler)._seen)


@pytest.mark.nightly
def test_what_continues_while_a_stall_is_described_does_not_hang(
    tmp_path: Path,
) -> None:
    settings = {"blackbox.spool": str(tmp_path / "spool"), "blackbox.stall.after": "1s"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="slow") as rec,
    ):
        (one, _), (other, pid) = client.run(os.getpid).items()
        goes_on = client.submit(_wait_for, str(tmp_path / "go"), workers=[one])
        frozen = client.submit(_wait_for, str(tmp_path / "go too"), workers=[other])
        until(lambda: all(client.processing().values()), "both tasks")
        os.kill(pid, signal.SIGSTOP)  # it is asked for its stacks, and does not answer
        until(lambda: client.run_on_scheduler(_describes), "the description")
        seen = client.run_on_scheduler(_seen)
        (tmp_path / "go").touch()
        goes_on.result()
        until(lambda: client.run_on_scheduler(_seen) > seen, "the next look")
        until(lambda: not client.run_on_scheduler(_describes), "its end")
        (tmp_path / "go too").touch()
        os.kill(pid, signal.SIGCONT)
        frozen.result()

    events = Run.open(rec.card.links["recording"]).events.sort("at")["kind"]
    order = [kind for kind in events if kind in ("stall", "stall-over")]
    # What is over was reported before; the last one may have lasted until the end.
    before = [a for a, b in pairwise(["nothing", *order]) if b == "stall-over"]
    assert set(before) <= {"stall"}


def test_only_the_run_that_hangs_is_ended(finished: ScenarioRun) -> None:
    assert finished.reported["other"] == 0, finished.errors[-3000:]
    assert finished.reported["state"] == "succeeded"
    assert finished.reported["recorded"] == finished.reported["done"] > 0


def test_a_stall_reports_nothing_of_another_runs_tasks(finished: ScenarioRun) -> None:
    for job in ("resource", "deep"):
        stalls = details(hung(finished, job), "stall")

        assert stalls
        for stall in stalls:
            assert sum(stall["states"].values()) == 1
            assert all(each["prefix"] != "inc" for each in stall["processing"])


def test_the_users_line_is_named_from_deep_below_it(finished: ScenarioRun) -> None:
    card = hung(finished, "deep").card()

    assert card.verdict is not None
    assert card.verdict.rule == "stalled"
    text = card.verdict.cause + "".join(fact.text for fact in card.verdict.evidence)
    assert "deep_in_a_library" in text
    assert "stalls.py" in text


def _freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.nightly
def test_a_driver_that_gives_up_while_a_frozen_worker_is_asked_reports_what_hung(
    tmp_path: Path,
) -> None:
    settings = {"blackbox.spool": str(tmp_path / "spool"), "blackbox.stall.after": "1s"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=tmp_path / "store", job="stall") as rec:
            watch = next(
                plugin._stall_watch
                for plugin in cluster.scheduler.plugins.values()
                if hasattr(plugin, "_stall_watch")
            )
            frozen = client.submit(_freeze, key="freeze-1")
            until(lambda: watch._asking, "the question")
        del frozen

    stalls = details(Run.open(rec.card.links["recording"]), "stall")
    assert {tuple(e["key"] for e in s["processing"]) for s in stalls} == {("freeze-1",)}
    assert all(
        set(e) <= {"failed", "process"} for s in stalls for e in s["answers"].values()
    )
    assert all(e["failed"] for s in stalls for e in s["answers"].values())


def _reported(dask_scheduler: Any) -> bool:
    return bool(_watch(dask_scheduler)._reported)


def _price(number: int) -> int:
    return number


@pytest.mark.nightly
def test_without_workers_the_tasks_that_wait_are_named(tmp_path: Path) -> None:
    settings = {"blackbox.spool": str(tmp_path / "spool"), "blackbox.stall.after": "1s"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="nobody") as rec,
    ):
        cluster.scale(0)
        until(lambda: not cluster.scheduler.workers, "no workers")
        waiting = client.map(_price, range(10, 20))
        until(lambda: client.run_on_scheduler(_reported), "the stall")
        client.cancel(waiting)

    [stall, *_] = details(Run.open(rec.card.links["recording"]), "stall")
    keys = [each["key"] for each in stall["unrunnable"]]
    assert keys
    assert all(key.startswith("_price-") for key in keys)
