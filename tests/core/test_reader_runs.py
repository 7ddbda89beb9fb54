"""Many runs at once: what is listed, one row for each, and their tables together."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime

import polars as pl
import pytest
from dask_blackbox import Run, runs
from dask_blackbox.errors import ConfigurationError, RunNotFoundError
from dask_blackbox.layout import sketch_name
from dask_blackbox.reader.deletion import erase, old_erasures
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.store import open_store
from dask_blackbox.testing import EPOCH, EmbeddedS3, a_task, recorded
from distributed import Client, LocalCluster
from stored_runs import Shelf

DAY = 86_400.0


def a_run(shelf: Shelf, number: int, job: str = "nightly", **facts: object) -> None:
    """Record night `number`, whose tasks `load-x` take `number` seconds, with its sketch."""
    state = str(facts.pop("state", "succeeded"))
    started = EPOCH + number * DAY
    address = shelf.record(
        job,
        f"run-{number}",
        a_task("load-1", compute=float(number)),
        a_task("load-2", compute=float(number)),
        state=state,
        started=started,
    )
    sketch = Sketch(
        job=job,
        run_id=f"run-{number}",
        state=state,
        started=started,
        numbers={"tasks": 2.0, "compute_seconds": number / 2},
        facts={"parameters": {"day": f"2026-11-{number:02}"}},
    )
    verdict = "task-exception" if state == "failed" else None
    name = sketch_name(
        address,
        started,
        state,
        duration=10.0 * number,
        peak_memory=2**30,
        verdict=verdict,
    )
    shelf.store.put(name, packed(sketch))


@pytest.fixture
def nights(shelf: Shelf) -> Shelf:
    for number in (1, 2, 3):
        a_run(shelf, number)
    a_run(shelf, 4, state="failed")
    a_run(shelf, 2, job="weekly")
    return shelf


def names(found: pl.DataFrame) -> list[str]:
    return found["run"].to_list()


def test_each_attempt_is_a_row_the_newest_first(nights: Shelf) -> None:
    found = runs(nights.url).to_polars()

    assert names(found) == [
        "nightly/run-4/1",
        "nightly/run-3/1",
        "nightly/run-2/1",
        "weekly/run-2/1",
        "nightly/run-1/1",
    ]
    row = found.row(0, named=True)
    assert row["state"] == "failed"
    assert row["verdict"] == "task-exception"
    assert row["duration"] == 40.0
    assert row["peak_memory"] == 2**30
    assert row["started"] == datetime.fromtimestamp(EPOCH + 4 * DAY, tz=UTC)
    assert [each.address.name for each in runs(nights.url)] == names(found)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"job": "weekly"}, ["weekly/run-2/1"]),
        ({"state": "failed"}, ["nightly/run-4/1"]),
        ({"state": ["failed", "aborted"], "job": "weekly"}, []),
        ({"job": "nightly", "limit": 2}, ["nightly/run-4/1", "nightly/run-3/1"]),
        (
            {
                "since": datetime.fromtimestamp(EPOCH + 2 * DAY, tz=UTC),
                "until": EPOCH + 3 * DAY,
            },
            ["nightly/run-2/1", "weekly/run-2/1"],
        ),
        ({"since": date(2026, 12, 24)}, []),
        ({"since": "2 hours"}, []),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, dict) else None,
)
def test_runs_are_chosen_by_job_time_and_state(
    nights: Shelf, chosen: dict[str, object], expected: list[str]
) -> None:
    some = runs(nights.url, **chosen)  # type: ignore[arg-type]

    assert names(some.to_polars()) == expected
    assert [each.address.name for each in some] == expected


def test_details_are_the_measures_and_parameters_of_each_run(nights: Shelf) -> None:
    found = runs(nights.url, job="nightly").to_polars(details=True)

    assert found["tasks"].to_list() == [2.0] * 4
    assert found["compute_seconds"].to_list() == [2.0, 1.5, 1.0, 0.5]
    assert found["parameter.day"].to_list()[0] == "2026-11-04"


def test_the_median_of_a_prefix_over_the_last_runs_is_a_few_lines(
    nights: Shelf,
) -> None:
    tasks = runs(nights.url, job="nightly", limit=3).scan("tasks")
    medians = (
        tasks.filter(pl.col("prefix") == "load")
        .group_by("run_id")
        .agg(pl.median("compute"))
        .sort("run_id")
        .collect()
    )

    assert dict(medians.iter_rows()) == {"run-2": 2.0, "run-3": 3.0, "run-4": 4.0}
    assert tasks.select("key", "job").head(2).collect().shape == (2, 2)


def test_a_deleted_recording_leaves_its_row(nights: Shelf) -> None:
    old = old_erasures(nights.store, time.time() + 10**9, job="weekly", sketches=False)
    erase(nights.store, old, by="prune")

    found = runs(nights.url, job="weekly")
    assert found.to_polars()["recorded"].to_list() == [False]
    assert list(found.open()) == []
    assert found.scan("errors").collect().is_empty()
    assert found.tasks().compute(scheduler="synchronous").empty


def test_a_run_without_an_end_is_running_or_lost(shelf: Shelf) -> None:
    shelf.record(run_id="alive", state="running", started=time.time())
    shelf.record(run_id="gone", state="lost")

    states = dict(runs(shelf.url).to_polars().select("run_id", "state").iter_rows())
    assert states == {"alive": "running", "gone": "lost"}
    assert [each.address.run for each in runs(shelf.url, state="lost")] == ["gone"]


def test_tables_of_many_runs_are_a_dask_dataframe(nights: Shelf) -> None:
    tasks = runs(nights.url, job="nightly").tasks()

    assert list(tasks.columns[:3]) == ["job", "run_id", "attempt"]
    found = tasks[tasks["prefix"] == "load"][["run_id", "compute"]]
    frame = found.compute(scheduler="synchronous")
    assert frame.groupby("run_id")["compute"].sum().to_dict() == {
        f"run-{number}": 2.0 * number for number in (1, 2, 3, 4)
    }


def test_a_frame_of_pandas_has_the_same_rows(nights: Shelf) -> None:
    found = runs(nights.url, job="nightly").to_pandas()

    assert found["duration"].tolist() == [40.0, 30.0, 20.0, 10.0]
    assert str(found["started"].dt.tz) == "UTC"


def test_an_empty_store_has_no_runs(shelf: Shelf) -> None:
    assert runs(shelf.url).to_polars(details=True).is_empty()
    assert runs(shelf.url).scan("logs").collect().is_empty()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda url: runs(url, state="bad"),  # type: ignore[arg-type]
        lambda url: runs(url, limit=0),
        lambda url: runs(url, since="yesterday evening"),
        lambda url: runs(url).scan("no_such_table"),
        lambda url: runs(url).to_dask("no_such_table"),
    ],
    ids=["state", "limit", "since", "scan", "to_dask"],
)
def test_what_cannot_work_is_refused_at_once(
    shelf: Shelf, wrong: Callable[[str], object]
) -> None:
    with pytest.raises(ConfigurationError, match=r"bad|limit|yesterday|no_such_table"):
        wrong(shelf.url)


def test_the_latest_run_of_a_job_is_opened(nights: Shelf) -> None:
    assert Run.latest("weekly", nights.url).manifest.run_id == "run-2"
    assert Run.latest(store=nights.url).manifest.run_id == "run-4"
    with pytest.raises(RunNotFoundError, match="hourly"):
        Run.latest("hourly", nights.url)


def test_credentials_are_not_in_the_text_of_a_graph(nights: Shelf) -> None:
    settings = {"key": "AKIA-shown", "secret": "secret-that-is-shown"}
    graph = runs(nights.url, settings=settings).tasks()

    assert "shown" not in repr(dict(graph.dask)) + repr(graph)


@pytest.mark.nightly
def test_workers_read_recordings_from_a_bucket(s3: EmbeddedS3) -> None:
    url = f"{s3.url}/many"
    store = open_store(url, settings=s3.settings)
    for number in range(3):
        recorded(store, a_task("load-1", compute=2.0), run_id=f"run-{number}")

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        tasks = runs(url, settings=s3.settings).tasks()
        assert len(tasks) == 3
