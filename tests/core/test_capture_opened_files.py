"""The files that tasks open by themselves: their sizes, what changed, and the one that a task failed on."""

from __future__ import annotations

import builtins
import io
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from conditions import scaled
from dask_blackbox import Run
from dask_blackbox.capture.worker.opened_files import OpenedFiles
from dask_blackbox.events import FilesRead, OpenedByFailedTask
from dask_blackbox.reader.run_lookup import find_run
from dask_blackbox.store import open_store

pytestmark = pytest.mark.processes

JOB = """
import gzip
import sys
from pathlib import Path

import pandas as pd
from distributed import Client, LocalCluster
from dask_blackbox import recording

STORE, FOLDER = sys.argv[1], Path(sys.argv[2])
NIGHTS = {"good": ("amount", 1_000), "failed": ("Amount", 1_000), "larger": ("amount", 10_000)}

def write_input(column, rows):
    lines = "12\\n" * rows
    for number in range(3):
        header = column if number == 1 else "amount"
        (FOLDER / f"sales-{number}.csv").write_text(header + "\\n" + lines)
        with gzip.open(FOLDER / f"till-{number}.csv.gz", "wt") as file:
            file.write("amount\\n" + lines)

def rows_of(number):
    with gzip.open(FOLDER / f"till-{number}.csv.gz", "rt") as file:
        return sum(1 for _ in file)

def total(number):
    return int(pd.read_csv(FOLDER / f"sales-{number}.csv")["amount"].sum())

def night(client, run):
    with recording(client, store=STORE, job="sales", run_id=run):
        client.gather(client.map(rows_of, range(3), pure=False))
        client.gather(client.map(total, range(3), pure=False))

def main():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for run, (column, rows) in NIGHTS.items():
            write_input(column, rows)
            try:
                night(client, run)
            except KeyError as error:
                print(run, error)

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Return a good night, one with another column, and one with ten times the rows."""
    folder = tmp_path_factory.mktemp("sales")
    (folder / "in").mkdir()
    (folder / "job.py").write_text(JOB)
    ended = subprocess.run(
        [sys.executable, "job.py", "store", "in"],
        cwd=folder, timeout=scaled(300), check=True, capture_output=True, text=True,
    )  # fmt: skip
    store = open_store(str(folder / "store"))

    assert ended.stdout == "failed 'amount'\n"
    return {
        run: find_run(store, f"sales/{run}") for run in ("good", "failed", "larger")
    }


def test_each_file_is_recorded_with_its_size(nights: dict[str, Run]) -> None:
    read = [e for e in nights["good"].of(FilesRead) if e.prefix == "total"]
    sizes = {digest: nbytes for each in read for digest, nbytes in each.files.items()}

    assert sorted(sizes.values()) == [3_007, 3_007, 3_007]
    assert all(Path(each.largest).name.startswith("sales-") for each in read)
    assert {each.prefix for each in nights["good"].of(FilesRead)} == {
        "rows_of",
        "total",
    }


def test_larger_files_are_what_changed(nights: dict[str, Run]) -> None:
    card = nights["larger"].card()

    assert card.state == "succeeded"
    [change] = [each for each in card.changes if each.what == "bytes of files"]
    assert (change.kind, change.after) == ("input-size", "88 KiB")
    assert card.past is not None
    assert card.past.blame == "data"


def test_the_file_that_a_failed_task_had_opened_is_named(
    nights: dict[str, Run],
) -> None:
    [opened] = nights["failed"].of(OpenedByFailedTask)
    card = nights["failed"].card()

    assert [Path(each).name for each in opened.files] == ["sales-1.csv"]
    assert card.verdict is not None
    assert card.verdict.rule == "task-exception"
    assert "sales-1.csv" in card.verdict.title
    assert not any(each.kind == "input-size" for each in card.changes)


OTHER = """
import sys
from distributed import Client

def fail(path):
    raise ValueError(len(open(path).read()))

with Client(sys.argv[1]) as client:
    print(repr(client.submit(fail, sys.argv[2]).exception()))
"""
SHARED = """
import subprocess, sys
from distributed import Client, LocalCluster
from dask_blackbox import recording

def length(path):
    return len(open(path).read())

def main():
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        with recording(client, store=sys.argv[1], job="shared", run_id="one"):
            client.submit(length, "ours.csv").result()
            other = [sys.executable, "other.py", cluster.scheduler_address, "theirs.csv"]
            subprocess.run(other, check=True)

if __name__ == "__main__":
    main()
"""


