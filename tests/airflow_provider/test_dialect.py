"""The recorder puts remedies in Airflow's terms."""

from __future__ import annotations

from dask_blackbox.dialect import dialect_of


def test_worker_processes_that_import_airflow_have_airflows_remedy() -> None:
    said = dialect_of("airflow").remedy("sql_alchemy_conn: airflow-db-not-allowed:///")

    assert said is not None
    assert "`@task.dask_observed`" in said
