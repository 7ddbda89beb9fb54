"""A recording is opened where it lies, whatever state it is in."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import msgspec
import pytest
from dask_blackbox.errors import (
    FutureFormatError,
    RecordingError,
    RunNotFoundError,
    StoreUnreachableError,
)
from dask_blackbox.reader import Run, list_runs
from dask_blackbox.reader.documents import is_silent
from dask_blackbox.segments import SegmentWriter
from dask_blackbox.store import MemoryStore, open_store
from dask_blackbox.tables import SCHEMAS
from dask_blackbox.testing import (
    EPOCH,
    EmbeddedS3,
    Fact,
    a_log,
    a_metric,
    a_run,
    a_task,
    a_task_error,
    a_worker_added,
    a_worker_removed,
    an_exit_report,
    embedded_s3,
    recorded,
    rows_of,
)
from dask_blackbox.testing.facts import an_event
from polars.testing import assert_frame_equal

FACTS: tuple[Fact, ...] = (
    a_worker_added(),
    *(a_task(f"('sum-1', {i})", start=1.0 + i, compute=0.25) for i in range(30)),
    a_task("('sum-1', 30)", start=9.0, outcome="erred"),
    a_task_error("('sum-1', 30)", at=9.9),
    *(a_log(f"line {i}", at=2.0 + i, seq=i) for i in range(20)),
    *(
        a_metric(at=float(i), memory=2**20 * i, cpu=12.5, status="running")
        for i in range(9)
    ),
    a_worker_removed(at=10.0, processing=("('sum-1', 30)",)),
    an_exit_report(at=10.2),
)


class WatchedStore(MemoryStore):
    """Notes what was fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[str] = []

    def get(self, name: str) -> bytes:
        self.got.append(name.rpartition("attempt=1/")[2])
        return super().get(name)


def assert_same_tables(run: Run, state: str | None = "succeeded") -> None:
    """Compare the tables of a run with those of `FACTS`."""
    wanted = a_run(*FACTS, state=state)
    for name in SCHEMAS:
        assert_frame_equal(getattr(run, name), getattr(wanted, name))


@pytest.mark.parametrize("state", ["failed", None])
@pytest.mark.parametrize(
    "page",
    ["", "/", "/card.json", "/report.html", "/run.json", "/performance_report.html"],
)
def test_a_recording_opens_by_its_folder_or_a_page_in_it(
    tmp_path: Path, page: str, state: str | None
) -> None:
    address = recorded(open_store(tmp_path), *FACTS, state=state)
    run = Run.open(f"{tmp_path}/{address.folder[:-1]}{page}")

    assert_same_tables(run)
    assert (run.address, run.url) == (address, f"{tmp_path}/{address.folder}")
    assert run.damaged == {}


def test_a_recording_opens_from_a_bucket() -> None:
    with embedded_s3() as server:
        store = open_store(f"{server.url}/some/prefix", settings=server.settings)
        folder = recorded(store, *FACTS, state=None).folder
        run = Run.open(f"{store.url}/{folder}card.json", settings=server.settings)

        assert_same_tables(run)
        assert run.url == f"{store.url}/{folder}"
        with pytest.raises(RunNotFoundError, match=r"`dask blackbox ls --store s3://"):
            Run.open(f"{store.url}/{folder[:-2]}9/", settings=server.settings)


