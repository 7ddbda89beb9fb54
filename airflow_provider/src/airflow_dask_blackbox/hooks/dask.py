"""`DaskHook`: a Dask cluster as an Airflow connection of type `dask`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook
from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import OperatorConfigurationError, connection_of
from airflow_dask_blackbox.connection_form import CONNECTION_TYPE
from airflow_dask_blackbox.identity import current_context
from airflow_dask_blackbox.shipping import prepare_process, unimportable_module_of

if TYPE_CHECKING:
    # The real one takes a second to import, and DAG files are parsed often.
    from distributed import Client

__all__ = ["DaskHook"]

_TLS = ("tls_ca_file", "tls_client_cert", "tls_client_key")
_PORT = 8786
_TIMEOUT = "5 s"


class DaskHook(BaseHook):
    """Return a client of the cluster that a connection names, or start that cluster.

    Args:
        dask_conn_id: Id of the connection.
    """

    conn_name_attr = "dask_conn_id"
    default_conn_name = "dask_default"
    conn_type = "dask"
    hook_name = "Dask"

    def __init__(self, dask_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dask_conn_id = dask_conn_id

    def get_conn(self) -> Client:
        """Return a client of the cluster, as `get_client`."""
        return self.get_client()

    def get_client(self, **client_kwargs: object) -> Client:
        """Return a connected client of the named cluster, or of a cluster that this starts.

        A cluster that this starts is closed with the client.

        Args:
            client_kwargs: Arguments for `distributed.Client`, which take precedence over those of
                the connection.
        """
        import dask.config
        from distributed import Client

        from airflow_dask_blackbox.clusters import is_owned, refuse_secrets_on_workers

        _prepare_task()
        address = self.address
        cluster: Any = None if address else self.get_cluster()
        try:
            # For as long as the process runs: a link is made whenever somebody asks for it.
            dask.config.set(self.dask_config)
            arguments = {**self.client_kwargs, **client_kwargs}
            client = Client(address or cluster, **arguments)
        except BaseException:
            if cluster is not None:
                cluster.close()
            raise
        if cluster is not None and not client.asynchronous:
            _close_with(client, cluster)
        if is_owned(client) and not client.asynchronous:
            with guard("refusing Airflow's variables on workers"):
                refuse_secrets_on_workers(client)
        return client

    def get_cluster(self, **cluster_kwargs: object) -> Any:
        """Start a cluster of the connection's class; the caller closes it.

        Args:
            cluster_kwargs: Arguments for the class, which take precedence over those of the
                connection.

        Raises:
            OperatorConfigurationError: if the connection names a cluster that runs, or
                its arguments cannot work.
        """
        from airflow_dask_blackbox.clusters import prepared, started

        if self.address:
            raise OperatorConfigurationError(
                f"connection {self.dask_conn_id!r} names a cluster that runs, at "
                f"{self.address}; use get_client()"
            )
        _prepare_task()
        start = prepared(
            self.cluster, {**self.cluster_kwargs, **cluster_kwargs}, adapt=None
        )
        assert not isinstance(start, str)  # noqa: S101 - of no address, it is none
        return started(start)

    @property
    def address(self) -> str | None:
        """Address of the scheduler, if the connection names one."""
        connection = self._connection
        host = (connection.host or "").strip()
        if not host:
            return None
        protocol, _, rest = host.rpartition("://")
        secure = "tls" if self._extra_of(*_TLS) else "tcp"
        port = "" if ":" in rest else f":{connection.port or _PORT}"
        return f"{protocol or secure}://{rest}{port}"

    @property
    def cluster(self) -> str | dict[str, Any] | None:
        """The named cluster, as for `cluster=` of `DaskObservedOperator`."""
        if self.address:
            return self.address
        found = self._extra_of("cluster_class")
        return {"class": found["cluster_class"]} if found else None

    @property
    def cluster_kwargs(self) -> dict[str, Any]:
        """Arguments for the cluster's class."""
        given = self._extra_of("cluster_kwargs").get("cluster_kwargs") or {}
        try:
            value = json.loads(given) if isinstance(given, str) else given
        except ValueError as error:
            raise self._wrong(
                f"its cluster arguments are not valid JSON ({error}); write them as "
                '{"n_workers": 4}'
            ) from None
        if not isinstance(value, Mapping):
            raise self._wrong(
                "its cluster arguments are not a JSON object; write them as "
                '{"n_workers": 4}'
            )
        return dict(value)

    @property
    def client_kwargs(self) -> dict[str, Any]:
        """Arguments for `distributed.Client`."""
        files = self._extra_of(*_TLS)
        if not files:
            return {}
        missing = [name for name in _TLS if name not in files]
        if missing:
            raise self._wrong(f"TLS also needs {' and '.join(missing)}")
        absent = [path for path in files.values() if not Path(path).is_file()]
        if absent:
            raise self._wrong(f"There is no file {absent[0]!r} on this machine")
        from distributed import Security

        return {"security": Security(require_encryption=True, **files)}

    @property
    def dask_config(self) -> dict[str, Any]:
        """The connection's values for Dask's own configuration."""
        link = self._extra_of("dashboard_link").get("dashboard_link")
        return {"distributed.dashboard.link": link} if link else {}

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the connection works, and a sentence: what is there, or why not."""
        try:
            return True, self._tested()
        except Exception as error:  # noqa: BLE001 - this is what is asked for
            return False, _sentence(error, self._safe_address())

    def _tested(self) -> str:
        from dask_blackbox.formatting import counted
        from distributed import Client

        from airflow_dask_blackbox.clusters import prepared

        self._check_dashboard_link()
        if self.address is None:
            start: Any = prepared(self.cluster, self.cluster_kwargs, adapt=None)
            return f"Each task starts a {start.func.__name__} of its own"
        with Client(
            self.address, timeout=_TIMEOUT, set_as_default=False, **self.client_kwargs
        ) as client:
            info = client.scheduler_info(n_workers=-1)
            versions = client.run_on_scheduler(_version)
        workers = info["workers"].values()
        threads = sum(each["nthreads"] for each in workers)
        unused = self._extra_of("cluster_class", "cluster_kwargs")
        beside = "; the cluster class is not used beside an address" if unused else ""
        return (
            f"{self.address} runs Dask {versions} with {counted(len(workers), 'worker')} "
            f"and {counted(threads, 'thread')}{beside}"
        )

    def _check_dashboard_link(self) -> None:
        link = self._extra_of("dashboard_link").get("dashboard_link") or ""
        try:
            list(Formatter().parse(str(link)))
        except ValueError as error:
            raise self._wrong(
                f"its dashboard address {link!r} is not a valid template ({error}); "
                "write it as https://proxy.example.com/{host}/{port}/status"
            ) from None

    def _safe_address(self) -> str:
        try:
            return self.address or "the cluster"
        except Exception:  # noqa: BLE001 - the connection itself is what is wrong
            return "the cluster"

    @property
    def _connection(self) -> Any:
        connection = connection_of(
            self.dask_conn_id, self.conn_name_attr, self.conn_type
        )
        if connection.conn_type != self.conn_type:
            raise self._wrong(f"it is of type {connection.conn_type!r}, not 'dask'")
        return connection

    def _extra_of(self, *names: str) -> dict[str, Any]:
        extra = self._connection.extra_dejson
        return {name: extra[name] for name in names if extra.get(name)}

    def _wrong(self, what: str) -> OperatorConfigurationError:
        return OperatorConfigurationError(
            f"connection {self.dask_conn_id!r} cannot work: {what}"
        )

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return the form's standard fields, for Airflow 3.1."""
        behaviour = CONNECTION_TYPE["ui-field-behaviour"]
        return {name.replace("-", "_"): value for name, value in behaviour.items()}

    @classmethod
    def get_connection_form_widgets(cls) -> dict[str, Any]:
        """Return the form's fields of our own, for Airflow 3.1."""
        from wtforms import StringField  # type: ignore[import-untyped]

        return {
            name: StringField(field["label"], description=field["description"])
            for name, field in CONNECTION_TYPE["conn-fields"].items()
        }


