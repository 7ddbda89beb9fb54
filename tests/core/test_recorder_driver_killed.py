"""The recorder does not share the fate of the driver: it says how it ended, and ends too."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import polars as pl
import pytest
from conditions import until
from dask_blackbox import Run, RunCard
from dask_blackbox.testing import EmbeddedS3
from scenario_runs import Home, begin, ended
from stored_events import details

pytestmark = pytest.mark.processes


def reported(home: Home, word: str) -> Any:
    """Return what a scenario tells under a word, as soon as it does."""

    def received() -> Any:
        try:
            return json.loads((home.folder / "reported.json").read_text()).get(word)
        except (OSError, ValueError):
            return None

    return until(received, f"{word!r} of the scenario")


@pytest.fixture(scope="module")
def lasting(homes: Callable[[], Home]) -> Iterator[tuple[Home, str]]:
    """Return a cluster of other processes, and its address."""
    home = homes()
    process = begin(home, "clusters.py")
    yield home, reported(home, "address")
    home.clear()
    process.communicate()


def recorded_rows(run: Run) -> int:
    return run.tasks.filter(pl.col("prefix") == "work").height


def recording_is_rich(home: Home, settings: dict[str, Any], url: str) -> bool:
    """Return whether the store has the tasks of the running driver already."""
    return recorded_rows(Run.open(url, settings=settings)) == 20


def test_a_killed_driver_with_its_cluster_is_recorded_as_aborted(
    homes: Callable[[], Home], s3: EmbeddedS3
) -> None:
    home = homes()
    url = f"{s3.url}/killed"
    # The scenario waits on purpose, and on a busy machine for so long that this is the reason.
    without = {"DASK_BLACKBOX__STALL__AFTER": "0s"}
    process = begin(home, "waiting.py", url, **without, **s3.environment)
    recording = reported(home, "links")["recording"]
    # Segments leave during the run: what the store has survives everything.
    until(lambda: recording_is_rich(home, s3.settings, recording), "segments")

    os.killpg(process.pid, signal.SIGKILL)
    ended(home, process)
    home.quiet()

    run = Run.open(recording, settings=s3.settings)
    assert run.state == "aborted"
    assert run.ending is not None
    assert run.ending.lost_segments == {}
    assert recorded_rows(run) == 20
    card = msgspec.json.decode(run.store.get(f"{run.folder}card.json"), type=RunCard)
    assert card.state == "aborted"
    assert card.verdict is not None
    assert card.verdict.rule == "driver-killed"
    assert b"aborted" in run.store.get(f"{run.folder}report.html")
    assert home.left_over() == []


def test_a_cluster_that_outlives_its_driver_is_left_clean(
    homes: Callable[[], Home], lasting: tuple[Home, str]
) -> None:
    home, store = homes(), None
    its_home, address = lasting
    store = str(home.folder / "store")
    process = begin(home, "waiting.py", store, address)
    recording = reported(home, "links")["recording"]

    os.kill(reported(home, "driver"), signal.SIGKILL)
    ended(home, process)
    home.quiet()

    run = Run.open(recording)
    assert run.state == "aborted"
    assert recorded_rows(run) == 20
    assert details(run, "scheduler-lost") == []
    assert home.left_over() == []
    assert its_home.left_over() == []


@pytest.mark.nightly
def test_a_driver_that_ends_well_on_a_cluster_that_lost_another_is_recorded(
    homes: Callable[[], Home], lasting: tuple[Home, str]
) -> None:
    home = homes()
    finished = ended(
        home, begin(home, "shared_cluster.py", str(home.folder / "store"), lasting[1])
    )

    assert finished.code == 0, finished.errors
    assert finished.card.state == "succeeded"
    assert recorded_rows(finished.run) == 20
    assert finished.reported["plugins"] == []


def test_what_a_killed_driver_had_reported_to_a_busy_recorder_is_recorded(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    process = begin(home, "recorder_suspended.py", str(home.folder / "store"))
    # While its recorder is suspended, the driver says how it ended, and is killed.
    process.wait()
    os.kill(reported(home, "recorder"), signal.SIGCONT)
    ended(home, process)
    home.quiet()

    assert reported(home, "state") == "running"  # what the recorder does, nobody knows
    run = Run.open(reported(home, "links")["recording"])
    assert run.ending is not None
    assert run.ending.stopped is not None
    assert (run.state, run.ending.stopped.reason) == ("aborted", "marked-failed")
