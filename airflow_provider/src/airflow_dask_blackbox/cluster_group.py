"""`dask_cluster`: one cluster for several tasks of a DAG, set up and torn down by Airflow.

with dask_cluster(cluster_kwargs={"n_workers": 4}) as cluster:
    load = DaskObservedOperator(task_id="load", python_callable=load, cluster=cluster)
    price = DaskObservedOperator(task_id="price", python_callable=price, cluster=cluster)
    load >> price
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator, TaskGroup, XComArg
from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import OperatorConfigurationError, check_mapping
from airflow_dask_blackbox.clusters import (
    GivenArguments,
    GivenCluster,
    check_cluster,
    check_shared,
    rendered_cluster,
    takes_text,
)
from airflow_dask_blackbox.links import DaskDashboardLink, remove_address
from airflow_dask_blackbox.templates import native

if TYPE_CHECKING:
    # The real one brings Dask's processes along, and DAG files are parsed all day.
    from airflow_dask_blackbox.kept_clusters import KeptCluster
    from airflow_dask_blackbox.named_clusters import ClusterReference, NamedCluster

__all__ = ["DaskClusterSetup", "DaskClusterTeardown", "dask_cluster"]


class dask_cluster:  # noqa: N801 - a context manager, used like a function
    """A task group with a cluster of its own: started before its tasks, closed after them.

    The cluster is closed however its tasks end.  A cleared task runs again on a new
    cluster, because Airflow runs its setup again.

    Args:
        group_id: Id of the task group.
        cluster: As for `DaskObservedOperator`, except an address: such a cluster already
            exists.
        cluster_kwargs: More arguments for the cluster's class (or callable).
        adapt: Arguments for the cluster's `adapt()`.
        idle_timeout: Time without work after which the cluster closes itself, in case no
            task is left to close it; where its class has such an argument, or starts its
            scheduler in the setup task's machine.
        kwargs: Arguments of the setup task and the teardown task: `queue`, `retries`,
            `executor_config`, …

    Attributes:
        group: The task group.
        setup: The task that starts the cluster.
        teardown: The task that closes it.
    """

    def __init__(
        self,
        group_id: str = "dask_cluster",
        *,
        cluster: GivenCluster = None,
        cluster_kwargs: GivenArguments = None,
        adapt: GivenArguments = None,
        idle_timeout: str = "1 hour",
        **kwargs: Any,
    ) -> None:
        self.group = TaskGroup(group_id=group_id)
        self._given: dict[str, Any] = {
            "cluster": cluster,
            "cluster_kwargs": cluster_kwargs,
            "adapt": adapt,
            "idle_timeout": idle_timeout,
        }
        self._kwargs = kwargs

    def __enter__(self) -> XComArg:
        """Return what the cluster is found by, for `cluster=` of tasks in the block."""
        self.group.__enter__()
        self.setup = DaskClusterSetup(
            task_id="start_cluster", **self._given, **self._kwargs
        )
        return self.setup.output

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._close()
        finally:
            self.group.__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]

    def _close(self) -> None:
        inside = [
            task
            for task in self.group.iter_tasks()
            if task.task_id != self.setup.task_id
        ]
        known = {task.task_id for task in inside}
        self.teardown = DaskClusterTeardown(
            task_id="close_cluster",
            address=self.setup.output,
            setup_task_id=self.setup.task_id,
            **self._kwargs,
        )
        for task in inside:
            if not task.upstream_task_ids & (known | {self.setup.task_id}):
                self.setup >> task
            if not task.downstream_task_ids & known:
                task >> self.teardown
        self.teardown.as_teardown(setups=self.setup)


class DaskClusterSetup(BaseOperator):
    """Start a cluster that outlives this task; its result is what the tasks connect by.

    That is an address, or what finds a cluster of Dask Gateway, Kubernetes or Coiled again.
    """

    template_fields: Sequence[str] = ("cluster", "cluster_kwargs", "adapt")
    template_fields_renderers: ClassVar[dict[str, str]] = dict.fromkeys(
        template_fields, "json"
    )
    shallow_copy_attrs: Sequence[str] = (*template_fields, "make_cluster", "_as_given")
    operator_extra_links = (DaskDashboardLink(),)
    ui_color = "#ffe8d6"

    def __init__(
        self,
        *,
        cluster: GivenCluster = None,
        cluster_kwargs: GivenArguments = None,
        adapt: GivenArguments = None,
        idle_timeout: str = "1 hour",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_cluster(cluster)
        if isinstance(cluster, str) and "{" not in cluster:
            raise OperatorConfigurationError(
                f"dask_cluster starts a cluster, and the one at {cluster!r} already "
                "exists; give its address to the tasks as cluster="
            )
        check_mapping("cluster_kwargs", cluster_kwargs)
        check_mapping("adapt", adapt)
        check_shared(cluster, cluster_kwargs)
        # Airflow calls whatever is callable in a templated field, to render it.
        self.make_cluster = cluster if callable(cluster) else None
        self.cluster = None if callable(cluster) else cluster
        self.cluster_kwargs = cluster_kwargs or {}
        self.adapt = adapt
        self.idle_timeout = idle_timeout
        self._as_given = {n: getattr(self, n) for n in self.template_fields}
        self._links: dict[str, str] = {}
        self._starts: KeptCluster | NamedCluster | None = None

    @property
    def dask_links(self) -> dict[str, str]:
        """What the button opens, by XCom key."""
        return self._links

    def execute(self, context: Any) -> str | ClusterReference:
        from airflow_dask_blackbox.kept_clusters import KeptCluster
        from airflow_dask_blackbox.named_clusters import NamedCluster

        as_given = self._as_given
        cluster = self.make_cluster or rendered_cluster(
            as_given["cluster"], self.cluster
        )
        by_name = NamedCluster.can_start(cluster)
        self._starts = starts = (
            NamedCluster(self.log)
            if by_name
            else KeptCluster.of(context["ti"], self.log)
        )
        found_by, dashboard = starts.start(
            cluster,
            cluster_kwargs=native(
                as_given["cluster_kwargs"], self.cluster_kwargs, takes_text(cluster)
            ),
            adapt=native(as_given["adapt"], self.adapt),
            idle_timeout=self.idle_timeout,
        )
        if dashboard:
            key = DaskDashboardLink.xcom_key
            self._links[key] = dashboard
            context["ti"].xcom_push(key=key, value=dashboard)
        return found_by

    def on_kill(self) -> None:
        """Close what has started, because no other task knows its address yet."""
        if self._starts is not None:
            self._starts.abandon()


class DaskClusterTeardown(BaseOperator):
    """Close a cluster that `DaskClusterSetup` started.

    Args:
        address: Of the cluster, or what finds it again.
        setup_task_id: Of the task that started it, whose dashboard button goes with it.
    """

    template_fields: Sequence[str] = ("address",)
    ui_color = "#ffe8d6"

    def __init__(self, *, address: Any, setup_task_id: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.address = address
        self.setup_task_id = setup_task_id

    def execute(self, context: Any) -> None:
        from airflow_dask_blackbox.kept_clusters import close_at
        from airflow_dask_blackbox.named_clusters import close_named

        if not self.address:
            self.log.info("No cluster to close: it was not started")
            return
        if isinstance(self.address, Mapping):
            close_named(self.address, self.log)
        else:
            close_at(str(self.address), self.log)
        with guard("removing the button of the closed dashboard"):
            key = DaskDashboardLink.xcom_key
            remove_address(context["ti"], key, self.setup_task_id)
