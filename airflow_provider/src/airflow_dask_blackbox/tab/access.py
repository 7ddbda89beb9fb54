"""Who may see a page: users who may read the logs of the DAG's tasks in Airflow."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, Request

from airflow_dask_blackbox.addresses import base_path

__all__ = ["MAY_READ", "login_address"]

MAY_READ: Final = Depends(requires_access_dag("GET", DagAccessEntity.TASK_LOGS))
"""For routes with `{dag_id}` in their path: a recording holds log lines, as a log does."""


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
