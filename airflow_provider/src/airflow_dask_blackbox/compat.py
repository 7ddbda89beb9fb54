"""Names of Airflow that moved between 3.1 and 3.3: one place to import them from."""

from __future__ import annotations

from importlib import import_module
from typing import Final

try:
    from airflow.sdk.configuration import conf
except ImportError:  # Airflow 3.1
    from airflow.configuration import conf

try:
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
except ImportError:  # Airflow 3.1 has them in its core only
    from airflow.exceptions import (  # type: ignore[no-redef,attr-defined]
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )

_SIGNALS: Final = (
    "AirflowRescheduleException",
    "AirflowSkipException",
    "DagRunTriggerException",
    "DownstreamTasksSkipped",
    "TaskAwaitingInput",  # Airflow 3.3
    "TaskDeferred",
)


def _signals() -> tuple[type[BaseException], ...]:
    modules = [import_module(f"airflow{each}.exceptions") for each in (".sdk", "")]
    found = (
        next((getattr(each, name) for each in modules if hasattr(each, name)), None)
        for name in _SIGNALS
    )
    return tuple(each for each in found if each is not None)


SIGNALS: Final = _signals()
"""Exceptions by which a task tells Airflow what comes next; none of them is a failure."""

__all__ = [
    "SIGNALS",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowRescheduleException",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "conf",
]