def test_a_recording_that_was_copied_elsewhere_opens_there(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    shutil.copytree(
        tmp_path / "store" / recorded(store, *FACTS).folder, tmp_path / "copy"
    )
    run = Run.open(tmp_path / "copy")

    assert_same_tables(run)
    assert run.state == "succeeded"


def test_only_the_requested_table_of_an_ended_run_is_fetched() -> None:
    store = WatchedStore()
    run = Run.at(store, recorded(store, *FACTS))
    store.got.clear()
    rows = run.tasks.height, run.tasks.height

    assert rows == (31, 31)
    assert store.got == ["tables/tasks.parquet"]
    _ = run.workers
    assert store.got[1:] == ["tables/workers.parquet"]


def test_a_run_without_an_end_is_read_from_its_segments() -> None:
    store = WatchedStore()
    address = recorded(store, *FACTS, state=None, in_segments=5, heartbeat=EPOCH + 9)
    run = Run.at(store, address)

    assert_same_tables(run)
    assert run.ending is None
    assert run.last_heartbeat == EPOCH + 9
    assert sum(name.startswith("segments/") for name in store.got) == 5
    assert store.got.count("segments/r1-000001.seg") == 1


def test_what_came_twice_counts_once() -> None:
    store = MemoryStore()
    address = recorded(store, *FACTS, state=None)
    # A recorder that was started anew pulls what nobody had acknowledged again, ...
    writer = SegmentWriter("nightly-run-1-1", 1)
    writer.append("scheduler", 1, EPOCH, rows_of(a_task("never seen")))
    writer.append("driver", None, EPOCH, rows_of(a_log("line 3", at=5.0, seq=3)))
    # ... and a line without a number is never taken for another.
    writer.append("driver", None, EPOCH, rows_of(a_log("the same"), a_log("the same")))
    # What a worker has reported is in its last lines, too.
    missing = an_event("missing-file", "load-1", at=6.0, path="/data/in.csv")
    writer.append("recorder", None, EPOCH, rows_of(missing, missing))
    store.put(f"{address.folder}segments/r2-000001.seg", writer.close())
    run = Run.at(store, address)

    assert run.tasks.height == 31
    assert run.logs["message"].to_list().count("line 3") == 1
    assert run.logs["message"].to_list().count("the same") == 2
    assert run.events["kind"].to_list().count("missing-file") == 1


def test_a_line_of_another_life_of_the_process_is_another_line() -> None:
    store = MemoryStore()
    lines = (a_log("before", seq=0), a_log("after it was recorded anew", seq=0))
    run = Run.at(store, recorded(store, *lines, state=None))

    assert run.logs.height == 2


def test_damaged_segments_are_named_and_the_others_read() -> None:
    store = MemoryStore()
    address = recorded(store, *FACTS, state=None, in_segments=4)
    folder = f"{address.folder}segments/"
    store.put(f"{folder}r1-000002.seg", store.get(f"{folder}r1-000002.seg")[:-3])
    store.put(f"{folder}r1-000003.seg", b"<html>not found")
    stranger = SegmentWriter("another", 4)
    stranger.append("scheduler", 4, EPOCH, rows_of(a_log("not ours")))
    store.put(f"{folder}r1-000004.seg", stranger.close())
    run = Run.at(store, address)

    assert run.damaged.keys() == {f"r1-00000{n}.seg" for n in (2, 3, 4)}
    assert "cut off" in run.damaged["r1-000002.seg"]
    assert "not a segment" in run.damaged["r1-000003.seg"]
    assert "belongs to 'another'" in run.damaged["r1-000004.seg"]
    assert run.tasks.height > 0
    assert "not ours" not in run.logs["message"].to_list()
    assert run.completeness["complete"] is False
    assert "r1-000002.seg" in str(run.completeness["missing"])


@pytest.mark.parametrize("broken", [b"PAR1 but no more", b"", None])
def test_where_a_table_is_damaged_the_segments_take_its_place(
    broken: bytes | None,
) -> None:
    store = MemoryStore()
    address = recorded(store, *FACTS)
    name = f"{address.folder}tables/tasks.parquet"
    store.delete(name)
    if broken is not None:
        store.put(name, broken)
    run = Run.at(store, address)

    assert_same_tables(run)
    assert run.damaged.keys() == {"tables/tasks.parquet"}


def test_segments_of_a_newer_version_are_not_passed_over() -> None:
    store = MemoryStore()
    address = recorded(store, state=None)
    manifest = {"format": 2, "who knows": "what"}
    store.put(f"{address.folder}run.json", msgspec.json.encode(manifest))

    with pytest.raises(FutureFormatError, match="pip install -U dask-blackbox"):
        Run.at(store, address)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"{}", b"[]", b"\xff\xfe", b'{"format": "x"}']
)
def test_a_damaged_manifest_is_named(text: bytes) -> None:
    store = MemoryStore()
    address = recorded(store, *FACTS)
    store.put(f"{address.folder}run.json", text)

    run = Run.at(store, address)

    assert "run.json" in run.damaged
    assert (run.manifest.job, run.manifest.attempt) == (address.job, address.attempt)
    assert_same_tables(run)


