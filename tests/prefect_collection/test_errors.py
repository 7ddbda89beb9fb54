"""Exceptions of failed flow runs, read by others: by `except`, and in other environments."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from bare_environments import can_import, python_with
from conditions import scaled
from distributed import KilledWorker
from distributed.client import FutureCancelledError
from flow_clusters import own_runner
from prefect import task
from prefect.exceptions import FailedRun, UnfinishedRun
from prefect.settings import PREFECT_API_URL, get_current_settings
from prefect_dask_blackbox import LostTasksError, NeverRanError, observed_flow
from prefect_dask_blackbox.errors import also
from tblib.pickling_support import install  # type: ignore[import-untyped]

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

KILLED = KilledWorker("eat-1", None, 3)  # type: ignore[arg-type]


def lost() -> LostTasksError:
    return LostTasksError(["eat-afd"], "Workers died.", never_ran=["total-17f"])


def never_ran() -> NeverRanError:
    return NeverRanError("'total-17f' never ran, because 'score-7' failed: ValueError")


CASES: dict[str, tuple[Any, tuple[type, ...]]] = {
    "unnoticed": (lost(), (LostTasksError,)),
    "killed": (also(lost(), KILLED), (LostTasksError, KilledWorker)),
    "cancelled": (
        also(lost(), FutureCancelledError("eat-1", "lost")),
        (LostTasksError, FutureCancelledError),
    ),
    "unfinished": (
        also(never_ran(), UnfinishedRun("Run is in PENDING state")),
        (NeverRanError, UnfinishedRun),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_exception_keeps_its_classes_after_pickling(case: str) -> None:
    error, kinds = CASES[case]

    copy = pickle.loads(pickle.dumps(error))

    assert all(isinstance(copy, kind) for kind in kinds)
    assert type(copy).__name__ == type(error).__name__
    assert str(copy) == str(error)
    assert copy.args == error.args
    again = pickle.loads(pickle.dumps(copy))
    assert all(isinstance(again, kind) for kind in kinds)


def test_an_exception_is_read_without_the_one_it_replaces_that_cannot_be_pickled() -> (
    None
):
    other = KilledWorker("eat-1", (each for each in "abc"), 3)  # type: ignore[arg-type]

    copy = pickle.loads(pickle.dumps(also(lost(), other)))

    assert type(copy) is LostTasksError
    assert copy.never_ran == ("total-17f",)


@pytest.mark.parametrize(
    ("missing", "read"),
    [
        (
            ["prefect_dask_blackbox"],
            ["FailedRun", "KilledWorker", "FutureCancelledError", "UnfinishedRun"],
        ),
        (
            ["prefect_dask_blackbox", "dask_blackbox", "distributed", "tblib"],
            ["FailedRun", "FailedRun", "FailedRun", "UnfinishedRun"],
        ),
    ],
    ids=["without us", "without Dask"],
)
def test_an_exception_is_read_where_packages_are_missing(
    missing: list[str], read: list[str]
) -> None:
    # As Dask does with the classes that there are when it is imported.
    install(FailedRun("x"), UnfinishedRun("x"))
    script = f"""
import pickle, sys
sys.modules.update(dict.fromkeys({missing!r}))
for error in pickle.load(sys.stdin.buffer):
    print(type(error).__name__, *getattr(error, "__notes__", [error]), sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps([error for error, _ in CASES.values()]),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    lines = [each.split("|") for each in done.stdout.decode().splitlines()]
    assert [name for name, *_ in lines] == read
    texts = [str(error) for error, _ in CASES.values()]
    # Its own pickling drops notes.
    texts[2] = texts[2] if read[2] == FailedRun.__name__ else lines[2][1]
    assert [text for _, text in lines] == texts


@task
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


PARENT = """
import sys
from prefect.client.orchestration import get_client

with get_client(sync_client=True) as client:
    state = client.read_flow_run(sys.argv[1]).state
print(repr(state.result(raise_on_failure=False)))
try:
    state.result()
except Exception as error:
    print(repr(error))
"""


@pytest.mark.nightly
def test_a_parent_with_nothing_but_prefect_reads_why_a_flow_run_failed(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    @observed_flow(
        name="dies-for-others", persist_result=True, task_runner=own_runner()
    )
    def dies_for_others() -> None:
        dies.submit().result()

    dies_for_others(return_state=True)

    run = prefect.newest("dies-for-others", store)
    python = python_with("prefect", tmp_path / "bare")
    missing = ("dask", "distributed", "tblib", "prefect_dask", "prefect_dask_blackbox")
    assert not [each for each in missing if can_import(python, each)]
    kept_in = get_current_settings().results.local_storage_path
    done = subprocess.run(
        [python, "-c", PARENT, str(run.id)],
        env={
            "PREFECT_HOME": str(tmp_path / "home"),
            "PREFECT_API_URL": str(PREFECT_API_URL.value()),
            "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(kept_in),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(120),
    )

    assert done.returncode == 0, done.stderr
    read, raised = done.stdout.splitlines()
    assert read == raised
    assert read.startswith("FailedRun(\"1 task run was lost ('dies-")
    assert "A worker received SIGKILL" in read
