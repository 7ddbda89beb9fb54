"""The recorder puts remedies in Airflow's terms."""

from __future__ import annotations

from copy import copy

import msgspec
import pytest
from dask_blackbox.analyse import verdict_in
from dask_blackbox.dialect import dialect_of
from dask_blackbox.formatting import size
from kept_recordings import kept_run


def test_worker_processes_that_import_airflow_have_airflows_remedy() -> None:
    said = dialect_of("airflow").remedy("sql_alchemy_conn: airflow-db-not-allowed:///")

    assert said is not None
    assert "`@task.dask_observed`" in said


@pytest.mark.parametrize(
    ("host", "line"),
    [
        (
            {"task_id": "bought_together", "dag_file": "out_of_memory.py"},
            (
                "To paste into out_of_memory.py, task 'bought_together': "
                '`cluster_kwargs={"memory_limit": "1.2 GiB"}`.'
            ),
        ),
        ({"task_id": "on_a_cluster_of_others"}, ""),
    ],
)
def test_the_memory_that_workers_need_is_a_line_to_paste(
    host: dict[str, str], line: str
) -> None:
    assert dialect_of("airflow").line_for_memory(int(1.2 * 2**30), host) == line


def test_the_remedy_on_the_card_ends_with_that_line() -> None:
    recorded = kept_run("one_compressed_file_does_not_fit")
    before = verdict_in(recorded)
    assert before is not None
    assert before.worker_memory is not None
    host = {"kind": "airflow", "task_id": "work", "dag_file": "nightly.py"}
    manifest = msgspec.structs.replace(recorded.manifest, host=host)
    in_airflow = copy(recorded)
    in_airflow.manifest = manifest

    after = verdict_in(in_airflow)

    assert after is not None
    assert after.remedy == (
        f"{before.remedy} To paste into nightly.py, task 'work': "
        f'`cluster_kwargs={{"memory_limit": "{size(before.worker_memory)}"}}`.'
    )
