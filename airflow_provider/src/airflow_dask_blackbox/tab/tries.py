"""Where Airflow's database keeps the tries of a task: what differs between 3.4 and before.

Before 3.4, a task instance has one row, whatever its try, XComs and rendered fields belong to that
row by its names, and earlier tries are in a table of their own.  Since 3.4 each try is a row of
`task_instance` and has an id, to which its XComs and fields belong; Airflow adds to each query that
only the newest try is wanted, unless the query says otherwise.
"""

from __future__ import annotations

from typing import Any, Final

from airflow.models.taskinstance import TaskInstance
from sqlalchemy import Select, and_, select

from airflow_dask_blackbox.addresses import TaskKey

__all__ = ["belongs_to_instance", "earlier_tries", "is_instance"]

_NAMES: Final = ("dag_id", "run_id", "task_id", "map_index")
_EACH_TRY_HAS_A_ROW: Final = hasattr(TaskInstance, "working_set")


def is_instance(model: Any, key: TaskKey) -> Any:
    """Return the condition that a row is of a task instance."""
    return and_(*(getattr(model, name) == getattr(key, name) for name in _NAMES))


def belongs_to_instance(model: Any) -> Any:
    """Return the condition that joins XComs or rendered fields to the newest try's row."""
    if _EACH_TRY_HAS_A_ROW:
        return model.task_instance_id == TaskInstance.id
    same = (getattr(model, name) == getattr(TaskInstance, name) for name in _NAMES)
    return and_(*same)


def earlier_tries(key: TaskKey) -> Select[Any]:
    """Return the query of number, state, start and end of all tries but the newest."""
    if _EACH_TRY_HAS_A_ROW:
        query = _tries(TaskInstance, key).where(TaskInstance.working_set.is_(None))
        return query.execution_options(include_all_attempts=True)
    from airflow.models.taskinstancehistory import TaskInstanceHistory

    return _tries(TaskInstanceHistory, key)


def _tries(model: Any, key: TaskKey) -> Select[Any]:
    columns = (model.try_number, model.state, model.start_date, model.end_date)
    return select(*columns).where(is_instance(model, key))
