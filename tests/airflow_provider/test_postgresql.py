"""The pages and what they read of Airflow's database, on PostgreSQL instead of SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql_server import postgresql_programs, postgresql_server

ROOT = Path(__file__).parents[2]
READERS = ("test_all_dags.py", "test_tab.py", "test_dag_run_message.py")
"""Tests of what asks Airflow's database."""
pytestmark = pytest.mark.nightly


@pytest.fixture
def postgresql() -> Iterator[str]:
    """Start a PostgreSQL with an empty database; yield its URL."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("NOT TESTED: Airflow on PostgreSQL, which is not installed")
    with postgresql_server(programs) as url:
        yield url


def test_what_reads_airflows_database_works_on_postgresql(postgresql: str) -> None:
    files = [str(Path(__file__).with_name(each)) for each in READERS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env={**os.environ, "DASK_BLACKBOX_TEST_DATABASE": postgresql},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-5_000:]
