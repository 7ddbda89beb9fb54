"""A task instance in Airflow's database: its tries, and where they recorded to."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final, NamedTuple

from airflow.models.asset import (
    AssetModel,
    DagScheduleAssetReference,
    TaskOutletAssetReference,
)
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import exists, literal, select

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.links import RECORDING_KEY
from airflow_dask_blackbox.tab.tries import (
    belongs_to_instance,
    earlier_tries,
    is_instance,
)

__all__ = [
    "Announced",
    "AssetSeen",
    "TaskSeen",
    "TrySeen",
    "announced_in",
    "announced_since",
    "assets_of",
    "blocked_in",
    "task_seen",
    "unannounced_since",
]

_BEGUN: Final = frozenset(
    {"running", "success", "failed", "restarting", "up_for_retry", "up_for_reschedule"}
)
_ENDED: Final = frozenset(
    {"success", "failed", "skipped", "upstream_failed", "removed"}
)
_GOING_ON: Final = frozenset({"running", "restarting"})
_OURS: Final = frozenset({"DaskObservedOperator", "@task.dask_observed"})
_MOST_RECORDINGS: Final = 20
_ENDED_BY_SCHEDULER: Final = (
    "state mismatch",
    "heartbeat timeout",
    "stuck in queued tries exceeded",
)
"""Events that Airflow's scheduler logs of a try which did not report its own end."""
_LONGEST_REASON: Final = 1_000
_MOST_NAMED: Final = 500
"""DAGs, or DAG runs, whose ids are in one query."""
_AFTER_OURS: Final = RECORDING_KEY[:-1] + chr(ord(RECORDING_KEY[-1]) + 1)
"""The first key behind ours: unlike a pattern, it lets every database use its index."""
_FROM_FIELDS: Final = ("store", "store_conn_id", "job")


