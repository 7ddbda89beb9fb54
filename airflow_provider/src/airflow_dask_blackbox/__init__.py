"""dask-blackbox in Airflow: Dask runs of tasks, recorded, explained, linked from their page.

    from airflow_dask_blackbox.operators.dask import DaskObservedOperator

Nothing here imports Dask until a task runs: DAG files are parsed all day.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any, NamedTuple

from airflow_dask_blackbox.unavailable import value_or, why

__all__ = ["get_provider_info"]

_DISTRIBUTION = "airflow-provider-dask-blackbox"


class _Option(NamedTuple):
    """An option of the section `[dask_blackbox]`, by the names of Airflow's schema."""

    description: str
    type: str
    example: str
    default: str
    version_added: str = "0.1.0"


_OPTIONS = {
    "store": _Option(
        "Store of tasks without a `store` argument: s3://bucket/prefix or a folder. Empty: "
        "blackbox.store.url in Dask's configuration.",
        "string", "s3://dask-runs/dask", "",
    ),
    "store_conn_id": _Option(
        "Id of the Airflow connection (of type aws, google_cloud_platform or wasb) with the "
        "credentials for the store. Empty: the cloud's default search.",
        "string", "aws_default", "",
    ),
    "record_every_client": _Option(
        "Record every Dask client that a task of any operator, or the Python of a "
        "BashOperator, makes. DAGs with the tag no-dask-recording are not recorded.",
        "boolean", "True", "False",
    ),
    "record_every_client_only": _Option(
        "Which tasks record_every_client is for: comma-separated patterns (* and ?), each "
        "after dag:, tag:, task_group:, task: or operator:. Empty: all.",
        "string", "dag:etl_*,tag:dask", "",
    ),
    "record_every_client_except": _Option(
        "Which tasks record_every_client is not for, in the same form.",
        "string", "operator:*Sensor,task_group:checks", "",
    ),
    "links": _Option(
        "Where a task's buttons and log link to: 'airflow', the tab \"Dask run\", for users "
        "who may read the DAG's logs; or 'store', presigned URLs of the store, which work for "
        "anyone who has them, if the API server does not have this provider.",
        "string", "store", "airflow",
    ),
    "progress_interval": _Option(
        "Seconds between two progress lines in a task's log, once its Dask run has taken a "
        "while; 0: no lines.",
        "float", "60", "300",
    ),
    "tab_stores": _Option(
        'Comma-separated URL prefixes of the stores that the tab "Dask run" may read, each '
        "optionally followed by endpoint=URL and region=NAME that tasks may choose there. "
        "Empty: every store that a task uses, with the API server's own endpoint.",
        "string", "s3://dask-runs,s3://lab endpoint=https://minio:9000", "",
    ),
    "tab_connections": _Option(
        'Comma-separated ids of the connections that the tab "Dask run" may use for a store '
        "if a task names them. Empty: none but store_conn_id.",
        "string", "dask_runs,dask_lab", "",
    ),
}  # fmt: skip


def get_provider_info() -> dict[str, Any]:
    """Tell Airflow what this provider brings (its entry point `apache_airflow_provider`).

    Airflow calls it in every process, and ends with what it raises: nothing.
    """
    return value_or(_name_only, "what Airflow's pages know of it", _provider_info)


def _name_only(error: Exception) -> dict[str, Any]:
    return {
        "package-name": _DISTRIBUTION,
        "name": "Dask black box",
        "description": f"Could not be loaded: {why(error)}",
    }


def _provider_info() -> dict[str, Any]:
    from airflow_dask_blackbox.connection_form import CONNECTION_TYPE

    return {
        "package-name": _DISTRIBUTION,
        "name": "Dask black box",
        "description": metadata.metadata(_DISTRIBUTION)["Summary"],
        "versions": [metadata.version(_DISTRIBUTION)],
        "integrations": [
            {
                "integration-name": "Dask",
                "external-doc-url": "https://docs.dask.org/",
                "tags": ["software"],
            }
        ],
        "operators": [
            {
                "integration-name": "Dask",
                "python-modules": ["airflow_dask_blackbox.operators.dask"],
            }
        ],
        "hooks": [
            {
                "integration-name": "Dask",
                "python-modules": ["airflow_dask_blackbox.hooks.dask"],
            }
        ],
        "connection-types": [CONNECTION_TYPE],
        "task-decorators": [
            {
                "name": "dask_observed",
                "class-name": "airflow_dask_blackbox.decorators.dask_observed",
            }
        ],
        "notifications": [
            "airflow_dask_blackbox.notifications.dask_card.DaskCardNotifier"
        ],
        "extra-links": [
            "airflow_dask_blackbox.links.DaskRunLink",
            "airflow_dask_blackbox.links.DaskPerformanceReportLink",
            "airflow_dask_blackbox.links.DaskDashboardLink",
        ],
        "config": {
            "dask_blackbox": {
                "description": "Where recordings of Dask runs are stored.",
                "options": {
                    name: option._asdict() for name, option in _OPTIONS.items()
                },
            }
        },
    }
