"""What older versions of Airflow lack, for tests that need it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

__all__ = [
    "earlier_tries_of",
    "needs_exception_in_callbacks",
    "needs_form_fields",
    "needs_openlineage",
]

_AIRFLOW = tuple(
    int(part) for part in metadata.version("apache-airflow").split(".")[:2]
)
_BEFORE_3_2 = _AIRFLOW < (3, 2)
_BEFORE_3_3 = _AIRFLOW < (3, 3)

needs_exception_in_callbacks = pytest.mark.skipif(
    _BEFORE_3_3,
    reason="the callbacks of dag.test() get no exception before Airflow 3.3",
)
needs_form_fields = pytest.mark.skipif(
    _BEFORE_3_2,
    reason="Airflow 3.1 shows the fields of a form only where wtforms is installed",
)
needs_openlineage = pytest.mark.skipif(
    _BEFORE_3_2,
    reason="dag.test() of Airflow 3.1 calls no listeners when a task has failed",
)


def earlier_tries_of(run_id: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the model that has the earlier tries of a DAG run, and the condition for them."""
    try:
        from airflow.models.taskinstancehistory import TaskInstanceHistory
    except ImportError:  # since Airflow 3.4, each try is a row of the one table
        from airflow.models.taskinstance import TaskInstance

        live: Any = TaskInstance.working_set
        return TaskInstance, (TaskInstance.run_id == run_id, live.is_(None))
    return TaskInstanceHistory, (TaskInstanceHistory.run_id == run_id,)
