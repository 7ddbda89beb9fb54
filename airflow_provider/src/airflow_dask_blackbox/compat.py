"""Names of Airflow that moved between 3.1 and 3.3: one place to import them from."""

from __future__ import annotations

try:
    from airflow.sdk.configuration import conf
except ImportError:  # Airflow 3.1
    from airflow.configuration import conf

try:
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
except ImportError:  # Airflow 3.1 has them in its core only
    from airflow.exceptions import (  # type: ignore[no-redef,attr-defined]
        AirflowException,
        AirflowFailException,
        AirflowRescheduleException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowRescheduleException",
    "AirflowSkipException",
    "AirflowTaskTimeout",
    "conf",
]