class TrySeen(NamedTuple):
    """A try of a task instance, as Airflow knows it.

    Attributes:
        number: Which, from 1.
        state: Airflow's word.
        started: Epoch seconds.
        ended: Epoch seconds.
        ended_for: Why the scheduler or the executor ended it, as Airflow's event log has it;
            empty: neither did.
    """

    number: int
    state: str
    started: float | None
    ended: float | None
    ended_for: str = ""

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
        label: What Airflow's pages call an instance of a mapped task; empty: its index.
    """

    key: TaskKey
    name: str
    task_state: str
    started: float | None
    ended: float | None
    try_number: int
    announced: dict[str, object]
    label: str = ""


class AssetSeen(NamedTuple):
    """An asset that a task updates.

    Attributes:
        uri: Which.
        dags: DAGs that are scheduled by it.
    """

    uri: str
    dags: tuple[str, ...]


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
        reasons = _ended_for(session, key)
        return TaskSeen(
            key=key,
            state=state or "",
            operator=custom or operator or "",
            tries=tuple(
                tries[number]._replace(ended_for=reasons.get(number, ""))
                for number in sorted(tries)
            ),
            announced=announced,
            others=others,
        )


def _try(
    number: int, state: str | None, started: datetime | None, ended: datetime | None
) -> TrySeen:
    return TrySeen(number, state or "", _epoch(started), _epoch(ended))


def _ended_for(session: Any, key: TaskKey) -> dict[int, str]:
    """Return why the scheduler or the executor ended tries, by their number."""
    of = Log
    found = session.execute(
        select(of.try_number, of.event, of.extra)
        .where(is_instance(of, key), of.event.in_(_ENDED_BY_SCHEDULER))
        .order_by(of.id.desc())
        .limit(_MOST_RECORDINGS)
    )
    return {
        number: f"{event}: {extra or ''}"[:_LONGEST_REASON].rstrip(": ")
        for number, event, extra in reversed(found.all())
        if number is not None
    }


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


def announced_since(since: datetime, *, dag: str = "", most: int) -> list[Announced]:
    """Return what tasks of all DAGs said of their recordings, the newest first.

    Args:
        since: Of this moment or later.
        dag: Of DAGs whose id contains this.
        most: How many to look at.
    """
    xcom = XComModel
    asked = _announcements().where(
        xcom.key >= RECORDING_KEY, xcom.key < _AFTER_OURS, xcom.timestamp >= since
    )
    if dag:
        asked = asked.where(xcom.dag_id.contains(dag, autoescape=True))
    return _all(asked.limit(most))


def unannounced_since(since: datetime, dag: str, most: int) -> list[Announced]:
    """Return tasks of our operators that ended without having said anything.

    Args:
        since: That started at this moment or later.
        dag: Of DAGs whose id contains this.
        most: How many to look at.
    """
    ti, xcom, run = TaskInstance, XComModel, DagRun
    silent = ~exists().where(belongs_to_instance(xcom), xcom.key == RECORDING_KEY)
    asked = (
        select(
            ti.dag_id,
            ti.run_id,
            ti.task_id,
            ti.map_index,
            ti.state,
            ti.start_date,
            ti.end_date,
            ti.try_number,
            ti._rendered_map_index,  # noqa: SLF001 - the column behind the property
            literal(""),
            literal(None),
        )
        .join(run, (run.dag_id == ti.dag_id) & (run.run_id == ti.run_id))
        .where(
            (run.end_date.is_(None)) | (run.end_date >= since),
            ti.start_date >= since,
            ti.state.in_(("success", "failed", "up_for_retry")),
            ti.operator.in_(_OURS) | ti.custom_operator_name.in_(_OURS),
            silent,
        )
        .limit(most)
    )
    if dag:
        asked = asked.where(ti.dag_id.contains(dag, autoescape=True))
    return _all(asked)


def blocked_in(
    dag_runs: Collection[tuple[str, str]],
) -> dict[tuple[str, str], list[str]]:
    """Return the tasks that cannot run because others failed, by DAG and DAG run."""
    ti = TaskInstance
    found: dict[tuple[str, str], list[str]] = {}
    runs = sorted({run for _, run in dag_runs})
    with create_session() as session:
        for first in range(0, len(runs), _MOST_NAMED):
            asked = (
                select(ti.dag_id, ti.run_id, ti.task_id)
                .where(
                    ti.state == "upstream_failed",
                    ti.run_id.in_(runs[first : first + _MOST_NAMED]),
                    ti.dag_id.in_({dag for dag, _ in dag_runs}),
                )
                .distinct()
                .order_by(ti.dag_id, ti.run_id, ti.task_id)
            )
            for dag_id, run_id, task_id in session.execute(asked):
                if (dag_id, run_id) in dag_runs:
                    found.setdefault((dag_id, run_id), []).append(task_id)
    return found


def assets_of(dag_ids: Collection[str]) -> dict[tuple[str, str], list[AssetSeen]]:
    """Return the assets that the tasks of DAGs update, by DAG and task."""
    outlet, asset, user = (
        TaskOutletAssetReference,
        AssetModel,
        DagScheduleAssetReference,
    )
    asked = (
        select(outlet.dag_id, outlet.task_id, asset.uri, user.dag_id)
        .join(asset, asset.id == outlet.asset_id)
        .outerjoin(user, user.asset_id == asset.id)
        .where(outlet.dag_id.in_(sorted(dag_ids)[:_MOST_NAMED]))
    )
    users: dict[tuple[str, str, str], list[str]] = {}
    with create_session() as session:
        for dag_id, task_id, uri, started in session.execute(asked):
            users.setdefault((dag_id, task_id, uri), []).extend(filter(None, [started]))
    found: dict[tuple[str, str], list[AssetSeen]] = {}
    for (dag_id, task_id, uri), dags in users.items():
        seen = AssetSeen(uri, tuple(sorted(dags)))
        found.setdefault((dag_id, task_id), []).append(seen)
    return found


def announced_in(
    dag_id: str, *, run_id: str = "", task_id: str = "", most: int
) -> list[Announced]:
    """Return what task instances of a DAG said of their recordings, the newest first.

    Args:
        dag_id: Which DAG.
        run_id: Of this run only.
        task_id: Of this task only.
        most: How many to look at.
    """
    xcom = XComModel
    asked = _announcements().where(
        xcom.dag_id == dag_id, xcom.key.startswith(RECORDING_KEY, autoescape=True)
    )
    if run_id:
        asked = asked.where(xcom.run_id == run_id)
    if task_id:
        asked = asked.where(xcom.task_id == task_id)
    return _all(asked.limit(most))


def _announcements() -> Any:
    """Return the query of all announcements, the newest first."""
    xcom, ti = XComModel, TaskInstance
    return (
        select(
            xcom.dag_id,
            xcom.run_id,
            xcom.task_id,
            xcom.map_index,
            ti.state,
            ti.start_date,
            ti.end_date,
            ti.try_number,
            ti._rendered_map_index,  # noqa: SLF001 - the column behind the property
            xcom.key,
            xcom.value,
        )
        .join(ti, belongs_to_instance(xcom))
        .order_by(xcom.timestamp.desc())
    )


def _all(asked: Any) -> list[Announced]:
    with create_session() as session:
        return [
            Announced(
                key=TaskKey(dag, run, task, index),
                name=name,
                task_state=state or "",
                started=_epoch(started),
                ended=_epoch(ended),
                try_number=number,
                announced=_as_dict(value),
                label=label or "",
            )
            for (
                dag,
                run,
                task,
                index,
                state,
                started,
                ended,
                number,
                label,
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
