"""`DaskObservedOperator`: a Python callable on a Dask cluster, with a flight recorder."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike, fspath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from airflow.providers.standard.operators.python import PythonOperator
from dask_blackbox.guard import guard

from airflow_dask_blackbox.arguments import (
    OperatorConfigurationError,
    check_flag,
    check_mapping,
    check_operator_arguments,
    check_store,
    check_text,
    is_given_later,
    memory_policy,
)
from airflow_dask_blackbox.assets import measure_assets
from airflow_dask_blackbox.clusters import (
    ClusterSpec,
    GivenArguments,
    GivenCluster,
    GivenText,
    check_cluster,
    check_use,
    connected_client,
    is_local,
    is_owned,
    rendered_cluster,
    takes_text,
)
from airflow_dask_blackbox.compat import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
)
from airflow_dask_blackbox.dask_log import folded_dask_log
from airflow_dask_blackbox.hooks.dask import DaskHook
from airflow_dask_blackbox.identity import parameters_of
from airflow_dask_blackbox.lazy_arguments import fetched
from airflow_dask_blackbox.lineage import OpenLineageFacets, run_at_service
from airflow_dask_blackbox.links import LINKS, known_links
from airflow_dask_blackbox.rendered import store_rendered_templates
from airflow_dask_blackbox.results import refused_result
from airflow_dask_blackbox.retries import (
    check_advice,
    earlier_cards,
    why_no_retry,
    why_not_at_all,
)
from airflow_dask_blackbox.shipping import (
    hidden_main,
    shipped_by_value,
    unimportable_module_of,
)
from airflow_dask_blackbox.stores import TaskStore
from airflow_dask_blackbox.task_recording import TaskRecording
from airflow_dask_blackbox.templates import native, text_parameters

if TYPE_CHECKING:
    # The real ones take a second to import, and DAG files are parsed often.
    from dask_blackbox import RunCard
    from distributed import Client

__all__ = ["DaskObservedOperator"]

_WITH_NUMBERS: Final = (
    "cluster",
    "cluster_kwargs",
    "client_kwargs",
    "adapt",
    "dask_config",
)
"""Templates whose text is a number where it reads as one."""

_CLOSING: Final = 1.0
"""Seconds for closing the client of a task that is stopped."""


class DaskObservedOperator(OpenLineageFacets, PythonOperator):
    """Run a callable with its Dask work on a cluster, and record that work.

    Inside the callable, the cluster's client is the default client: `dask.compute()` and
    `df.compute()` use it, and a parameter named `client` receives it.  Everything else works
    as in `PythonOperator`, its base class: `op_args`, `op_kwargs`, `templates_dict`, context
    variables by name, and the callable's return value as the task's XCom.

    Args:
        cluster: Where the Dask work runs: None for the task's own `LocalCluster`, the address
            of a running scheduler (`tcp://…`, `tls://…`),
            `{"class": "package.Class", "kwargs": {…}}`, or a callable that returns a
            cluster.  A cluster that the task starts is closed at the task's end.
        cluster_kwargs: More arguments for the cluster's class (or callable).
        client_kwargs: Arguments for `distributed.Client`, e.g. `security`.
        adapt: Arguments for the cluster's `adapt()`, to scale with the work.
        dask_config: Values of Dask's configuration for this task, its recording and the
            cluster that it starts, by their full names:
            `{"distributed.scheduler.work-stealing": False}`.
        keep_cluster: Don't close the cluster that the task started, however the task ends.
            Only for classes whose clusters can outlive the task's process.
        dask_conn_id: Airflow connection (type `dask`) with the same values; arguments of the
            operator take precedence.
        store: Where to record to: `s3://bucket/prefix` or a folder.  None: option `store` in
            section `[dask_blackbox]` of Airflow's configuration, otherwise
            `blackbox.store.url` in Dask's configuration.
        store_conn_id: Airflow connection with the store's credentials: of type `aws`,
            `google_cloud_platform` or `wasb`.
        store_settings: Single settings of the store (`endpoint`, `region`, `profile`, …),
            which take precedence over the connection's.
        job: Name under which runs are compared; `<dag_id>.<task_id>` if not given.
        parameters: The run's parameters, for comparison with other runs.  None: the DAG
            run's params and the plain values among `op_kwargs`: text, numbers, and short
            lists and dicts of them.
        required: Fail before the cluster is created if the run cannot be recorded.
        fail_without_retry: Retry advice with which the task fails at once, whatever its
            `retries` are: any of `code`, `data`, `environment`, `memory`, `transient`.
            Only advice of high confidence counts.  On Airflow 3.3, see also
            `DaskRetryPolicy`.
        on_memory: More memory for a retry, if the verdict on the try before was too little
            memory: `{"memory_limit": "x2", "most": "16 GiB"}` doubles that argument of the
            cluster, or gives what the verdict asks for if that is more.
    """

    template_fields: Sequence[str] = (
        "dask_run",  # the first thing that "Rendered Templates" shows
        *PythonOperator.template_fields,
        *_WITH_NUMBERS,
        "dask_conn_id",
        "store",
        "store_conn_id",
        "job",
        "parameters",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PythonOperator.template_fields_renderers,
        **dict.fromkeys(_WITH_NUMBERS, "json"),
        "parameters": "json",
        "dask_run": "json",
    }
    shallow_copy_attrs: Sequence[str] = (
        *PythonOperator.shallow_copy_attrs,
        "make_cluster",
        "_as_given",
        *_WITH_NUMBERS,
    )
    operator_extra_links = tuple(LINKS.values())
    ui_color = "#ffe8d6"

    def __init__(
        self,
        *,
        cluster: GivenCluster = None,
        cluster_kwargs: GivenArguments = None,
        client_kwargs: GivenArguments = None,
        adapt: GivenArguments = None,
        dask_config: GivenArguments = None,
        keep_cluster: bool = False,
        dask_conn_id: GivenText = None,
        store: GivenText | PathLike[str] = None,
        store_conn_id: GivenText = None,
        store_settings: Mapping[str, Any] | None = None,
        job: GivenText = None,
        parameters: GivenArguments = None,
        required: bool = False,
        fail_without_retry: Collection[str] = (),
        on_memory: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_operator_arguments(type(self), kwargs)
        super().__init__(**kwargs)
        check_flag("keep_cluster", keep_cluster)
        check_flag("required", required)
        check_cluster(cluster)
        check_use(
            cluster,
            cluster_kwargs=cluster_kwargs,
            adapt=adapt,
            keep_cluster=keep_cluster,
            dask_conn_id=dask_conn_id,
        )
        check_store(store, store_settings)
        for argument, value in (
            ("cluster_kwargs", cluster_kwargs),
            ("client_kwargs", client_kwargs),
            ("adapt", adapt),
            ("dask_config", dask_config),
            ("parameters", parameters),
        ):
            check_mapping(argument, value)
        for argument, text in (
            ("dask_conn_id", dask_conn_id),
            ("store", None if isinstance(store, PathLike) else store),
            ("store_conn_id", store_conn_id),
            ("job", job),
        ):
            check_text(argument, text)
        self.fail_without_retry = check_advice(fail_without_retry)
        self._more_memory = memory_policy(on_memory, cluster)
        # Airflow calls whatever is callable in a templated field, to render it.
        self.make_cluster = cluster if callable(cluster) else None
        self.cluster = None if callable(cluster) else cluster
        self.cluster_kwargs = cluster_kwargs or {}
        self.client_kwargs = client_kwargs or {}
        self.adapt = adapt
        self.dask_config = dask_config or {}
        self.keep_cluster = keep_cluster
        self._as_given = {name: getattr(self, name) for name in _WITH_NUMBERS}
        # Airflow has put text in the place of another task's result when the task runs.
        self.dask_conn_id = cast("str | None", dask_conn_id)
        text = fspath(store) if isinstance(store, PathLike) else store
        self.store = cast("str | None", text)
        self.store_conn_id = cast("str | None", store_conn_id)
        self.store_settings = store_settings
        self.job = cast("str | None", job)
        self.parameters = cast("Mapping[str, Any] | None", parameters)
        self.required = required
        self.dask_run: dict[str, object] = {}
        self._recorded: TaskRecording | None = None
        self._client: Client | None = None

    @property
    def dask_links(self) -> dict[str, str] | None:
        """The addresses of the buttons, by XCom key; None if this object ran no task."""
        return self._recorded.links if self._recorded is not None else None

    @property
    def dask_card(self) -> RunCard | None:
        """The card of the run, if this object has run and recorded a task."""
        return self._recorded.card if self._recorded is not None else None

    @property
    def dask_data(self) -> tuple[Sequence[str], Sequence[str]]:
        """The paths and URLs that the task's graphs have read, and those that they have written."""
        return self._recorded.data if self._recorded is not None else ((), ())

    def execute(self, context: Any) -> Any:
        hopeless, log = self.fail_without_retry, self.log
        why = why_not_at_all(context, hopeless, log, store=self._store(), job=self.job)
        if why is not None:
            raise AirflowFailException(f"not retried, {why}")
        try:
            try:
                return self._execute(context)
            finally:
                # Airflow stores an XCom for each link, one without an address as well.
                self.operator_extra_links = known_links(self.dask_links or {})
        except AirflowRescheduleException:
            raise  # to come again later is no failure
        except Exception as error:
            with guard("the decision whether to retry"):
                why = why_no_retry(self.dask_card, self.fail_without_retry)
            if why is not None:
                raise AirflowFailException(f"not retried, {why}") from error
            raise

    def _execute(self, context: Any) -> Any:
        module = unimportable_module_of(self.python_callable)
        self._recorded = self._recording(context)
        with (
            hidden_main(),
            shipped_by_value(module),
            self._configured(),
            folded_dask_log(self.log),
            self._recorded.while_closing(),
            # The recording ends first: it asks the cluster for its last events.
            ExitStack() as afterwards,
            self._recorded as recorded,
        ):
            self._client = afterwards.enter_context(
                self._connected(context, recorded.own)
            )
            if recorded.stopped:  # and no client was there that `on_kill` could close
                raise AirflowException("this task was stopped before its work began")
            owned = not self.keep_cluster and is_owned(self._client)
            self.dask_run = recorded.attach(self._client, owned=owned)
            store_rendered_templates(self)
            self.op_args = fetched(list(self.op_args))
            self.op_kwargs = fetched(dict(self.op_kwargs))
            self._pass_client(self._client)
            began = time.time()
            value = super().execute(context)
            if self.do_xcom_push:
                refused = refused_result(
                    value,
                    self.python_callable,
                    multiple_outputs=self.multiple_outputs,
                )
                if refused is not None:
                    raise refused
            measure_assets(context, self.outlets or (), began, recorded.page)
            return value

    @contextmanager
    def _configured(self) -> Iterator[None]:
        """Set what `dask_config=` has for the recording, before that begins.

        What is wrong with it is said when the cluster is started, and recorded.
        """
        with ExitStack() as stack:
            with guard("the settings of the recording"):
                import dask.config

                config = self._rendered("dask_config")
                given = config.items() if isinstance(config, Mapping) else ()
                # Not Dask's own: its end would take the defaults of what is imported meanwhile.
                own = {n: v for n, v in given if str(n).partition(".")[0] == "blackbox"}
                stack.enter_context(dask.config.set(own))
            yield

    @contextmanager
    def _connected(
        self, context: Any, own: Callable[[object], None]
    ) -> Iterator[Client]:
        """Connect to what the operator names, or else its connection."""
        import dask.config
        from distributed import Client

        cluster = self._cluster()
        config = self._rendered("dask_config") or {}
        check_mapping("dask_config", config)
        of_hook: Mapping[str, Any] = {}
        of_client = self._rendered("client_kwargs", text_parameters(Client)) or {}
        if self.dask_conn_id is not None:
            hook = DaskHook(self.dask_conn_id)
            if cluster is None:
                cluster, of_hook = hook.cluster, hook.cluster_kwargs
            of_client = {**hook.client_kwargs, **of_client}
            config = {**hook.dask_config, **config}
        of_cluster = self._rendered("cluster_kwargs", takes_text(cluster)) or {}
        if self._more_memory is not None:
            by_class = cluster.get("kwargs") if isinstance(cluster, Mapping) else None
            given = {**(by_class or {}), **of_hook, **of_cluster}
            with guard("more memory than the try before had"):
                earlier = earlier_cards(context, self._store(), self.job)
                grown = self._more_memory.grown(given, earlier)
                of_cluster = {**of_cluster, **grown.arguments}
                if grown.text:
                    self.log.info(
                        "%s, because try %d failed of too little memory",
                        grown.text,
                        grown.attempt,
                    )
        with (
            dask.config.set(config),
            connected_client(
                cluster,
                cluster_kwargs={**of_hook, **of_cluster},
                client_kwargs=of_client,
                adapt=self._rendered("adapt"),
                keep=self.keep_cluster,
                on_start=own,
            ) as client,
        ):
            yield client

    def _store(self) -> TaskStore:
        return TaskStore(self.store, self.store_conn_id, self.store_settings)

    def _rendered(
        self, name: str, is_text: Callable[[str], bool] = lambda _name: False
    ) -> Any:
        return native(self._as_given[name], getattr(self, name), is_text)

    def _cluster(self) -> ClusterSpec:
        given = self._as_given["cluster"]
        rendered = rendered_cluster(given, self.cluster)
        if given is not None and (rendered is None or rendered == ""):
            raise OperatorConfigurationError(
                f"cluster= is {given}, which gives {rendered!r} in this run; it has to "
                "render to an address such as 'tcp://scheduler:8786', or leave out "
                "cluster= to start a LocalCluster"
            )
        return self.make_cluster or rendered

    def on_kill(self) -> None:
        """End the recording, then the waiting: SIGTERM alone would not stop the callable."""
        if self._recorded is not None:
            self._recorded.abort()
        if self._client is not None:
            with (
                guard("cancelling what the killed task waited for"),
                suppress(TimeoutError),  # a busy machine: SIGKILL comes soon
            ):
                self._client.close(timeout=_CLOSING)

    def _recording(self, context: Any) -> TaskRecording:
        parameters = self.parameters
        if parameters is None:
            parameters = parameters_of(context, self._arguments())
        return TaskRecording(
            context,
            function=self.python_callable,
            job=self.job,
            store=self._store(),
            parameters=parameters,
            required=self.required,
            log=self.log,
            host=self._pasted_into(context),
            lineage=run_at_service(context["ti"]),
        )

    def _pasted_into(self, context: Any) -> dict[str, str]:
        """Return the file of this task, and which of its arguments its cluster heeds."""
        file = getattr(getattr(context["ti"].task, "dag", None), "fileloc", None)
        if not file:
            return {}
        facts, given = {"dag_file": PurePath(file).name}, self._as_given["cluster"]
        if self.dask_conn_id or isinstance(given, str) or is_given_later(given):
            facts["takes"] = "client_kwargs"
        elif not is_local(given or self.make_cluster):
            facts["takes"] = "client_kwargs,adapt"
        return facts

    def _arguments(self) -> dict[str, Any]:
        """Return the callable's arguments by name, as far as they have one."""
        try:
            signature = inspect.signature(self.python_callable)
            bound = signature.bind_partial(*self.op_args, **self.op_kwargs)
        except (TypeError, ValueError):  # some builtins have no signature
            return dict(self.op_kwargs)
        named = {**bound.arguments, **self.op_kwargs}
        return {name: value for name, value in named.items() if name != "client"}

    def _pass_client(self, client: Client) -> None:
        """Pass the client to a callable that has a parameter of that name."""
        try:
            signature = inspect.signature(self.python_callable)
            given = signature.bind_partial(*self.op_args, **self.op_kwargs).arguments
        except (TypeError, ValueError):  # some builtins have no signature
            return
        if "client" in signature.parameters and given.get("client") is None:
            self.op_kwargs = {**self.op_kwargs, "client": client}
