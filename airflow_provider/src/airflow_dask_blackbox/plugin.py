"""The plugin that Airflow loads: the tab "Dask run" and the pages behind it.

Airflow imports this module in every one of its processes, tasks included, and asks for the
applications in its API server only: they are made when they are asked for.  Whatever of ours
fails then is replaced (`unavailable`): Airflow would not start otherwise.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

try:
    # Tasks load plugins, too, and have no business with the core.
    from airflow.sdk.plugins_manager import AirflowPlugin
except ImportError:  # Airflow 3.1 and 3.2
    from airflow.plugins_manager import AirflowPlugin  # type: ignore[assignment]

from airflow_dask_blackbox.macros import env
from airflow_dask_blackbox.unavailable import PREFIX, page_that_says, value_or

__all__ = ["DaskBlackboxPlugin"]

_TAB = 'the tab "Dask run"'


class DaskBlackboxPlugin(AirflowPlugin):
    """Shows the Dask runs of tasks, DAG runs and DAGs in Airflow's own pages."""

    name = "dask_blackbox"
    macros = (env,)  # type: ignore[assignment]

    @cached_property
    def fastapi_apps(self) -> list[object]:  # type: ignore[override]
        """The application that serves the pages, or one that says why they are not there."""
        app = value_or(page_that_says, _TAB, _application)
        return [{"app": app, "url_prefix": PREFIX, "name": "Dask runs"}]

    @cached_property
    def listeners(self) -> list[Any]:  # type: ignore[override]
        """What hears of tasks that begin, where every Dask client is to be recorded.

        Without that setting there is none: wherever any plugin has a listener, Airflow
        refuses DAGs whose tasks end in the triggerer.
        """
        return value_or(lambda _: [], "recording every Dask client", _listeners)

    @cached_property
    def external_views(self) -> list[Any]:  # type: ignore[override]
        """The tabs."""
        return value_or(lambda _: [], _TAB, _views)


def _application() -> Any:
    from airflow_dask_blackbox.tab.app import create_app

    return create_app()


def _listeners() -> list[Any]:
    from airflow_dask_blackbox.plain_tasks import is_switched_on

    if not is_switched_on():
        return []
    from airflow_dask_blackbox import listener

    return [listener]


def _views() -> list[Any]:
    from airflow_dask_blackbox.addresses import ROUTE, RUNS_ROUTE, base_path

    dag = f"{base_path()}{PREFIX}/dags/{{DAG_ID}}"
    icon = f"{base_path()}{PREFIX}/static/mark.svg"
    task = "run_id={RUN_ID}&task_id={TASK_ID}&map_index={MAP_INDEX}"
    tabs = (
        ("Dask run", "task_instance", ROUTE, f"{dag}/task?{task}"),
        ("Dask runs", "dag_run", RUNS_ROUTE, f"{dag}/runs?run_id={{RUN_ID}}"),
        ("Dask runs", "dag", "dask-runs", f"{dag}/runs"),
        ("Dask runs", "task", "dask-runs-of-task", f"{dag}/runs?task_id={{TASK_ID}}"),
    )
    views: list[dict[str, str]] = [
        {
            "name": name,
            "destination": destination,
            "url_route": route,
            "href": href,
            "icon": icon,
        }
        for name, destination, route, href in tabs
    ]
    everything = {
        "name": "Dask runs",
        "destination": "nav",
        "category": "browse",
        "url_route": "dask-runs-of-all",
        "href": f"{base_path()}{PREFIX}/runs",
        "icon": icon,
    }
    return [*views, everything]
