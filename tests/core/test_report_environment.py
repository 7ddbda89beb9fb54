"""The report's table of packages: what driver, scheduler and workers have installed."""

from __future__ import annotations

import pytest
from dask_blackbox.events import DriverAttached, InstalledPackages, WorkerAdded
from dask_blackbox.report.environment import PackageRow, environment_of
from dask_blackbox.run_tables import RunTables
from dask_blackbox.testing import a_run, a_worker_added
from dask_blackbox.testing.facts import an_event
from kept_recordings import SETS, recordings


@pytest.fixture(scope="module")
def kept_runs() -> dict[str, RunTables]:
    """Return every recording that is kept."""
    return {name: run for of in SETS for name, run in recordings(of).items()}


def _rows(run: RunTables) -> dict[str, PackageRow]:
    return {row.name: row for row in environment_of(run).packages}


def test_packages_of_workers_in_kept_recordings_are_shown(
    kept_runs: dict[str, RunTables],
) -> None:
    held = {
        name: run
        for name, run in kept_runs.items()
        if any(e.role == "worker" for e in run.of(InstalledPackages))
    }

    shown = {
        name: [r for r in _rows(run).values() if r.workers]
        for name, run in held.items()
    }

    assert len(held) > 120
    assert {name for name, rows in shown.items() if len(rows) < 50} == set()


def test_what_dask_compares_in_kept_recordings_is_shown(
    kept_runs: dict[str, RunTables],
) -> None:
    held = {name: run for name, run in kept_runs.items() if run.of(WorkerAdded)}

    assert len(held) > 120
    assert {
        name for name, run in held.items() if not _rows(run)["distributed"].workers
    } == set()


def test_packages_of_drivers_in_kept_recordings_are_shown(
    kept_runs: dict[str, RunTables],
) -> None:
    held = {
        name: run
        for name, run in kept_runs.items()
        if any(e.packages for e in run.of(DriverAttached))
    }

    assert len(held) > 120
    assert {
        name for name, run in held.items() if not _rows(run)["dask"].driver
    } == set()


def test_packages_differ_where_a_story_made_them_differ(
    kept_runs: dict[str, RunTables],
) -> None:
    differ = {
        name: [r.name for r in _rows(run).values() if r.differ]
        for name, run in kept_runs.items()
    }

    assert {name: rows for name, rows in differ.items() if rows} == {
        "own_cluster_older_package_on_workers": ["featurelib"],
        "workers_have_an_older_version": ["pricing"],
        "the_workers_have_last_months_parser": ["feedparse"],
    }


def test_versions_are_counted_by_worker() -> None:
    run = a_run(
        a_worker_added(
            "tcp://a:1", packages={"numpy": "1", "python": "3.11.7.final.0"}
        ),
        a_worker_added("tcp://b:1", packages={"numpy": "2"}),
        a_worker_added("tcp://c:1", packages={"numpy": "2"}),
        an_event("packages", "tcp://a:1", role="worker", packages={"polars": "1"}),
        an_event("packages", "tcp://b:1", role="worker", packages={"polars": "2"}),
        an_event("packages", "tcp://s:1", role="scheduler", packages={"polars": "3"}),
        an_event("driver-attached", "driver", argv=["x"], python="3.11.7"),
        an_event("driver-attached", "driver", client="Client-1", pid=7),
    )

    rows = _rows(run)

    assert rows["numpy"].workers == "2 (on 2), 1 (on 1)"
    assert rows["polars"] == PackageRow("polars", "", "3", "1, 2", differ=True)
    assert rows["python"] == PackageRow("python", "3.11.7", "", "3.11.7", differ=False)
    assert dict(environment_of(run).facts) == {
        "driver pid": "7",
        "driver argv": '["x"]',
        "driver client": "Client-1",
    }
