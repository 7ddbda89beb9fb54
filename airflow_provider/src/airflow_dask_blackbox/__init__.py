"""dask-blackbox in Airflow: Dask runs of tasks, recorded, explained, linked from their page.

    from airflow_dask_blackbox.operators.dask import DaskObservedOperator

Nothing here imports Dask until a task runs: DAG files are parsed all day.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

from airflow_dask_blackbox.connection_form import CONNECTION_TYPE

__all__ = ["get_provider_info"]

_DISTRIBUTION = "airflow-provider-dask-blackbox"


def get_provider_info() -> dict[str, Any]:
    """Tell Airflow what this provider brings (its entry point `apache_airflow_provider`)."""
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
                    "store": {
                        "description": (
                            "Store of tasks without a `store` argument: "
                            "s3://bucket/prefix or a folder. Empty: "
                            "blackbox.store.url in Dask's configuration."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://dask-runs/dask",
                        "default": "",
                    },
                    "store_conn_id": {
                        "description": (
                            "Id of the Airflow connection (of type aws) with the "
                            "credentials, region and endpoint_url for the store. "
                            "Empty: boto3's default search."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "aws_default",
                        "default": "",
                    },
                    "record_every_client": {
                        "description": (
                            "Record every Dask client that a @task, a PythonOperator "
                            "or the Python of a BashOperator makes. DAGs with the tag "
                            "no-dask-recording are not recorded."
                        ),
                        "version_added": "0.1.0",
                        "type": "boolean",
                        "example": "True",
                        "default": "False",
                    },
                    "links": {
                        "description": (
                            "Where a task's buttons and log link to: 'airflow', the "
                            'tab "Dask run", for users who may read the DAG\'s logs; '
                            "or 'store', presigned URLs of the store, which work for "
                            "anyone who has them, if the API server does not have this "
                            "provider."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "store",
                        "default": "airflow",
                    },
                    "progress_interval": {
                        "description": (
                            "Seconds between two progress lines in a task's log, once "
                            "its Dask run has taken a while; 0: no lines."
                        ),
                        "version_added": "0.1.0",
                        "type": "float",
                        "example": "60",
                        "default": "300",
                    },
                    "tab_stores": {
                        "description": (
                            "Comma-separated URL prefixes of the stores that the tab "
                            '"Dask run" may read. Empty: every store that a task uses.'
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://dask-runs,/shared/recordings",
                        "default": "",
                    },
                },
            }
        },
    }
