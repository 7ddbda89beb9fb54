"""Writes what a night of Dask tasks has left in Airflow's database, as copies of real rows.

    python airflow_nights.py RUN_ID

writes 40 DAG runs with 400 tasks, of which 60 have failed of six causes, from the rows of a DAG run
whose task was recorded, into the database of this environment's Airflow.
"""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from airflow_dask_blackbox.causes import Cause

__all__ = ["CAUSES", "GOOD", "Night", "Rows", "failed", "forty_dags"]

CAUSES = (
    Cause(
        "task-exception",
        "KeyError in 'price': 'unit_price'",
        "Look at `prices.py:14`: the column is `unitPrice` in the newest orders.",
        "code",
        3,
    ),
    Cause(
        "task-exception",
        "ValueError in 'price': negative amount",
        "Look at `prices.py:21`, where the amount is checked.",
        "code",
        1,
    ),
    Cause(
        "task-exception",
        "OSError in 'load': access denied to s3://lake/orders",
        "Grant `s3:GetObject` on `lake/orders/*` to the role of the tasks.",
        "environment",
        7,
    ),
    Cause(
        "worker-memory-limit",
        "Workers exceeded their memory limit of 600 MiB in 'merge'",
        "Give each worker at least 1.2 GiB. To paste into nightly.py, task 'join': "
        '`cluster_kwargs={"memory_limit": "1.2 GiB"}`.',
        "memory",
        2,
    ),
    Cause(
        "workers-never-arrived",
        "No worker arrived within 300 s",
        "Start more nodes, or ask for smaller workers.",
        "transient",
        1,
    ),
    Cause(
        "environment-mismatch",
        "ModuleNotFoundError on the workers: pyproj",
        "Install `pyproj` in the image of the workers.",
        "environment",
        1,
    ),
)
GOOD = {"state": "succeeded", "headline": "Succeeded in 9 s"}


def failed(cause: Cause, **more: Any) -> dict[str, Any]:
    """Return what a task publishes that failed of a cause."""
    said = {"state": "failed", "headline": cause.title, "cause": cause._asdict()}
    return {**said, **more}


class Rows(NamedTuple):
    """A row of each table, as Airflow itself has written it."""

    run: dict[str, Any]
    instance: dict[str, Any]
    xcom: dict[str, Any]

    @classmethod
    def of(cls, run_id: str) -> Rows:
        """Return those of a DAG run with one recorded task."""
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import TaskInstance
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        found: list[dict[str, Any]] = []
        with create_session() as session:
            for model in (DagRun, TaskInstance, XComModel):
                table = model.__table__
                query = select(table).where(table.c.run_id == run_id)
                if model is XComModel:
                    query = query.where(table.c.key == "dask_recording")
                found.append(dict(session.execute(query).mappings().one()))
        known = xcoms().c  # since Airflow 3.4, less than the view that is read
        found[2] = {name: each for name, each in found[2].items() if name in known}
        return cls(*found)


def xcoms() -> Any:
    """Return the table that XComs are written to: since Airflow 3.4, that of tries."""
    from airflow.models import xcom

    return getattr(xcom, "XComModelV2", xcom.XComModel).__table__


class Night:
    """Writes what tasks have left in Airflow's database."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._new: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        self._number = 10_000
        self.run_ids: set[str] = set()

    def run(self, dag_id: str, run_id: str = "r1", state: str = "success") -> None:
        """Add a DAG run; the next tasks are its own."""
        self._number += 1
        now = datetime.now(UTC)
        self._new[0].append(
            {
                **self._rows.run,
                "id": self._number,
                "dag_id": dag_id,
                "run_id": run_id,
                "state": state,
                "logical_date": now + timedelta(microseconds=self._number),
                "run_after": now,
                "start_date": now,
                "end_date": now,
            }
        )
        self._at = (dag_id, run_id)
        self.run_ids.add(run_id)

    def task(
        self,
        task_id: str,
        said: dict[str, Any] | None,
        *,
        state: str = "success",
        index: int = -1,
        **columns: Any,
    ) -> None:
        """Add a task instance, with what it said of its recording."""
        now = datetime.now(UTC)
        dag_id, run_id = self._at
        # Since Airflow 3.4, the index of a mapped task is one of a region.
        of_index = "map_index" if "map_index" in self._rows.instance else "region_index"
        at = {
            "dag_id": dag_id,
            "run_id": run_id,
            "task_id": task_id,
            of_index: index,
        }
        of_try = uuid.uuid4()
        self._new[1].append(
            {
                **self._rows.instance,
                **at,
                "id": of_try,
                "state": state,
                "start_date": now,
                "end_date": now + timedelta(seconds=9),
                **columns,
            }
        )
        if said is not None:
            owner = {
                **at,
                "id": uuid.uuid4(),
                "task_instance_id": of_try,
                "dag_run_id": self._number,
            }
            own = {name: each for name, each in owner.items() if name in xcoms().c}
            self._new[2].append(
                {**self._rows.xcom, **own, "value": said, "timestamp": now}
            )

    def write(self) -> None:
        """Write what was added."""
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session
        from sqlalchemy import insert

        with create_session() as session:
            tables = (DagRun.__table__, TaskInstance.__table__, xcoms())
            for table, new in zip(tables, self._new, strict=True):
                if new:
                    session.execute(insert(table), new)
                new.clear()

    def remove(self) -> None:
        """Remove what was written."""
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session
        from sqlalchemy import delete, select

        with create_session() as session:
            known, tries = xcoms(), TaskInstance.__table__
            of_runs = tries.c.run_id.in_(self.run_ids)
            if "task_instance_id" in known.c:
                mine = known.c.task_instance_id.in_(select(tries.c.id).where(of_runs))
            else:
                mine = known.c.run_id.in_(self.run_ids)
            session.execute(delete(known).where(mine))
            for table in (tries, DagRun.__table__):
                session.execute(delete(table).where(table.c.run_id.in_(self.run_ids)))


def forty_dags(night: Night, run_id: str = "r1") -> None:
    """Write 400 tasks of 40 DAGs: 60 failed, of six causes."""
    number = 0
    for dag in range(40):
        fails = number < 60
        night.run(f"dag_{dag:02d}", run_id, "failed" if fails else "success")
        for task in range(10):
            if fails and task < 2:
                cause = CAUSES[number % len(CAUSES)]
                own = f"dag_{dag:02d}.py, task 't{task}'"
                remedy = cause.remedy.replace("nightly.py, task 'join'", own)
                cause = cause._replace(remedy=remedy)
                night.task(f"t{task}", failed(cause), state="failed")
                number += 1
            else:
                night.task(f"t{task}", GOOD)
        if fails:
            night.task("publish", None, state="upstream_failed")
    night.write()


if __name__ == "__main__":
    forty_dags(Night(Rows.of(sys.argv[1])), "night")
