"""How long Airflow's page about all DAGs takes with very many Dask runs, on PostgreSQL.

    .venvs/airflow/bin/python benchmarks/airflow_pages.py [--runs 10000] [--rounds 5]

A task is run, and its rows in Airflow's database are copied under other names: DAG runs of 40 DAGs
with 25 tasks each, of which one in seven has failed, of six causes.  Each page is then requested
from Airflow's own application in this process, first cold and then so many times, by an
administrator, with an auth manager that decides for each DAG.

On a machine with other work, the CPU time of both processes, which take turns, is what the page takes
on an idle one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from postgresql_server import (  # noqa: E402 - it is for tests too
    postgresql_programs,
    postgresql_server,
)

DAG = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.python import PythonOperator

with DAG("template_of_rows"):
    PythonOperator(task_id="work", python_callable=print)
"""
DAGS, TASKS = 40, 25


def configure(home: Path, database: str) -> None:
    """Set up an Airflow, which reads its configuration when it is imported."""
    (home / "dags").mkdir()
    (home / "dags" / "template.py").write_text(DAG)
    os.environ.update(
        AIRFLOW_HOME=str(home),
        AIRFLOW__API__BASE_URL="http://airflow.example",
        AIRFLOW__API_AUTH__JWT_SECRET="of-benchmarks-only" * 6,
        AIRFLOW__CORE__AUTH_MANAGER="per_dag_auth.PerDagAuthManager",
        AIRFLOW__CORE__DAGS_FOLDER=str(home / "dags"),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=database,
        AIRFLOW__LOGGING__LOGGING_LEVEL="ERROR",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow.utils.db import initdb

        initdb()


def fill(home: Path, number: int) -> None:
    """Write the rows of so many Dask runs."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.xcom import XComModel
    from airflow_nights import CAUSES, GOOD, Night, Rows, failed

    bag = DagBag(str(home / "dags" / "template.py"))
    run = bag.dags["template_of_rows"].test()
    known = {"dag_id": run.dag_id, "task_id": "work", "run_id": run.run_id}
    XComModel.set(key="dask_recording", value={}, **known)
    night = Night(Rows.of(run.run_id))
    for n in range(number):
        if n % TASKS == 0:
            dag_run, dag = divmod(n // TASKS, DAGS)
            night.run(f"dag_{dag:02d}", f"night_{dag_run:03d}")
        if n % 7:
            night.task(f"t{n % TASKS}", GOOD)
        else:
            cause = CAUSES[n // 7 % len(CAUSES)]
            night.task(f"t{n % TASKS}", failed(cause), state="failed")
    night.write()


def client() -> Any:
    """Return an administrator's client of Airflow's application."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    app = create_app(apps="core")
    user = SimpleAuthManagerUser(username="ada", role="admin")
    token = get_auth_manager().generate_jwt(user)
    headers = {"Authorization": f"Bearer {token}"}
    return TestClient(app, base_url="http://airflow.example", headers=headers)


def of_database(url: str) -> psutil.Process:
    """Return the first process of the database at an address, the parent of the others."""
    port = urlsplit(url).port
    found = (
        each.pid
        for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == port and each.status == psutil.CONN_LISTEN
    )
    return psutil.Process(next(found))


def used_by(parent: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children."""
    times = [each.cpu_times() for each in (parent, *parent.children())]
    return sum(each.user + each.system for each in times)


def measured(http: Any, path: str, rounds: int, database: str) -> Iterator[str]:
    """Yield what a page takes, as cells of a table."""
    walls, own, theirs, size = [], [], [], 0
    server = of_database(database)
    for _ in range(rounds + 1):
        begun, cpu, other = time.perf_counter(), time.process_time(), used_by(server)
        answer = http.get(f"/dask-blackbox/{path}")
        walls.append(time.perf_counter() - begun)
        own.append(time.process_time() - cpu)
        theirs.append(used_by(server) - other)
        if answer.status_code != 200:  # noqa: PLR2004 - OK
            raise SystemExit(f"{path}: {answer.status_code}")
        size = len(answer.content)
    yield f"`{path}`"
    yield f"{walls[0]:.2f} s"
    for times in (walls, own, theirs):
        yield f"{statistics.median(times[1:]):.2f} s"
    yield f"{size:,}"


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    programs = postgresql_programs()
    if programs is None:
        raise SystemExit("PostgreSQL is not installed")
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = stack.enter_context(postgresql_server(programs))
        configure(home, database)
        fill(home, asked.runs)
        http = stack.enter_context(client())
        print(
            f"| {asked.runs:,} runs | first | median | CPU | PostgreSQL's CPU | bytes |"
        )
        print("|---|---|---|---|---|---|")
        for path in ("runs", "runs?show=failed", "runs.json", "dags/dag_00/runs"):
            cells = measured(http, path, asked.rounds, database)
            print(f"| {' | '.join(cells)} |", flush=True)
        shown = http.get("/dask-blackbox/runs.json?dag=dag_").json()["counts"]
        if sum(shown.values()) != asked.runs:
            raise SystemExit(f"not all runs are on the page: {shown}")


if __name__ == "__main__":
    main()
