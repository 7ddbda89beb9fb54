"""The pages and what they read of Airflow's database, on PostgreSQL instead of SQLite."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READERS = ("test_all_dags.py", "test_tab.py", "test_dag_run_message.py")
"""Tests of what asks Airflow's database."""
pytestmark = pytest.mark.nightly


def _programs() -> Path | None:
    """Return the folder of the newest PostgreSQL of this machine."""
    debian = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    found = shutil.which("pg_ctl")
    return debian or (Path(found).parent if found is not None else None)


@pytest.fixture
def postgresql() -> Iterator[str]:
    """Start a PostgreSQL with an empty database; yield its URL."""
    programs = _programs()
    if programs is None:
        pytest.skip("NOT TESTED: Airflow on PostgreSQL, which is not installed")
    # It does not run as root.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        if user is not None:
            shutil.chown(folder, user)
        with closing(socket.create_server(("127.0.0.1", 0))) as probe:
            port = probe.getsockname()[1]
        data = f"{folder}/data"
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        control = [str(programs / "pg_ctl"), "-D", data]
        made = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "airflow"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, user=user)
        starting = [*control, "-w", "-o", options, "-l", f"{folder}/log", "start"]
        subprocess.run(starting, check=True, stdout=subprocess.DEVNULL, user=user)
        try:
            yield f"postgresql+psycopg2://airflow@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(
                [*control, "-m", "fast", "stop"],
                check=True,
                stdout=subprocess.DEVNULL,
                user=user,
            )


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
