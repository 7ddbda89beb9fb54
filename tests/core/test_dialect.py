"""How a host puts a remedy: from its own package, where that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from dask_blackbox.dialect import RemedyDialect, dialect_of
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import need
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    a_failed_task,
    a_graph,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    the_verdict,
)

MODULE = """
from dask_blackbox.dialect import RemedyDialect
from dask_blackbox.formatting import need
DIALECT = RemedyDialect(
    engine="/luigi/worker.py",
    task_retries="Luigi's `retry_count = 3`",
    remedies={"luigi lock": "Remove Luigi's lock."},
)
"""
THROUGH_LUIGI = (
    'Traceback (most recent call last):\n  File "/v/site-packages/luigi/worker.py", line 9, '
    'in run\n  File "/jobs/a.py", line 3, in load\n    fetch()\nConnectionError: gone\n'
)


@pytest.fixture
def luigi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a host's package that says how it puts remedies."""
    (tmp_path / "luigi_blackbox.py").write_text(MODULE)
    info = tmp_path / "luigi_blackbox-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: luigi-blackbox\n")
    (info / "entry_points.txt").write_text(
        "[dask_blackbox.dialects]\nluigi = luigi_blackbox:DIALECT\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    dialect_of.cache_clear()
    yield
    dialect_of.cache_clear()


def remedy(run: RunTables, kind: str) -> str:
    return verdict(run, kind).remedy


def verdict(run: RunTables, kind: str) -> Finding:
    manifest = msgspec.structs.replace(run.manifest, host={"kind": kind})
    reported = RunTables(manifest, run.ending, run._frames)
    return the_verdict(reported)


def failing_task() -> RunTables:
    failed = a_failed_task("load-1", "ConnectionError", "gone", traceback=THROUGH_LUIGI)
    error = an_exception("ConnectionError", "gone")
    return a_run(a_worker(), a_graph(), failed, failed_with(error))


@pytest.mark.usefixtures("luigi")
def test_a_task_of_the_hosts_own_is_retried_as_the_host_does() -> None:
    assert "Luigi's `retry_count = 3` retries only this task" in remedy(
        failing_task(), "luigi"
    )
    assert "`client.submit(…, retries=3)`" in remedy(failing_task(), "shell")


@pytest.mark.usefixtures("luigi")
def test_an_error_that_only_the_host_raises_has_the_hosts_remedy() -> None:
    message = "Nanny failed to start."
    trace = (
        "Traceback:\nRuntimeError: luigi lock held\n\nThe above exception was the direct "
        f"cause of the following exception:\n\nTraceback:\nRuntimeError: {message}"
    )
    error = an_exception("RuntimeError", message, traceback=trace)

    assert (
        remedy(a_run(a_worker(), failed_with(error)), "luigi") == "Remove Luigi's lock."
    )


@pytest.mark.usefixtures("luigi")
def test_where_the_host_has_tasks_of_its_own_those_of_dask_are_called_that() -> None:
    run = a_run(a_worker(), a_graph(), failed_with(an_exception("KeyError", "'shop'")))

    assert "No Dask task had failed" in verdict(run, "luigi").cause
    assert "No task had failed" in verdict(run, "shell").cause


def test_without_the_hosts_package_remedies_are_in_dasks_terms() -> None:
    assert "`client.submit(…, retries=3)`" in remedy(failing_task(), "luigi")


def test_the_memory_to_paste_is_rounded_up_as_in_the_remedy() -> None:
    wanted = int(1.32 * 2**30)
    host = RemedyDialect(paste="{lines}", arguments={"cluster": "cluster_kwargs"})

    line = host.lines_for(
        f"Give each worker at least {need(wanted)}.", {}, worker_memory=wanted
    )

    assert line == '`cluster_kwargs={"memory_limit": "1.4 GiB"}`'
