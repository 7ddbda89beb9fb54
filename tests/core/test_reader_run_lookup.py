"""What people type finds the run that they mean; the newest runs are one cheap listing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask_blackbox.errors import (
    AmbiguousRunError,
    FutureFormatError,
    RunNotFoundError,
)
from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.reader import find_run, list_runs
from dask_blackbox.reader.run_lookup import find_addresses
from dask_blackbox.store import MemoryStore, Store, open_store
from dask_blackbox.testing import EPOCH, embedded_s3, recorded

SCHEDULED = "scheduled__2026-11-{:02d}T00:00:00+00:00"


class CountingStore(MemoryStore):
    """Counts what is asked of it."""

    listed = got = 0

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        for name in super().names(prefix, after=after, limit=limit):
            self.listed += 1
            yield name

    def get(self, name: str) -> bytes:
        self.got += 1
        return super().get(name)


@pytest.fixture
def store() -> Store:
    """Return a store with runs of several jobs, the newest last."""
    store = MemoryStore()
    runs = [
        ("etl/orders", SCHEDULED.format(19), 1, "succeeded"),
        ("etl/orders", SCHEDULED.format(20), 1, "failed"),
        ("etl/orders", SCHEDULED.format(20), 2, "failed"),
        ("etl/orders", SCHEDULED.format(20), 10, "succeeded"),
        ("etl/customers", SCHEDULED.format(20), 1, "succeeded"),
        ("report", "manual/by hand/3", 1, "failed"),
        ("report", "amber-fox", 1, "succeeded"),
        ("report-daily", "amber-owl", 1, "succeeded"),
    ]
    for number, (job, run_id, attempt, state) in enumerate(runs):
        recorded(
            store,
            job=job,
            run_id=run_id,
            attempt=attempt,
            state=state,
            started=EPOCH + number,
        )
    return store


@pytest.mark.parametrize(
    ("typed", "job", "run_id", "attempt"),
    [
        ("latest", "report-daily", "amber-owl", 1),
        ("", "report-daily", "amber-owl", 1),
        ("etl/orders", "etl/orders", SCHEDULED.format(20), 10),
        ("etl/orders/latest", "etl/orders", SCHEDULED.format(20), 10),
        ("report", "report", "amber-fox", 1),
        ("report/", "report", "amber-fox", 1),
        ("report/latest", "report", "amber-fox", 1),
        (f"etl/orders/{SCHEDULED.format(19)}", "etl/orders", SCHEDULED.format(19), 1),
        (f"etl/orders/{SCHEDULED.format(20)}", "etl/orders", SCHEDULED.format(20), 10),
        (f"etl/orders/{SCHEDULED.format(20)}/2", "etl/orders", SCHEDULED.format(20), 2),
        ("report/manual/by hand/3", "report", "manual/by hand/3", 1),
        ("report/manual/by hand/3/1", "report", "manual/by hand/3", 1),
        ("report-d", "report-daily", "amber-owl", 1),
        ("report/amb", "report", "amber-fox", 1),
        ("rep/manual/by", "report", "manual/by hand/3", 1),
        ("etl/cust", "etl/customers", SCHEDULED.format(20), 1),
        ("etl/orders/scheduled__2026-11-19T00:", "etl/orders", SCHEDULED.format(19), 1),
        ("amber-owl", "report-daily", "amber-owl", 1),
        ("amber-f", "report", "amber-fox", 1),
    ],
)
def test_what_people_type_finds_the_run(
    store: Store, typed: str, job: str, run_id: str, attempt: int
) -> None:
    manifest = find_run(store, typed).manifest

    assert (manifest.job, manifest.run_id, manifest.attempt) == (job, run_id, attempt)


def test_every_run_is_found_by_its_address(store: Store) -> None:
    for entry in list_runs(store, limit=None):
        job, run, attempt = entry.address

        assert find_run(store, f"{job}/{run}/{attempt}").address == entry.address


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        ("amber", ["report/amber-fox", "report-daily/amber-owl"]),
        ("rep", ["report", "report-daily"]),
        ("etl/orders/scheduled__2026-11", ["11-19T", "11-20T"]),
    ],
)
def test_what_fits_several_runs_lists_them(
    store: Store, typed: str, candidates: list[str]
) -> None:
    with pytest.raises(AmbiguousRunError, match="is ambiguous") as ambiguous:
        find_run(store, typed)

    assert all(candidate in str(ambiguous.value) for candidate in candidates)


@pytest.mark.parametrize(
    "typed",
    [
        "nothing",
        "report/nothing",
        f"etl/orders/{SCHEDULED.format(20)}/3",
        "a/b/c/d",
        "é",
    ],
)
def test_what_fits_no_run_reports_how_to_list_them(store: Store, typed: str) -> None:
    with pytest.raises(RunNotFoundError, match="dask blackbox ls --store memory://"):
        find_run(store, typed)


def test_an_empty_store_has_no_latest_run() -> None:
    with pytest.raises(RunNotFoundError, match="nothing is recorded in"):
        find_run(MemoryStore(), "latest")


def test_a_store_whose_recordings_were_all_deleted_is_not_called_empty() -> None:
    gone = RunAddress.of("report", "deleted", 1)
    store = MemoryStore()
    for name in index_names(gone, EPOCH, "failed"):
        store.put(name, b"")

    for typed in ("latest", "report", "report/deleted", "report/deleted/1"):
        with pytest.raises(RunNotFoundError, match=rf"'{typed}' in .* were deleted"):
            find_run(store, typed)
    with pytest.raises(RunNotFoundError, match="no recording 'report/never'"):
        find_run(store, "report/never")


def test_a_marker_whose_recording_is_gone_hides_no_other_run(store: Store) -> None:
    gone = RunAddress.of("report", "deleted", 1)
    for state in ("running", "succeeded"):
        for name in index_names(gone, EPOCH + 100, state):
            store.put(name, b"")

    assert find_run(store, "latest").manifest.run_id == "amber-owl"
    assert find_run(store, "report").manifest.run_id == "amber-fox"
    with pytest.raises(RunNotFoundError):
        find_run(store, "report/deleted")


def test_a_url_finds_a_run_of_this_store_or_of_another(tmp_path: Path) -> None:
    here, there = open_store(tmp_path / "here"), open_store(tmp_path / "there")
    address = recorded(there, job="elsewhere")

    for url in (
        f"{there.url}/{address.folder}",
        f"{there.url}/{address.folder}card.json",
    ):
        assert find_run(here, url).manifest.job == "elsewhere"
        assert find_run(there, url).manifest.job == "elsewhere"
    assert find_run(there, address.folder).manifest.job == "elsewhere"


def test_a_path_relative_to_the_working_directory_finds_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = recorded(open_store(tmp_path / "there"), job="elsewhere")
    monkeypatch.chdir(tmp_path)

    found = find_run(open_store(tmp_path / "here"), f"there/{address.folder}")

    assert found.manifest.job == "elsewhere"


def test_a_url_in_this_store_is_opened_with_its_settings() -> None:
    with embedded_s3() as server:
        store = open_store(f"{server.url}/x", settings=server.settings)
        address = recorded(store)

        assert find_run(store, f"{store.url}/{address.folder}").address == address


def test_the_newest_runs_come_first_each_with_its_last_state(store: Store) -> None:
    listed = [
        (e.address.attempt, e.state, e.started) for e in list_runs(store, limit=6)
    ]

    assert listed == [
        (1, "succeeded", EPOCH + 7),
        (1, "succeeded", EPOCH + 6),
        (1, "failed", EPOCH + 5),
        (1, "succeeded", EPOCH + 4),
        (10, "succeeded", EPOCH + 3),
        (2, "failed", EPOCH + 2),
    ]


def test_the_runs_of_one_job_are_listed(store: Store) -> None:
    entries = list_runs(store, job="etl/orders")

    assert [e.address.attempt for e in entries] == [10, 2, 1, 1]
    assert entries[0].url == f"memory://{entries[0].address.folder}"
    assert list_runs(store, job="nobody's") == []


def test_a_run_without_an_end_is_running_or_lost_by_its_heartbeat() -> None:
    store, now = MemoryStore(), time.time()
    recorded(store, run_id="a", state=None, started=now - 900, heartbeat=now - 2)
    recorded(store, run_id="b", state=None, started=now - 800, heartbeat=now - 120)
    recorded(store, run_id="c", state=None, started=now - 700)
    recorded(store, run_id="d", state=None, started=now - 3)
    recorded(store, run_id="e", state="aborted", started=now - 2, heartbeat=now - 500)

    assert {e.address.run: e.state for e in list_runs(store)} == {
        "a": "running",
        "b": "lost",
        "c": "lost",
        "d": "running",
        "e": "aborted",
    }


def test_a_run_that_went_on_after_all_has_the_state_that_it_reached() -> None:
    store = MemoryStore()
    address = RunAddress.of("job", "run", 1)
    for state in ("running", "lost", "aborted", "failed", "of-tomorrow"):
        for name in index_names(address, EPOCH, state):
            store.put(name, b"")
    store.put("index/all/not~a~marker", b"")

    assert [e.state for e in list_runs(store)] == ["failed"]


def test_the_newest_of_very_many_runs_cost_no_more_than_of_few() -> None:
    store = CountingStore()
    for number in range(3000):
        for state in ("running", "succeeded"):
            for name in index_names(
                RunAddress("j", f"r{number}", 1), EPOCH + number, state
            ):
                store.put(name, b"")
    found = list_runs(store, limit=20)

    assert [e.address.run for e in found] == [f"r{n}" for n in range(2999, 2979, -1)]
    assert store.listed <= 45
    assert store.got == 0


FUTURE = b'{"format": 99, "recording": "r", "job": "j", "run_id": "1"}'


def test_the_newest_run_is_one_that_can_be_read(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    newest, before = (each.address for each in list(list_runs(store))[:2])
    store.put(f"{newest.folder}run.json", FUTURE)

    assert find_run(store, "latest").address == before
    assert f"{newest.name}: this recording has format 99" in caplog.text
    assert "the run before it is read instead" in caplog.text
    # What is deleted by this name is the newest one all the same.
    assert find_addresses(store, "latest") == [newest]


def test_a_damaged_run_is_still_the_newest(store: Store) -> None:
    newest = next(iter(list_runs(store))).address
    for name in list(store.names(newest.folder)):
        store.put(name, b"[" * 5_000)

    assert find_run(store, "latest").address == newest


def test_a_store_without_a_run_that_can_be_read_ends_with_the_error_of_the_newest() -> (
    None
):
    store = MemoryStore()
    recorded(store, job="etl", run_id="1")
    newest = next(iter(list_runs(store))).address
    store.put(f"{newest.folder}run.json", FUTURE)

    with pytest.raises(FutureFormatError, match="format 99"):
        find_run(store, "latest")