@pytest.mark.parametrize("text", [b"", b"{", b'{"state": 1}'])
def test_only_the_state_of_a_damaged_ending_is_known_and_the_damage_is_named(
    text: bytes,
) -> None:
    store = MemoryStore()
    address = recorded(store, *FACTS)
    store.put(f"{address.folder}complete.json", text)
    run = Run.at(store, address)

    assert run.ending is not None
    assert (run.ending.state, run.ending_whole) == ("succeeded", False)
    assert_same_tables(run)
    assert "complete.json" in run.damaged


def test_what_is_no_recording_reports_what_is(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no run\.json.*ends in runs/job="):
        Run.open(tmp_path / "nothing")
    recorded(open_store(tmp_path))
    with pytest.raises(RecordingError, match="a store with several runs; choose one"):
        Run.open(tmp_path)


def test_a_store_that_fails_is_not_an_absent_recording() -> None:
    settings = {
        "endpoint": "http://127.0.0.1:1",
        "key": "a",
        "secret": "b",
        "attempts": 1,
    }
    with pytest.raises(StoreUnreachableError):
        Run.open("s3://bucket/runs/job=a/run=b/attempt=1/", settings=settings)


@pytest.mark.parametrize(
    ("ended", "heartbeat", "state"),
    [
        ("failed", None, "failed"),
        ("aborted", 3600, "aborted"),
        (None, 1, "running"),
        (None, 3600, "lost"),
        (None, None, "lost"),
    ],
)
def test_the_state_of_a_run_without_an_end_is_reported_by_its_heartbeat(
    ended: str | None, heartbeat: float | None, state: str
) -> None:
    store = MemoryStore()
    beat = None if heartbeat is None else time.time() - heartbeat
    started = time.time() - 7200
    address = recorded(store, state=ended, heartbeat=beat, started=started)

    assert Run.at(store, address).state == state


@pytest.mark.parametrize(("silent_for", "state"), [(1, "running"), (3600, "lost")])
def test_a_run_is_lost_by_the_time_of_the_bucket_not_by_an_observer_that_is_ahead(
    silent_for: float, state: str, s3: EmbeddedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"{s3.url}/{state}", settings=s3.settings)
    now = time.time()
    address = recorded(
        store, state=None, heartbeat=now - silent_for, started=now - 7200
    )
    ahead = time.time
    monkeypatch.setattr(time, "time", lambda: ahead() + 1800)

    assert Run.at(store, address).state == state
    assert [entry.state for entry in list_runs(store)] == [state]
    assert is_silent(store, now - silent_for) is (state == "lost")


def test_a_damaged_heartbeat_is_none() -> None:
    store = MemoryStore()
    address = recorded(store, state=None)
    for text in (b"", b"{}", b"\xff", b'{"at": "now"}'):
        store.put(f"{address.folder}heartbeat.json", text)

        assert Run.at(store, address).last_heartbeat is None


def test_a_lost_run_is_diagnosed_when_it_is_opened() -> None:
    store = MemoryStore()
    run = Run.at(store, recorded(store, *FACTS, state=None, heartbeat=EPOCH + 12))
    card = run.card()

    assert card.state == "lost"
    assert card.run_id == "run-1"
    assert card.links["recording"] == run.url
    assert set(card.links) == {"recording", "finding"}
    assert card.completeness["complete"] is False
    assert run.findings()


def test_the_card_of_a_run_that_has_ended_links_its_pages(tmp_path: Path) -> None:
    run = Run.at(open_store(tmp_path), recorded(open_store(tmp_path), *FACTS))

    report = Path(run.url or "") / "report.html"
    assert run.card().links["report"] == report.as_uri()


def test_a_run_without_any_segment_is_an_empty_run() -> None:
    store = MemoryStore()
    run = Run.at(store, recorded(store, state=None))
    nothing = a_run(state=None)

    for name in SCHEMAS:
        assert_frame_equal(getattr(run, name), getattr(nothing, name))
        assert getattr(run, name).is_empty()
