"""What older versions of Airflow lack, for tests that need it."""

from __future__ import annotations

from importlib import metadata

import pytest

__all__ = ["needs_exception_in_callbacks", "needs_form_fields", "needs_openlineage"]

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