@pytest.mark.nightly
def test_files_of_another_clients_tasks_are_not_recorded(tmp_path: Path) -> None:
    texts = {
        "other.py": OTHER,
        "shared.py": SHARED,
        "ours.csv": "1",
        "theirs.csv": "12",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    store = str(tmp_path / "store")
    ended = subprocess.run(
        [sys.executable, "shared.py", store],
        cwd=tmp_path, timeout=scaled(300), check=True, capture_output=True, text=True,
    )  # fmt: skip
    run = find_run(open_store(store), "shared/one")

    assert "ValueError(2)" in ended.stdout
    assert [Path(each.largest).name for each in run.of(FilesRead)] == ["ours.csv"]
    assert run.of(OpenedByFailedTask) == ()
    assert not run.events["detail"].str.contains("theirs.csv").any()


# Without a cluster


class AWorker:
    """What is read of a worker: this thread runs one task after the other."""

    address = "tcp://w1"

    def __init__(self) -> None:
        self.active_threads = {threading.get_ident(): "load-0"}

    def run(self, key: str) -> None:
        self.active_threads[threading.get_ident()] = key


@pytest.fixture
def worker() -> AWorker:
    return AWorker()


@pytest.fixture
def opened(worker: Any) -> Iterator[OpenedFiles]:
    files = OpenedFiles(worker)
    files.start()
    yield files
    files.stop()


def reported(opened: OpenedFiles) -> list[dict[str, Any]]:
    rows = opened.reports(now=True)
    return [{"key": row[2], **json.loads(str(row[3]))} for row in rows]


def test_only_files_that_tasks_open_to_read_are_reported(
    opened: OpenedFiles, worker: AWorker, tmp_path: Path
) -> None:
    (tmp_path / "out.csv").write_text("1,2")
    for name in (os.devnull, pickle.__file__):
        Path(name).read_bytes()
    assert reported(opened) == []

    for _ in range(2):
        assert (tmp_path / "out.csv").read_bytes() == b"1,2"
    worker.active_threads.clear()
    (tmp_path / "out.csv").read_text()
    [prefix] = reported(opened)

    assert (prefix["key"], prefix["prefix"]) == ("load-0", "load")
    assert (list(prefix["files"].values()), prefix["more"]) == ([3], 0)
    assert prefix["largest"] == str(tmp_path / "out.csv")
    assert reported(opened) == []


def test_files_of_other_file_systems_are_reported_by_their_urls(
    opened: OpenedFiles, tmp_path: Path
) -> None:
    memory, local = fsspec.filesystem("memory"), fsspec.filesystem("file")
    memory.pipe("/sales/may.csv", b"1,2,3")
    with memory.open("/sales/may.csv", "r") as file:
        assert file.read() == "1,2,3"
    (tmp_path / "june.csv").write_text("1,2")
    for _ in range(2):
        with local.open(str(tmp_path / "june.csv")) as file:
            file.read()
    [prefix] = reported(opened)

    assert sorted(prefix["files"].values()) == [3, 5]
    assert prefix["largest"] == "memory://sales/may.csv"


def test_a_failed_task_has_its_own_files_the_last_one_first(
    opened: OpenedFiles, worker: AWorker, tmp_path: Path
) -> None:
    for key in ("load-1", "load-2"):
        worker.run(key)
        for number in range(7):
            (tmp_path / f"{key}-{number}.csv").write_text("1")
            (tmp_path / f"{key}-{number}.csv").read_text()
    row = opened.opened_by("load-2")

    assert row is not None
    names = [Path(each).name for each in json.loads(str(row[3]))["files"]]
    assert names == [f"load-2-{number}.csv" for number in (6, 5, 4, 3, 2)]
    assert opened.opened_by("load-3") is None


def test_very_many_files_are_bounded_and_counted(
    opened: OpenedFiles, worker: AWorker, tmp_path: Path
) -> None:
    file = tmp_path / "x"
    for number in range(400):
        file = tmp_path / f"{number}.csv"
        file.write_text("12345")
        file.read_text()
    [prefix] = reported(opened)
    assert (len(prefix["files"]), prefix["more"], prefix["more_bytes"]) == (
        300,
        100,
        500,
    )

    for number in range(5_007):
        worker.run(f"step{number}x-0")
        file.read_text()
    found = reported(opened)
    assert len(found) == 50
    assert found[0]["missed"] == 4_950 + 7


def test_open_behaves_as_before(opened: OpenedFiles, tmp_path: Path) -> None:
    assert opened is not None
    assert io.open is builtins.open
    assert pickle.loads(pickle.dumps(builtins.open)) is builtins.open
    assert b"os_calls" not in pickle.dumps(builtins.open)
    with pytest.raises(FileNotFoundError) as failed:
        open(tmp_path / "none")  # noqa: PTH123, SIM115 - what is wrapped
    assert [each.name for each in failed.traceback] == ["test_open_behaves_as_before"]
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        open(descriptor)  # noqa: PTH123, SIM115 - likewise
