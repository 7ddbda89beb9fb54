"""Who may see a page: users who may read the logs of the DAG's tasks in Airflow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, HTTPException, Request

from airflow_dask_blackbox.addresses import base_path

__all__ = ["MAY_READ", "User", "login_address", "readable"]

MAY_READ: Final = Depends(requires_access_dag("GET", DagAccessEntity.TASK_LOGS))
"""For routes with `{dag_id}` in their path: a recording holds log lines, as a log does."""


User = GetUserDep
"""For routes about several DAGs: who asks; what they may see is for `readable` to say."""

_may_read: Final = requires_access_dag("GET", DagAccessEntity.TASK_LOGS)


def readable(user: Any, dag_ids: Iterable[str]) -> frozenset[str]:
    """Return those DAGs of which somebody may read the logs of tasks."""
    return frozenset(each for each in dag_ids if _is_readable(user, each))


def _is_readable(user: Any, dag_id: str) -> bool:
    # The same question as on a page about one DAG, where the DAG is in the path.
    scope = {"type": "http", "path_params": {"dag_id": dag_id}, "query_string": b""}
    try:
        _may_read(Request(scope), user)
    except HTTPException:
        return False
    return True


def login_address(request: Request) -> str:
    """Return where somebody logs in to come back to this page."""
    query = request.scope["query_string"].decode("ascii", "replace")
    path = str(request.scope["path"])
    here = path if path.startswith(base_path()) else base_path() + path
    here = quote(here, safe="/") + (f"?{query}" if query else "")
    login = get_auth_manager().get_url_login(next_url=here)
    if "next=" in login:
        return login
    # Airflow 3.1's own managers leave it to whoever asks.
    return f"{login}{'&' if '?' in login else '?'}{urlencode({'next': here})}"
