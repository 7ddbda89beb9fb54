"""The form of a connection of type `dask`, as Airflow's pages show it."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["CONNECTION_TYPE"]

_CONN_FIELDS: Final[dict[str, tuple[str, str]]] = {
    "tls_ca_file": (
        "TLS: CA certificate",
        (
            "Path of the file on the machine where tasks run; if set, the connection is "
            "encrypted."
        ),
    ),
    "tls_client_cert": (
        "TLS: client certificate",
        "Path of the file on the machine where tasks run.",
    ),
    "tls_client_key": (
        "TLS: client key",
        "Path of the file on the machine where tasks run.",
    ),
    "cluster_class": (
        "Cluster class",
        (
            "Cluster that each task starts if no scheduler address is given, for "
            "example dask_kubernetes.operator.KubeCluster. Empty: a LocalCluster."
        ),
    ),
    "cluster_kwargs": (
        "Cluster arguments",
        'JSON, for example {"n_workers": 4}.',
    ),
    "dashboard_link": (
        "Dashboard address",
        (
            "Address behind a proxy, for example "
            "https://proxy.example.com/{host}/{port}/status."
        ),
    ),
}
"""Label and description of what stands in the connection's extra, by name."""

CONNECTION_TYPE: Final[dict[str, Any]] = {
    "connection-type": "dask",
    "hook-class-name": "airflow_dask_blackbox.hooks.dask.DaskHook",
    "hook-name": "Dask",
    "conn-fields": {
        name: {
            "label": label,
            "description": description,
            "schema": {"type": ["string", "null"]},
        }
        for name, (label, description) in _CONN_FIELDS.items()
    },
    "ui-field-behaviour": {
        "hidden-fields": ["schema", "login", "password"],
        "relabeling": {"host": "Scheduler"},
        "placeholders": {"host": "tcp://scheduler.example.com", "port": "8786"},
    },
}
"""As a provider declares it since Airflow 3.2; `DaskHook` gives the same to Airflow 3.1."""
