"""What a worker wrote into its ring is what is read from it, whatever it was."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.capture.logs import LogTap
from dask_blackbox.capture.nanny.worker_exit import remove_old_rings
from dask_blackbox.capture.worker.ring import Ring, read_ring
from hypothesis import given
from hypothesis import strategies as st
from small_disks import filled, small_disks

pytestmark = pytest.mark.processes

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=50),
    st.lists(st.integers(), max_size=3),
)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Ring:
    return Ring(str(tmp_path_factory.mktemp("ring") / "ring"), {"pid": 1}, 2**20)


def read(ring: Ring) -> dict[str, Any]:
    found = read_ring(ring.path)
    assert found is not None
    return found


@given(st.lists(CELLS, min_size=1, max_size=10))
def test_a_line_is_read_as_it_was_written(ring: Ring, row: list[Any]) -> None:
    ring.line(row)

    assert read(ring)["lines"][-1] == row


@given(st.text(max_size=600), st.floats(0, 2e9))
def test_the_task_that_executes_is_read(ring: Ring, key: str, start: float) -> None:
    ring.running_one(key, start)
    executing = read(ring)["executing"]
    ring.running_none()

    assert executing == [{"key": key, "start": start}]
    assert read(ring)["executing"] == []


@given(st.text(min_size=1, max_size=2), st.floats(0, 2e9))
def test_a_key_that_no_slot_holds_is_left_out(
    ring: Ring, part: str, start: float
) -> None:
    ring.running_one("load", 1.0)
    ring.running_one(part * 8192, start)

    assert read(ring)["executing"] == []


@contextmanager
def printed() -> Iterator[list[str]]:
    """Give the lines that are taken of what is printed."""
    taken: list[str] = []
    tap = LogTap("ring", "worker", str, lambda row: taken.append(row[7]))
    with redirect_stdout(io.StringIO()):
        tap.attach_streams()
        yield taken
        tap.detach()


def test_a_line_that_is_printed_in_pieces_is_one_line() -> None:
    with printed() as lines:
        print("a", 1, "b", end=" … ")
        print("and\nits", "rest")
        print()

    assert lines == ["a 1 b … and", "its rest"]


def test_pieces_of_two_threads_do_not_mix() -> None:
    with printed() as lines:
        print("one", end=" ")
        other = threading.Thread(target=print, args=("the other thread",))
        other.start()
        other.join()
        print("thread")

    assert lines == ["the other thread", "one thread"]


def test_text_that_no_encoding_holds_is_escaped() -> None:
    with printed() as lines:
        print("half a \ud83d pair")

    assert lines == ["half a \\ud83d pair"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 1 MiB."""
    with small_disks(tmp_path) as make:
        yield make()


WRITE = """
import sys
from pathlib import Path
from dask_blackbox.capture.worker.ring import Ring
from small_disks import filled
ring = Ring(sys.argv[1] + "/ring", {"pid": 1}, 2**22)
filled(Path(sys.argv[1]))
for number in range(100_000):
    ring.line(["log", number, "x" * 60])
ring.sample(1.0, 1)
ring.running([{"key": "k", "start": 1.0}])
print("alive")
"""


def test_a_disk_that_is_filled_later_ends_no_process_that_writes_to_its_ring(
    disk: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(disk)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        capture_output=True,
        text=True,
        check=False,
    )
    kept = read_ring(str(disk / "ring"))

    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
    assert kept is not None
    assert kept["lines"][-1] == ["log", 99_999, "x" * 60]
    assert (disk / "ring").stat().st_size <= 2**20 // 10


def test_on_a_full_disk_there_is_no_file_and_that_is_known(disk: Path) -> None:
    filled(disk)
    ring = Ring(str(disk / "ring"), {"pid": 1}, 2**22)
    ring.line(["log", "x" * 60])

    assert "No space left" in str(ring.failed)
    assert not (disk / "ring").exists()


def test_rings_that_nobody_read_in_a_day_are_removed_but_those_of_the_living(
    tmp_path: Path,
) -> None:
    def rings_of_one(recording: str, pid: int, *, old: bool) -> Path:
        folder = tmp_path / recording
        folder.mkdir()
        Ring(str(folder / f"{pid}.ring"), {"pid": pid}, 2**15).close()
        if old:
            before = time.time() - 90_000
            for each in (folder / f"{pid}.ring", folder):
                os.utime(each, (before, before))
        return folder

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    unread = rings_of_one("unread", ended.pid, old=True)
    new = rings_of_one("new", ended.pid, old=False)
    living = rings_of_one("living", os.getpid(), old=True)
    own = rings_of_one("own", ended.pid, old=True)
    remove_old_rings(str(own))

    assert not unread.exists()
    assert all(each.exists() for each in (new, living, own))
