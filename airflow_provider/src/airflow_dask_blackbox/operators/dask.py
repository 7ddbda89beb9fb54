"""`DaskObservedOperator`: a Python callable on a Dask cluster, with a flight recorder."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException
from dask_blackbox.guard import guard

from airflow_dask_blackbox.clusters import (
    ClusterSpec,
    check_cluster,
    connected_client,
)
from airflow_dask_blackbox.identity import parameters_of
from airflow_dask_blackbox.links import LINKS
from airflow_dask_blackbox.retries import check_advice, why_no_retry, why_not_at_all
from airflow_dask_blackbox.shipping import (
    hidden_main,
    shipped_by_value,
    unimportable_module_of,
)
from airflow_dask_blackbox.task_recording import TaskRecording

if TYPE_CHECKING:
    # The real ones take a second to import, and DAG files are parsed all day.
    from dask_blackbox import RunCard
    from distributed import Client

__all__ = ["DaskObservedOperator"]


class DaskObservedOperator(PythonOperator):
    """Run a callable whose Dask work goes to a cluster, and record what happens there.

    Inside the callable the cluster's client is the default one: `dask.compute()` and
    `df.compute()` use it, and a parameter named `client` receives it.  Everything else is
    as for `PythonOperator`, of which this is one: `op_args`, `op_kwargs`,
    `templates_dict`, context variables by name, and the callable's value as the task's XCom.

    Args:
        cluster: Where Dask's work is done: nothing for a `LocalCluster` of the task's own,
            the address of a running scheduler (`tcp://…`, `tls://…`),
            `{"class": "package.Class", "kwargs": {…}}`, or a callable that returns a
            cluster.  What was brought up for the task is closed with it.
        cluster_kwargs: More arguments for the cluster's class (or callable).
        client_kwargs: Arguments for `distributed.Client`, e.g. `security`.
        adapt: Arguments for the cluster's `adapt()`, to scale with the work.
        store: Where to record to, `s3://bucket/prefix` or a folder.  Nothing: option
            `store` in section `[dask_blackbox]` of Airflow's configuration, else
            `blackbox.store.url` of Dask's.
        store_conn_id: Airflow connection (type `aws`) with the store's credentials.
        store_settings: Single settings of the store (`endpoint`, `region`, `profile`, …),
            stronger than the connection's.
        job: Name under which runs are compared; `<dag_id>.<task_id>` if not given.
        parameters: What this run was asked to do, for comparison with others.  Nothing:
            the DAG run's params and the plain values among `op_kwargs`.
        required: Fail, before the cluster costs anything, if the run cannot be recorded.
        fail_without_retry: Advice of the verdict on which the task fails at once, whatever
            its `retries`: any of `code`, `data`, `environment`, `memory`, `transient`.
            Only a verdict of high confidence counts.  On Airflow 3.3, see also
            `DaskRetryPolicy`.
    """

    template_fields: Sequence[str] = (
        *PythonOperator.template_fields,
        "cluster",
        "store",
        "store_conn_id",
        "job",
        "parameters",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PythonOperator.template_fields_renderers,
        "cluster": "json",
        "parameters": "json",
    }
    shallow_copy_attrs: Sequence[str] = (
        *PythonOperator.shallow_copy_attrs,
        "make_cluster",
        "cluster_kwargs",
        "client_kwargs",
    )
    operator_extra_links = tuple(LINKS.values())
    ui_color = "#ffe8d6"

    def __init__(
        self,
        *,
        cluster: ClusterSpec = None,
        cluster_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
        adapt: Mapping[str, Any] | None = None,
        store: str | None = None,
        store_conn_id: str | None = None,
        store_settings: Mapping[str, Any] | None = None,
        job: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        required: bool = False,
        fail_without_retry: Collection[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_cluster(cluster)
        self.fail_without_retry = check_advice(fail_without_retry)
        # Airflow calls whatever is callable in a templated field, to render it.
        self.make_cluster = cluster if callable(cluster) else None
        self.cluster = None if callable(cluster) else cluster
        self.cluster_kwargs = cluster_kwargs or {}
        self.client_kwargs = client_kwargs or {}
        self.adapt = adapt
        self.store = store
        self.store_conn_id = store_conn_id
        self.store_settings = store_settings
        self.job = job
        self.parameters = parameters
        self.required = required
        self._recorded: TaskRecording | None = None
        self._client: Client | None = None

    @property
    def dask_links(self) -> dict[str, str] | None:
        """What the buttons open, by XCom key; None if this object ran no task."""
        return self._recorded.links if self._recorded is not None else None

    @property
    def dask_card(self) -> RunCard | None:
        """The card of the run, if this object has run and recorded a task."""
        return self._recorded.card if self._recorded is not None else None

    def execute(self, context: Any) -> Any:
        why = why_not_at_all(
            context,
            self.fail_without_retry,
            self.log,
            store=self.store,
            store_conn_id=self.store_conn_id,
            store_settings=self.store_settings,
            job=self.job,
        )
        if why is not None:
            raise AirflowFailException(f"not tried again, {why}")
        try:
            return self._execute(context)
        except AirflowRescheduleException:
            raise  # to come again later is no failure
        except Exception as error:
            with guard("the verdict on whether to try again"):
                why = why_no_retry(self.dask_card, self.fail_without_retry)
            if why is not None:
                raise AirflowFailException(f"not tried again, {why}") from error
            raise

    def _execute(self, context: Any) -> Any:
        module = unimportable_module_of(self.python_callable)
        self._recorded = self._recording(context)
        with (
            hidden_main(),
            shipped_by_value(module),
            # The recording ends first: it asks the cluster for its last events.  The card
            # comes after all that a closing cluster has to say.
            ExitStack() as afterwards,
            self._recorded as recorded,
        ):
            afterwards.callback(recorded.show)
            self._client = afterwards.enter_context(
                connected_client(
                    self.make_cluster or self.cluster,
                    cluster_kwargs=self.cluster_kwargs,
                    client_kwargs=self.client_kwargs,
                    adapt=self.adapt,
                )
            )
            recorded.attach(self._client)
            self._offer(self._client)
            return super().execute(context)

    def on_kill(self) -> None:
        """End the recording, then the waiting: SIGTERM alone would not stop the callable."""
        if self._recorded is not None:
            self._recorded.abort()
        if self._client is not None:
            with guard("cancelling what the killed task waited for"):
                self._client.close(timeout=1)

    def _recording(self, context: Any) -> TaskRecording:
        parameters = self.parameters
        if parameters is None:
            parameters = parameters_of(context, self.op_kwargs)
        return TaskRecording(
            context,
            function=self.python_callable,
            job=self.job,
            store=self.store,
            store_conn_id=self.store_conn_id,
            store_settings=self.store_settings,
            parameters=parameters,
            required=self.required,
            log=self.log,
        )

    def _offer(self, client: Client) -> None:
        """Pass the client to a callable that has a parameter of that name."""
        try:
            wanted = inspect.signature(self.python_callable).parameters
        except (TypeError, ValueError):  # some builtins have none
            return
        if "client" in wanted:
            self.op_kwargs = {"client": client, **self.op_kwargs}
