"""All jobs at a glance: what failed lately, and how each job does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import dask.config
import msgspec
import pytest
from app_server import page_of, served
from dask_blackbox import Run
from dask_blackbox.card import RunCard
from dask_blackbox.job_history import Past
from dask_blackbox.layout import RunAddress, index_names, sketch_name
from dask_blackbox.reader.earlier_runs import write_sketch
from dask_blackbox.reader.jobs_overview import JobOutcomes, jobs_overview
from dask_blackbox.serve import create_app
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.store import MemoryStore
from dask_blackbox.testing import a_metric, a_worker_added, an_event, recorded
from stored_runs import Shelf

NOW = 1_796_000_000.0
HOUR = 3600.0


@dataclass
class Night:
    """A run, so many hours ago."""

    ago: float
    state: str = "succeeded"
    verdict: str | None = None
    fingerprint: str | None = None
    duration: float = 600.0
    memory: int = 2**30
    unusual: tuple[str, ...] = ()
    thread_seconds: int | None = None


def a_store(jobs: dict[str, list[Night]]) -> MemoryStore:
    store = MemoryStore()
    for job, nights in jobs.items():
        for number, night in enumerate(nights):
            started = NOW - night.ago * HOUR
            address = RunAddress.of(job, f"run-{number}", 1)
            for reached in {"running", night.state}:
                for name in index_names(address, started, reached):
                    store.put(name, b"")
            if night.state == "running":
                continue
            name = sketch_name(
                address,
                started,
                night.state,
                duration=night.duration,
                peak_memory=night.memory,
                verdict=night.verdict,
                fingerprint=night.fingerprint,
                unusual=night.unusual,
                thread_seconds=night.thread_seconds,
            )
            sketch = Sketch(
                job=job,
                run_id=f"run-{number}",
                state=night.state,
                started=started,
                title=f"Title of {job}" if night.verdict else None,
            )
            store.put(name, packed(sketch))
    return store


def nightly(*states: Night) -> list[Night]:
    """Return ten good nights, and after them some others; the newest began 2 hours ago."""
    good = [Night(2 + 24 * (len(states) + n)) for n in range(10)]
    return [*states, *good]


FAILED = Night(2, "failed", "worker-memory-limit", "aaaa1111")
JOBS = {
    "fine": nightly(Night(2)),
    "fails again": nightly(
        FAILED, Night(26, "failed", "worker-memory-limit", "aaaa1111")
    ),
    "fails anew": nightly(
        FAILED, Night(26, "failed", "task-exception", "bbbb2222"), Night(50)
    ),
    "silent": [Night(72 + 24 * n) for n in range(10)],
    "stopped": nightly(Night(2, "aborted", "stopped-by-host")),
    "interrupted": nightly(Night(2, "aborted", "cancelled", "cccc3333")),
    "first run goes on": [Night(0.1, "running")],
}


def test_what_needs_attention_comes_first() -> None:
    overview = jobs_overview(a_store(JOBS), now=NOW)

    names = [
        name
        for each in overview.jobs
        for name in JOBS
        if RunAddress.of(name, "r", 1).job == each.job
    ]
    assert names[:3] == ["fails anew", "fails again", "silent"]
    assert set(names) == set(JOBS)
    assert overview.left_out == 0


def of(name: str) -> JobOutcomes:
    overview = jobs_overview(a_store(JOBS), now=NOW)
    wanted = RunAddress.of(name, "r", 1).job
    [found] = (each for each in overview.jobs if each.job == wanted)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fine", {"succeeded": 11, "is_new": False, "overdue": None}),
        ("fails again", {"succeeded": 10, "is_new": False, "failed": True}),
        ("fails anew", {"is_new": True, "failed": True, "usual_duration": 600.0}),
        ("silent", {"overdue": 72 * HOUR, "interval": 24 * HOUR, "failed": False}),
        ("interrupted", {"is_new": False, "failed": False}),
        ("stopped", {"is_new": False, "failed": False, "overdue": None}),
        ("first run goes on", {"running": True, "outcomes": (), "interval": None}),
    ],
)
def test_how_each_job_does(name: str, expected: dict[str, Any]) -> None:
    found = of(name)

    assert {each: getattr(found, each) for each in expected} == expected


def test_the_newest_outcomes_are_shown() -> None:
    many = a_store({"job": [Night(n, duration=float(n)) for n in range(60)]})

    [found] = jobs_overview(many, now=NOW).jobs

    assert [each.run for each in found.outcomes] == [f"run-{n}" for n in range(20)]
    assert found.usual_duration == 9.5


def test_failures_of_the_last_day_are_grouped_over_all_jobs() -> None:
    kinds = jobs_overview(a_store(JOBS), now=NOW).failures

    [kind] = kinds
    assert (kind.verdict, kind.times, len(kind.jobs)) == ("worker-memory-limit", 2, 2)
    assert kind.title.startswith("Title of fails ")


def test_a_kind_of_failure_has_what_changed_before_its_first_run() -> None:
    store = a_store({"job": nightly(FAILED, replace(FAILED, ago=26))})
    first = RunAddress.of("job", "run-1", 1)
    card = RunCard(
        job="job",
        run_id="run-1",
        attempt=1,
        state="failed",
        headline="",
        past=Past(blame="code", summary="Code: `clean` changed."),
    )
    store.put(f"{first.folder}card.json", card.to_json())

    [kind] = jobs_overview(store, now=NOW).failures

    assert (kind.newest[1], kind.first) == ("run-0", first)
    assert kind.past is not None
    assert kind.past.summary == "Code: `clean` changed."


def test_the_job_of_a_run_that_has_not_ended_leads_to_that_run() -> None:
    store = a_store(
        {"goes on": [Night(0.1, "running"), Night(24)], "ended": [Night(1)]}
    )

    found = {each.job: each for each in jobs_overview(store, now=NOW).jobs}
    with served(create_app(store)) as viewer:
        page = viewer("/").text

    job = RunAddress.of("goes on", "run-0", 1)
    assert found[job.job].not_ended == job
    assert found["ended"].not_ended is None
    assert f'href="{page_of(job)}">not ended</a>' in page


def test_a_run_that_nearly_went_wrong_and_its_cost_are_on_the_first_page() -> None:
    near = Night(2, unusual=("memory-near-limit",), thread_seconds=7200)
    before = [Night(26 + 24 * n, thread_seconds=3600) for n in range(5)]
    store = a_store({"near": [near, *before], "fine": [Night(1)]})

    with (
        dask.config.set({"blackbox.price": {"core-hour": 0.5, "currency": "EUR"}}),
        served(create_app(store)) as viewer,
    ):
        page = viewer("/").text

    assert page.index("memory-near-limit") < page.index("fine")
    assert "1.00 EUR" in page
    assert "usually 0.50 EUR" in page


def test_what_is_unusual_comes_from_the_findings_of_the_run(shelf: Shelf) -> None:
    near = a_metric(at=5, memory=int(3.8 * 2**30))
    begun = an_event("recording-started", at=0)
    recorded(shelf.store, begun, a_worker_added(), near, job="near", run_id="run-7")
    run = Run.at(shelf.store, RunAddress.of("near", "run-7", 1))
    write_sketch(shelf.store, run, run.card())

    [job] = jobs_overview(shelf.store, now=NOW).jobs

    assert job.outcomes[0].unusual == ("memory-near-limit",)


def test_a_new_failure_of_a_job_that_never_ran_before_is_not_called_new() -> None:
    [found] = jobs_overview(a_store({"job": [FAILED]}), now=NOW).jobs

    assert found.failed
    assert not found.is_new


def test_the_first_page_shows_jobs_until_something_is_looked_for() -> None:
    with served(create_app(a_store(JOBS))) as viewer:
        first, asked = viewer("/").text, viewer("/?state=failed").text
        answer = msgspec.json.decode(viewer("/api/overview").text)

    assert "new failure" in first
    assert "usually every" in first
    assert "new failure" not in asked
    assert len(answer["jobs"]) == len(JOBS)
