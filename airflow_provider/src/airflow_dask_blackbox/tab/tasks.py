"""A task instance in Airflow's database: its tries, and where they recorded to."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NamedTuple

from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.links import RECORDING_KEY
from airflow_dask_blackbox.tab.tries import (
    belongs_to_instance,
    earlier_tries,
    is_instance,
)

__all__ = ["Announced", "TaskSeen", "TrySeen", "announced_in", "task_seen"]

_BEGUN: Final = frozenset(
    {"running", "success", "failed", "restarting", "up_for_retry", "up_for_reschedule"}
)
_ENDED: Final = frozenset(
    {"success", "failed", "skipped", "upstream_failed", "removed"}
)
_GOING_ON: Final = frozenset({"running", "restarting"})
_OURS: Final = frozenset({"DaskObservedOperator", "@task.dask_observed"})
_MOST_RECORDINGS: Final = 20
_FROM_FIELDS: Final = ("store", "store_conn_id", "job")


class TrySeen(NamedTuple):
    """A try of a task instance, as Airflow knows it.

    Attributes:
        number: Which, from 1.
        state: Airflow's word.
        started: Epoch seconds.
        ended: Epoch seconds.
    """

    number: int
    state: str
    started: float | None
    ended: float | None

    @property
    def goes_on(self) -> bool:
        """Whether Airflow believes that it runs."""
        return self.state in _GOING_ON


class TaskSeen(NamedTuple):
    """A task instance, as Airflow knows it.

    Attributes:
        key: Which.
        state: Airflow's word; empty before it is scheduled.
        operator: Class of its operator, or name of its decorator.
        tries: Those that have begun, the first first.
        announced: What the task itself said of its recording; empty if nothing.
        others: What recordings said that its own code makes, the newest first.
    """

    key: TaskKey
    state: str
    operator: str
    tries: tuple[TrySeen, ...]
    announced: dict[str, object]
    others: tuple[dict[str, object], ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether its state may change without anybody doing anything."""
        return self.state not in _ENDED

    @property
    def is_ours(self) -> bool:
        """Whether a Dask run is to be expected here."""
        return bool(self.announced or self.others) or self.operator in _OURS


class Announced(NamedTuple):
    """A recording that a task instance said where it goes to.

    Attributes:
        key: Which task instance.
        name: Of its XCom.
        task_state: Airflow's word for how it is.
        started: Epoch seconds.
        ended: Epoch seconds.
        try_number: Its newest try.
        announced: The facts that it announced.
    """

    key: TaskKey
    name: str
    task_state: str
    started: float | None
    ended: float | None
    try_number: int
    announced: dict[str, object]


def task_seen(key: TaskKey) -> TaskSeen | None:
    """Return what Airflow knows of a task instance; None if there is no such thing."""
    of = TaskInstance
    with create_session() as session:
        found = session.execute(
            select(
                of.state,
                of.operator,
                of.custom_operator_name,
                of.try_number,
                of.start_date,
                of.end_date,
            ).where(is_instance(of, key))
        ).first()
        if found is None:
            return None
        state, operator, custom, number, started, ended = found
        earlier = session.execute(earlier_tries(key))
        tries = {row[0]: _try(*row) for row in earlier}
        if state in _BEGUN or started is not None:
            tries[number] = _try(number, state, started, ended)
        announced, others = _announced(session, key)
        return TaskSeen(
            key=key,
            state=state or "",
            operator=custom or operator or "",
            tries=tuple(tries[number] for number in sorted(tries)),
            announced=announced,
            others=others,
        )


def _try(
    number: int, state: str | None, started: datetime | None, ended: datetime | None
) -> TrySeen:
    return TrySeen(number, state or "", _epoch(started), _epoch(ended))


def _epoch(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _announced(
    session: Any, key: TaskKey
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """Return what the task said of its recording, and what others in it said.

    An operator that could not say it is believed by its arguments.
    """
    of = XComModel
    reported = session.execute(
        select(of.key, of.value)
        .join(TaskInstance, belongs_to_instance(of))
        .where(
            is_instance(TaskInstance, key),
            of.key.startswith(RECORDING_KEY, autoescape=True),
        )
        .order_by(of.timestamp.desc())
        .limit(_MOST_RECORDINGS)
    )
    pushed = {name: known for name, value in reported if (known := _as_dict(value))}
    own = pushed.pop(RECORDING_KEY, None)
    return own or _given(session, key), tuple(pushed.values())


def _given(session: Any, key: TaskKey) -> dict[str, Any]:
    """Return what the task's operator was given, if it is one of ours."""
    of = RenderedTaskInstanceFields
    fields = session.scalar(
        select(of.rendered_fields)
        .join(TaskInstance, belongs_to_instance(of))
        .where(is_instance(TaskInstance, key))
    )
    given = _as_dict(fields)
    if "store_conn_id" not in given:  # another operator's
        return {}
    return {
        name: given[name]
        for name in _FROM_FIELDS
        if isinstance(given.get(name), str) and given[name]
    }


def announced_in(
    dag_id: str, *, run_id: str = "", task_id: str = "", most: int = 300
) -> list[Announced]:
    """Return what task instances of a DAG said of their recordings, the newest first.

    Args:
        dag_id: Which DAG.
        run_id: Of this run only.
        task_id: Of this task only.
        most: How many to look at.
    """
    xcom, ti = XComModel, TaskInstance
    asked = (
        select(
            xcom.run_id,
            xcom.task_id,
            xcom.map_index,
            ti.state,
            ti.start_date,
            ti.end_date,
            ti.try_number,
            xcom.key,
            xcom.value,
        )
        .join(ti, belongs_to_instance(xcom))
        .where(
            xcom.dag_id == dag_id,
            xcom.key.startswith(RECORDING_KEY, autoescape=True),
        )
        .order_by(xcom.timestamp.desc())
        .limit(most)
    )
    if run_id:
        asked = asked.where(xcom.run_id == run_id)
    if task_id:
        asked = asked.where(xcom.task_id == task_id)
    with create_session() as session:
        return [
            Announced(
                key=TaskKey(dag_id, run, task, index),
                name=name,
                task_state=state or "",
                started=_epoch(started),
                ended=_epoch(ended),
                try_number=number,
                announced=_as_dict(value),
            )
            for (
                run,
                task,
                index,
                state,
                started,
                ended,
                number,
                name,
                value,
            ) in session.execute(asked)
        ]


def _as_dict(value: object) -> dict[str, object]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
