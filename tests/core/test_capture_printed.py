"""Printed lines get into the ring and to the scheduler, masked and numbered, at little cost."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from conditions import scaled
from dask_blackbox.capture.logs import LogTap
from dask_blackbox.capture.masked_values import OwnSecrets
from dask_blackbox.capture.printed_lines import WorkerPrintedLines
from dask_blackbox.capture.worker.ring import Ring, read_ring
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from distributed import Worker

MOST = 50


class Printing:
    """What takes the lines of a worker, outside of one."""

    def __init__(self, folder: Path, size: int = 2**20) -> None:
        self.worker = SimpleNamespace(
            address="tcp://1", active_threads={}, scheduler_delay=0.0
        )
        self.path = folder / f"{time.monotonic_ns()}.ring"
        self.ring = Ring(str(self.path), {"pid": os.getpid()}, size)
        self.waiting: deque[list[Any]] = deque()
        self.secrets = OwnSecrets()
        self.tap = LogTap(
            self.path.name, "worker", lambda _: "tcp://1", lambda _: None,
            mask=self.secrets.mask,
        )  # fmt: skip
        self.lines = WorkerPrintedLines(
            cast("Worker", self.worker), self.tap, self.secrets, self.ring, threading.Lock(),
            self.waiting, MOST, lambda: None,
        )  # fmt: skip

    @contextmanager
    def listening(self) -> Iterator[None]:
        with redirect_stdout(io.StringIO()):
            self.tap.attach_streams(self.lines.taking)
            yield
            self.tap.detach()

    def waits(self) -> bool:
        return self.lines.floods

    @property
    def in_ring(self) -> list[list[Any]]:
        found = read_ring(str(self.path))
        assert found is not None
        return [row[1:] for row in found["lines"]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=50),
    key=st.none()
    | st.text(max_size=20)
    | st.tuples(st.text(max_size=5), st.integers()),
)
def test_the_ring_holds_the_row_that_is_shipped(
    tmp_path: Path, text: str, key: Any
) -> None:
    printing = Printing(tmp_path)
    printing.worker.active_threads[threading.get_ident()] = key

    with printing.listening():
        print(text)

    shipped = [row[1:] for row in printing.waiting]
    lines = [line for line in text.split("\n") if line.strip()]
    assert [row[7] for row in shipped] == lines
    assert [row[8] for row in shipped] == [None if key is None else str(key)] * len(
        lines
    )
    for kept, row in zip(printing.in_ring, shipped, strict=True):
        assert kept[1:] == row[1:]
        assert kept[0] == pytest.approx(row[0], abs=1e-6)


def test_lines_go_round_in_a_ring_that_is_full(tmp_path: Path) -> None:
    printing = Printing(tmp_path, size=0)

    with printing.listening():
        for number in range(1_000):
            print("line", number)

    numbers = [int(row[7].split()[1]) for row in printing.in_ring]
    assert numbers == list(range(numbers[0], 1_000))
    assert len(numbers) > 10


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    printing = Printing(tmp_path)

    with printing.listening():
        for number in range(MOST + 7):
            print("line", number)

    assert len(printing.waiting) == MOST
    assert printing.lines.dropped == 7
    assert len(printing.in_ring) == MOST + 7


def test_the_first_and_newest_lines_of_a_flood_are_recorded_and_the_rest_counted(
    tmp_path: Path,
) -> None:
    printing = Printing(tmp_path, size=2**24)
    key = "talk-1"
    printing.worker.active_threads[threading.get_ident()] = key

    with printing.listening():
        for number in range(50_000):
            print("line", number)
    assert printing.waits()
    printing.lines.flush(end=True)

    rows = printing.in_ring
    said = [row for row in rows if row[7].startswith("dask-blackbox:")]
    lines = [row for row in rows if row not in said]
    left_out = sum(int(row[7].split()[1].replace(",", "")) for row in said)
    assert left_out
    assert left_out + len(lines) == 50_000
    texts = [row[7] for row in lines]
    assert texts[:5_000] == [f"line {number}" for number in range(5_000)]
    assert texts[-50:] == [f"line {number}" for number in range(49_950, 50_000)]
    assert {row[8] for row in lines} == {key}
    assert not printing.waits()
    # The card counts what is missing by the gaps in these numbers.
    assert rows[-1][4] - len(rows) == left_out


def test_a_flood_that_ends_leaves_space_for_later_lines(tmp_path: Path) -> None:
    printing = Printing(tmp_path, size=2**24)

    with printing.listening():
        for number in range(20_000):
            print("line", number)
        deadline, number = time.monotonic() + scaled(30), 0
        while not any("left out" in row[7] for row in printing.in_ring):
            assert time.monotonic() < deadline
            time.sleep(0.1)
            print("later", number := number + 1)

    *_, reported, newest = (row[7] for row in printing.in_ring)
    assert reported.startswith("dask-blackbox:")
    assert newest == f"later {number}"


def test_a_secret_of_the_environment_is_in_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_PASSWORD", "quite-unguessable")
    printing = Printing(tmp_path)

    with printing.listening():
        print("with quite-unguessable it opens")
        monkeypatch.setenv("OTHER_PASSWORD", "came-with-a-file")
        printing.secrets.until = time.time() - 1  # five seconds later
        print("and with came-with-a-file, too")

    texts = ["with [redacted] it opens", "and with [redacted], too"]
    assert [row[8] for row in printing.waiting] == texts
    assert [row[7] for row in printing.in_ring] == texts


def test_secrets_are_looked_for_again_after_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printing = Printing(tmp_path)
    printing.tap.at = time.time() + 3600
    printing.secrets.until = time.time() + 3600
    monkeypatch.setenv("WAREHOUSE_PASSWORD", "quite-unguessable")

    with printing.listening():
        print("the first line after the clock was set back")
        print("with quite-unguessable it opens")

    assert printing.in_ring[-1][7] == "with [redacted] it opens"


def test_a_forked_child_writes_nothing_for_its_parent(tmp_path: Path) -> None:
    printing = Printing(tmp_path)

    with printing.listening():
        print("of the parent")
        child = os.fork()
        if not child:
            print("of the child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    assert [row[7] for row in printing.in_ring] == ["of the parent"]


def test_lines_of_many_threads_are_whole_and_numbered(tmp_path: Path) -> None:
    printing = Printing(tmp_path)

    def speak(who: int) -> None:
        for number in range(200):
            print("thread", who, "line", number)

    with printing.listening():
        threads = [threading.Thread(target=speak, args=(who,)) for who in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    rows = printing.in_ring
    assert sorted(row[4] for row in rows) == list(range(1, 1_001))
    for who in range(5):
        of_one = [row[7] for row in rows if row[7].startswith(f"thread {who} ")]
        assert of_one == [f"thread {who} line {number}" for number in range(200)]


def test_an_empty_piece_of_a_line_is_no_line(tmp_path: Path) -> None:
    printing = Printing(tmp_path)

    with printing.listening():
        print(end="")
        print()
        sys.stdout.write("")
        print("a line")

    assert [row[7] for row in printing.in_ring] == ["a line"]
