"""Where the Dask run of a task is shown in Airflow: known before anything is recorded.

These addresses never expire and never name a bucket; who opens one is asked by Airflow for
a login, and for permission to read the DAG's logs.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from airflow.configuration import conf

from airflow_dask_blackbox.unavailable import PREFIX

__all__ = [
    "PREFIX",
    "ROUTE",
    "RUNS_ROUTE",
    "TaskKey",
    "base_path",
    "links_lead_to_store",
    "log_of",
    "on_this_server",
    "page_of",
    "runs_of",
    "runs_page",
    "runs_page_of",
    "tab_of",
]

ROUTE: Final = "dask-run"
"""The tab of a task instance, as Airflow's pages name it in their addresses."""
RUNS_ROUTE: Final = "dask-runs-of-run"
"""The tab of a DAG run."""


class TaskKey(NamedTuple):
    """Which task instance, whatever its try.

    Attributes:
        dag_id: Its DAG.
        run_id: Its DAG run.
        task_id: Its task.
        map_index: Which instance of a mapped task; -1: it is not mapped.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1

    @classmethod
    def of(cls, ti: Any) -> TaskKey:
        """Return the key of a task instance, as Airflow has it in a task or in its database."""
        map_index = -1 if ti.map_index is None else int(ti.map_index)
        return cls(ti.dag_id, ti.run_id, ti.task_id, map_index)


def base_url() -> str:
    """Return the address that Airflow's pages are at, without a trailing slash; empty if nobody said."""
    return str(conf.get("api", "base_url", fallback="") or "").rstrip("/")


def base_path() -> str:
    """Return the path before every address on the API server, without a trailing slash."""
    return urlsplit(base_url()).path.rstrip("/")


def on_this_server(address: str) -> str:
    """Return an address for a button, which Airflow stores and shows on its own pages.

    One of the API server is relative to its base URL: it stays right when that changes.
    """
    return address.removeprefix(f"{base_url()}/")


def links_lead_to_store() -> bool:
    """Return whether `links` in section `[dask_blackbox]` asks for addresses in the store."""
    return bool(conf.get("dask_blackbox", "links", fallback="airflow") == "store")


def tab_of(key: TaskKey, try_number: int | None = None) -> str:
    """Return the address of a task instance's page with the tab "Dask run" open.

    Args:
        key: Which task instance.
        try_number: Of which try; None: the newest.
    """
    mapped = ("mapped", str(key.map_index)) if key.map_index >= 0 else ()
    place = _place(
        *("dags", key.dag_id, "runs", key.run_id, "tasks", key.task_id),
        *(*mapped, "plugin", ROUTE),
    )
    query = "" if try_number is None else f"?try_number={try_number}"
    return f"{base_url()}/{place}{query}"


def runs_of(dag_id: str, run_id: str) -> str:
    """Return the address of a DAG run's page with the tab "Dask runs" open."""
    return (
        f"{base_url()}/{_place('dags', dag_id, 'runs', run_id, 'plugin', RUNS_ROUTE)}"
    )


def page_of(key: TaskKey, page: str, **more: object) -> str:
    """Return the address of one of our own pages on a task instance.

    Args:
        key: Which task instance.
        page: `task`, `report.html`, `performance_report.html`, …
        more: Of its query; None is left out.
    """
    query = {
        "run_id": key.run_id,
        "task_id": key.task_id,
        "map_index": key.map_index,
        **{name: value for name, value in more.items() if value is not None},
    }
    dag = quote(key.dag_id, safe="")
    return f"{base_url()}{PREFIX}/dags/{dag}/{page}?{urlencode(query)}"


def runs_page(**query: object) -> str:
    """Return the address of our page on the Dask runs of all DAGs."""
    return f"{base_url()}{PREFIX}/runs?{urlencode(query)}"


def runs_page_of(dag_id: str, **query: object) -> str:
    """Return the address of our page on the Dask runs of a DAG.

    Args:
        dag_id: Which DAG.
        query: What to show; what is empty is left out.
    """
    asked = urlencode({name: value for name, value in query.items() if value})
    place = f"{base_url()}{PREFIX}/dags/{quote(dag_id, safe='')}/runs"
    return f"{place}?{asked}" if asked else place


def log_of(key: TaskKey, try_number: int) -> str:
    """Return where Airflow's API has the log of a task instance.

    Args:
        key: Which task instance.
        try_number: Of which try.
    """
    place = _place(
        *("dags", key.dag_id, "dagRuns", key.run_id),
        *("taskInstances", key.task_id, "logs", str(try_number)),
    )
    return f"{base_url()}/api/v2/{place}?map_index={key.map_index}"


def _place(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)
