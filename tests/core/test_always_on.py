"""A long-lived cluster records every run on it by itself."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from bare_environments import can_import, python_with
from conditions import until
from dask_blackbox import Run, RunCard
from distributed import Client, span
from distributed.versions import VersionMismatchWarning
from scenario_runs import Home, ScenarioRun, messages, run_scenario
from stored_events import details

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

THREADS = {f"thread-{n}" for n in range(10)}
JOBS = THREADS | {"fails", "recovers", "nested", "nightly", "vanishes", "own"}


class Resident:
    """A scheduler with the preload, workers without us, and a store."""

    def __init__(self, home: Home, python: Path, **settings: str) -> None:
        self.home, self.store = home, home.folder / "store"
        self._reported = home.folder / "scheduler.json"
        store = {"DASK_BLACKBOX__STORE__URL": str(self.store)}
        self._environment = home.environment(**{**store, **settings})
        self._log = home.folder / "cluster.log"
        self._running: list[subprocess.Popen[bytes]] = []
        here = ["--host", "127.0.0.1", "--no-dashboard"]
        self.scheduler = self._run(
            sys.executable, "-m", "distributed.cli.dask_scheduler", *here, "--port", "0",
            "--scheduler-file", str(self._reported), "--preload", "dask_blackbox.preload",
        )  # fmt: skip
        self.address = str(until(self._address, "the scheduler"))
        for _ in range(2):
            self._run(
                str(python), "-m", "distributed.cli.dask_worker", self.address, *here,
                "--nthreads", "2", "--memory-limit", "1GiB",
            )  # fmt: skip
        until(lambda: self.log.count("Registered to:") >= 2, "two workers")

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log,
                cwd=self.home.folder, start_new_session=True,
            )  # fmt: skip
        self._running.append(process)
        return process

    def stop_workers(self) -> None:
        """Stop all workers, as a manager does that ends a cluster, and wait for their ends."""
        _, *workers = self._running
        for each in workers:
            each.send_signal(signal.SIGTERM)
        for each in workers:
            each.wait()

    def close(self) -> None:
        """End all processes."""
        self.home.clear()
        for process in self._running:
            process.wait()

    def _address(self) -> Any:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(self._reported.read_text())["address"]

    @property
    def log(self) -> str:
        """What scheduler and workers have written."""
        return self._log.read_text()

    def runs(self, at_least: int) -> dict[str, tuple[RunCard, Run]]:
        """Wait until so many recordings are complete; return them by job."""
        until(lambda: len(self._complete()) >= at_least, f"{at_least} recordings")
        found = {}
        for path in self._complete():
            card = msgspec.json.decode(
                (path.parent / "card.json").read_bytes(), type=RunCard
            )
            found[card.job] = (card, Run.open(str(path.parent)))
        return found

    def records(self, job: str) -> Callable[[], bool]:
        """Return what tells whether a run of a job has begun."""
        return lambda: any(self.store.glob(f"runs/job={job}/*/*/run.json"))

    def _complete(self) -> list[Path]:
        return sorted(self.store.rglob("complete.json"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_with("distributed", tmp_path_factory.mktemp("bare") / "venv")


Maker = Callable[..., Resident]


@pytest.fixture(scope="module")
def residents(homes: Callable[[], Home]) -> Iterator[Maker]:
    made: list[Resident] = []

    def make(python: Path, **settings: str) -> Resident:
        made.append(Resident(homes(), python, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def resident(residents: Maker, bare: Path) -> Resident:
    return residents(bare)


@pytest.fixture(scope="module")
def finished(resident: Resident) -> ScenarioRun:
    home = Home(resident.home.folder / "driver")
    return run_scenario(home, "always_on.py", resident.address, str(resident.store))


@pytest.fixture(scope="module")
def runs(resident: Resident, finished: ScenarioRun) -> dict[str, tuple[RunCard, Run]]:
    return resident.runs(len(JOBS))


def connected(resident: Resident, name: str | None = None) -> Client:
    """Return a client; its workers lack what else is installed here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)
        return Client(resident.address, name=name, set_as_default=False)


def prefixes(run: Run) -> dict[str, int]:
    return dict(run.tasks.group_by("prefix").len().rows())


def test_workers_need_not_know_us(bare: Path) -> None:
    assert not can_import(bare, "dask_blackbox")


