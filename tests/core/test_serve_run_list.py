"""The newest runs of a store, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.serve.run_list import CHOICES, page_of_runs
from dask_blackbox.store import MemoryStore

START = 1_795_230_000.0


class CountingStore(MemoryStore):
    """Counts the names that were taken from its listings."""

    listed = 0

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        for name in super().names(prefix, after=after, limit=limit):
            self.listed += 1
            yield name


def a_store(states: list[str], *, jobs: int = 1) -> CountingStore:
    """Return a store with a run of each state, the oldest first."""
    store = CountingStore()
    for i, state in enumerate(states):
        address = RunAddress.of(f"job{i % jobs}", f"run-{i}", 1)
        for reached in {"running", state}:
            for name in index_names(address, START + i, reached):
                store.put(name, b"")
    return store


def test_the_newest_run_comes_first_and_each_run_once() -> None:
    page = page_of_runs(a_store(["failed", "succeeded", "running"]))

    assert [(run.address.run, run.state) for run in page.runs] == [
        ("run-2", "running"),
        ("run-1", "succeeded"),
        ("run-0", "failed"),
    ]
    assert page.runs[0].started == START + 2
    assert page.older is None


def test_pages_follow_on_each_other_without_gap_or_repetition() -> None:
    store = a_store(["succeeded", "failed", "aborted", "running", "succeeded"])
    seen, after = [], ""
    while True:
        page = page_of_runs(store, after=after, size=2)
        seen.append([run.address.run for run in page.runs])
        if page.older is None:
            break
        after = page.older

    assert seen == [["run-4", "run-3"], ["run-2", "run-1"], ["run-0"]]


def test_a_page_of_a_job_holds_its_runs_only() -> None:
    page = page_of_runs(a_store(["failed"] * 5, jobs=2), job="job1")

    assert [run.address for run in page.runs] == [
        ("job1", "run-3", 1),
        ("job1", "run-1", 1),
    ]


def test_a_state_can_be_asked_for() -> None:
    store = a_store(["failed", "succeeded", "running", "failed"])

    failed = page_of_runs(store, states=CHOICES["failed"])
    going_on = page_of_runs(store, states=CHOICES["running or lost"])

    assert [run.address.run for run in failed.runs] == ["run-3", "run-0"]
    assert [run.address.run for run in going_on.runs] == ["run-2"]


def test_among_very_many_runs_a_page_reads_little() -> None:
    store = a_store(["succeeded"] * 20_000)
    page = page_of_runs(store, size=50)

    assert len(page.runs) == 50
    assert store.listed <= 2 * 51 + 1


def test_the_search_for_a_rare_state_is_done_in_bounded_steps() -> None:
    store = a_store(["failed"] + ["succeeded"] * 8_000)
    first = page_of_runs(store, states=CHOICES["failed"])
    assert first.runs == ()
    assert first.older is not None

    second = page_of_runs(store, states=CHOICES["failed"], after=first.older)

    assert [run.address.run for run in second.runs] == ["run-0"]
    assert second.older is None


def test_strange_names_and_a_cursor_of_another_listing_do_no_harm() -> None:
    store = a_store(["failed"])
    store.put("index/all/what~is~this", b"")

    page = page_of_runs(store, after="index/jobs/job0/zzz")

    assert [run.address.run for run in page.runs] == ["run-0"]
