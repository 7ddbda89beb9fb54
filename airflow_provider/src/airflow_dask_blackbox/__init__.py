"""dask-blackbox in Airflow: Dask runs of tasks, recorded, explained, linked from their page.

    from airflow_dask_blackbox.operators.dask import DaskObservedOperator

Nothing here imports Dask until a task runs: DAG files are parsed all day.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

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
        "extra-links": [
            "airflow_dask_blackbox.links.DaskReportLink",
            "airflow_dask_blackbox.links.DaskPerformanceReportLink",
            "airflow_dask_blackbox.links.DaskDashboardLink",
        ],
        "config": {
            "dask_blackbox": {
                "description": "Where the recordings of Dask runs go.",
                "options": {
                    "store": {
                        "description": (
                            "Where tasks that name no store of their own record to: "
                            "s3://bucket/prefix or a folder. Empty: what Dask's own "
                            "configuration says under blackbox.store.url."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://flight-recorder/dask",
                        "default": "",
                    },
                    "store_conn_id": {
                        "description": (
                            "Id of the Airflow connection (of type aws) with the "
                            "credentials, region and endpoint_url for the store. "
                            "Empty: boto3's own search."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "aws_default",
                        "default": "",
                    },
                },
            }
        },
    }