def test_each_client_with_a_graph_is_a_run_and_no_other(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    assert set(runs) == JOBS
    assert len(list(resident.store.rglob("run.json"))) == len(JOBS)


@pytest.mark.parametrize("job", sorted(THREADS))
def test_a_run_holds_its_own_tasks_and_all_of_them(
    runs: dict[str, tuple[RunCard, Run]], job: str
) -> None:
    card, run = runs[job]
    n = int(job.removeprefix("thread-"))

    assert sorted(run.tasks["key"]) == [f"shared-{n}-{i}" for i in range(n + 1)]
    assert card.state == "succeeded"
    assert card.completeness == {"recorded": True, "kept": "store", "complete": True}


def test_the_first_task_of_a_run_is_recorded_with_what_it_prints(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    _, run = runs["thread-0"]
    text = run.logs.filter(pl.col("key") == "shared-0-0")

    assert messages(text, "a line of") == ["a line of 0"]


def test_a_run_whose_last_word_is_a_failure_has_failed(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    card, _ = runs["fails"]

    assert card.state == "failed"
    assert card.verdict is not None
    assert card.verdict.rule == "task-exception"
    assert "the last thing it does" in card.headline


def test_a_failure_that_was_handled_is_no_failed_run(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    card, run = runs["recovers"]

    assert card.state == "succeeded"
    assert run.errors["key"].to_list() == ["failing-but-handled"]


def test_what_tasks_submit_belongs_to_the_run_of_the_task(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    _, run = runs["nested"]

    assert prefixes(run) == {"outer": 2, "inner": 2, "outer_too": 2, "inner_too": 2}


def test_a_span_gives_its_name_to_the_run(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    _, run = runs["nightly"]
    spans = {"/".join(reported["name"]): reported for reported in details(run, "span")}

    assert prefixes(run) == {"loaded": 3}
    assert set(spans) == {"nightly", "nightly/load"}
    assert spans["nightly/load"]["parent"] == spans["nightly"]["subject"]
    assert spans["nightly/load"]["groups"]


def test_a_client_that_records_itself_is_recorded_once(
    finished: ScenarioRun, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    card, run = runs["own"]

    assert finished.card.run_id == card.run_id
    assert prefixes(run) == {"shared": 1}


def test_a_client_that_vanishes_has_aborted_its_run(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    card, run = runs["vanishes"]

    assert card.state == "aborted"
    assert prefixes(run) == {"shared": 1}


def test_host_and_driver_are_what_the_scheduler_knows(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    _, run = runs["fails"]
    host = run.manifest.host
    [driver] = details(run, "driver-attached")

    assert host["kind"] == "scheduler"
    assert host["scheduler"] == resident.address
    assert str(host["client"]).startswith("Client-fails-")
    assert driver["packages"]["distributed"]


def test_each_run_knows_the_processes_of_workers_that_came_before_it(
    runs: dict[str, tuple[RunCard, Run]],
) -> None:
    _, run = runs["recovers"]

    known = {each["subject"]: each for each in details(run, "process-ancestors")}
    assert {*known} == {*run.workers["address"]}
    assert all(each["machine"] and each["limits"] for each in known.values())


def test_no_recording_stays_on_the_scheduler(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    def ours(dask_scheduler: Any) -> list[str]:
        names = [*dask_scheduler.plugins, *dask_scheduler.handlers]
        return sorted(n for n in names if "dask-blackbox" in n)

    with connected(resident) as client:
        until(
            lambda: client.run_on_scheduler(ours) == ["dask-blackbox-resident"],
            "rest on the scheduler",
        )


def test_what_workers_are_asked_they_can_answer(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    assert "No handler" not in resident.log


def test_one_process_records_them_all(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    lines = resident.home.processes().values()

    assert len([line for line in lines if "dask_blackbox.recorder" in line]) == 1


@pytest.fixture(scope="module")
def by_span(residents: Maker, bare: Path) -> Resident:
    return residents(
        bare,
        DASK_BLACKBOX__PRELOAD__RUNS="span",
        DASK_BLACKBOX__PRELOAD__QUIET="3s",
        DASK_BLACKBOX__PRELOAD__MOST="2",
    )


def test_each_outermost_span_is_a_run_even_if_the_recorder_dies(
    by_span: Resident,
) -> None:
    """The client stays: its runs end because they are quiet."""
    with connected(by_span, "spanning") as client:
        with span("one"), span("deep"):
            client.gather(client.map(abs, range(-5, 0)))
        with span("two"):
            client.gather(client.map(str, range(3)))
        until(lambda: len(list(by_span.store.rglob("run.json"))) == 2, "two runs")
        for pid, line in by_span.home.processes().items():
            if "dask_blackbox.recorder" in line:
                os.kill(pid, signal.SIGKILL)
        runs = by_span.runs(2)

    assert {job: prefixes(run) for job, (_, run) in runs.items()} == {
        "one": {"abs": 5},
        "two": {"str": 3},
    }
    for card, run in runs.values():
        assert card.completeness == {
            "recorded": True,
            "kept": "store",
            "complete": True,
        }
        assert run.manifest.host["span"] == card.job
    assert "starting another one" in by_span.log


def test_the_end_of_the_scheduler_ends_its_runs_with_a_card(
    by_span: Resident,
) -> None:
    resident = by_span
    with contextlib.ExitStack() as clients:
        names = ["first", "second", "third"]
        made = [clients.enter_context(connected(resident, name)) for name in names]
        futures = []
        # One after the other: what comes first over three connections nobody knows.
        for name, client in zip(names[:2], made[:2], strict=True):
            futures.append(client.submit(time.sleep, 600, key=f"{name}-1"))
            until(resident.records(name), f"the run of {name}")
        futures.append(made[2].submit(time.sleep, 600, key="third-1"))
        until(lambda: "clients have been refused" in resident.log, "the refusal")
        resident.scheduler.send_signal(signal.SIGTERM)
        assert resident.scheduler.wait(60) == 0
        del futures
    runs = resident.runs(4)

    assert set(runs) == {"one", "two", "first", "second"}
    for card in (runs["first"][0], runs["second"][0]):
        assert card.state == "failed"
        assert card.verdict is not None
        assert card.verdict.rule == "scheduler-lost"
        assert "SIGTERM" in card.headline
    assert "the run of Client-third-" in resident.log
    assert "1 clients have been refused" in resident.log


def test_the_stop_of_the_whole_cluster_is_the_loss_of_its_scheduler(
    residents: Maker, bare: Path
) -> None:
    resident = residents(bare)
    with connected(resident, "stopped") as client:
        future = client.submit(time.sleep, 600, key="forever-1")
        until(resident.records("stopped"), "a run")
        until(lambda: client.processing() and any(client.processing().values()), "work")
        resident.stop_workers()
        resident.scheduler.send_signal(signal.SIGINT)
        card, _ = resident.runs(1)["stopped"]
        del future

    assert (card.verdict and card.verdict.rule) == "scheduler-lost"
    assert [each.rule for each in card.findings] == []
    assert "SIGINT" in card.headline
    assert card.numbers["deaths"] == 0


def test_a_store_that_fails_is_no_business_of_the_cluster(
    residents: Maker, bare: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "no-folder"
    blocked.write_text("a file where the store should be")
    store = {"DASK_BLACKBOX__STORE__URL": str(blocked / "store")}
    resident = residents(bare, **store)
    with connected(resident) as client:
        assert client.gather(client.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1]
    spool = resident.home.temporary / f"dask-blackbox-{os.getuid()}" / "spool"
    until(lambda: list(spool.rglob("complete.json")), "the recording in the spool")
    until(lambda: "recording" in resident.log and "no-folder" in resident.log, "word")
    with connected(resident) as client:
        assert client.submit(sum, [1, 2]).result() == 3


def test_the_death_of_the_scheduler_is_the_verdict_of_its_runs(
    resident: Resident, runs: dict[str, tuple[RunCard, Run]]
) -> None:
    with connected(resident, "bereaved") as client:
        future = client.submit(time.sleep, 600, key="forever-1")
        until(lambda: len(list(resident.store.rglob("run.json"))) > len(JOBS), "a run")
        until(lambda: client.processing() and any(client.processing().values()), "work")
        resident.scheduler.kill()
        card, run = resident.runs(len(JOBS) + 1)["bereaved"]
        del future

    assert card.state == "aborted"
    assert card.verdict is not None
    assert card.verdict.rule == "scheduler-lost"
    assert details(run, "scheduler-lost")