def _close_with(client: Client, cluster: Any) -> None:
    """Have a cluster closed with its client: Dask closes only a cluster that the client made."""
    inner: Any = client.close

    def close(*args: Any, **kwargs: Any) -> Any:
        try:
            return inner(*args, **kwargs)
        finally:
            cluster.close()

    client.close = close  # type: ignore[method-assign]


def _prepare_task() -> None:
    """Have Dask work in the task that runs in this process, as it does in the operator."""
    with guard("making Dask work in this task"):
        context: Any = current_context()
        if context is not None:
            task = context["ti"].task
            function = getattr(task, "python_callable", type(task))
            prepare_process(unimportable_module_of(function))


def _version() -> str:
    import distributed

    return str(distributed.__version__)


def _sentence(error: Exception, address: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, OperatorConfigurationError):
        return (
            f"No Dask scheduler answers at {address}: it does not run there, cannot be "
            "reached from here, or requires another protocol (tcp or tls)"
        )
    if isinstance(error, MemoryError):  # the answer, read as the length of a message
        return (
            f"The server at {address} is not a Dask scheduler; is this the port of a "
            "dashboard (8787) instead of a scheduler's (8786)?"
        )
    if isinstance(error, TypeError) and "ssl_context" in f"{error}":
        return (
            f"{address} uses TLS: fill in the CA certificate, the client certificate "
            "and the client key, or set distributed.comm.tls where tasks run"
        )
    return " ".join(f"{error}".split()) or type(error).__name__
