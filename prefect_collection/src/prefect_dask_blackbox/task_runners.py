"""`BlackboxTaskRunner`: Prefect's Dask task runner, with a flight recorder.

Prefect enters a duplicate of the flow's runner for each attempt of a flow run, and again
on each worker for each task; the recording is made once, where the flow itself runs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self, cast

from dask_blackbox.guard import guard
from dask_blackbox.more_memory import MoreMemory
from dask_blackbox.settings import setting
from distributed import get_client, get_worker
from prefect.context import FlowRunContext
from prefect_dask.client import PrefectDaskClient
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from prefect_dask_blackbox.annotations import dask_futures_in, inputs_of_annotated
from prefect_dask_blackbox.cluster_arguments import arguments_of_attempt
from prefect_dask_blackbox.deferred_signals import deferred_signals
from prefect_dask_blackbox.fast_submit import FastSubmit
from prefect_dask_blackbox.masked_blocks import follow_blocks
from prefect_dask_blackbox.options import RecordingOptions

if TYPE_CHECKING:
    # Loaded when a run is observed: on workers, no run is.
    from threading import Thread

    from distributed.deploy.cluster import Cluster
    from prefect.tasks import Task

    from prefect_dask_blackbox.cluster_arguments import ClusterArguments
    from prefect_dask_blackbox.observed_run import ObservedRun

__all__ = ["BlackboxTaskRunner", "RecordedRunner", "observed_here", "recorded"]

# With the import: blocks are often loaded at the top of a script.  The runner is imported
# on workers, too, where tasks load theirs.
follow_blocks()


class RecordedRunner(DaskTaskRunner):
    """A `DaskTaskRunner` whose flow runs are recorded: the part without arguments.

    Attributes:
        options: How to record.
    """

    options: RecordingOptions
    _observed: ObservedRun | None
    _unobservable: bool

    def _prepare(self) -> None:
        self._observed, self._unobservable = None, False
        self._before: ObservedRun | None = None
        self._attached = False
        self._patience = ExitStack()
        self._fast: FastSubmit | None = None
        # Others may use the cluster, too, and it outlives the flow run.
        self._shared = True
        self._client = cast("Any", _ClientToCome(self))

    @property
    def client(self) -> PrefectDaskClient:
        """The Dask client; made on first use, and the recording attached to it."""
        # Before there is a cluster: a run that must be recorded and can't be fails now.
        observed = None
        if not self._attached:
            observed = self.observe()
            if observed is not None and observed.fast_submit:
                self._fast = FastSubmit()
            self._shared = bool(self.address or self._cluster or _has_client())
            if not self._shared:
                with guard("settings of the cluster"):
                    from dask_blackbox.driver.host_task import (
                        longer_worker_timeout,
                    )

                    self._patience.enter_context(longer_worker_timeout())
                self._set_cluster_arguments(observed)
        client = self._prefects_client()
        if not self._attached:
            self._attached = True
            if observed is not None:
                with guard("recording what happens on the Dask cluster"):
                    observed.attach(client, own_cluster=not self._shared)
        return client

    def _set_cluster_arguments(self, observed: ObservedRun | None) -> None:
        """Set what the cluster of this attempt is started with."""
        given, on_memory = self._given_arguments(), self.options.on_memory
        if on_memory is not None or callable(given):
            self.cluster_kwargs = arguments_of_attempt(given, on_memory, observed)

    def _given_arguments(self) -> Any:
        return self.cluster_kwargs

    def _prefects_client(self) -> PrefectDaskClient:
        # On workers, tasks that submit tasks come here: nothing is recorded there.
        from prefect_dask_blackbox.own_clients import clients_of_others

        with clients_of_others():
            return super().client

    def observe(self, began: float | None = None) -> ObservedRun | None:
        """Begin to observe the flow run that runs here, unless it is observed already.

        Args:
            began: When its function was called, by `time.monotonic`; None: now.

        Returns:
            The run; None on a worker, where the flow's own process observes.

        Raises:
            BlackboxError: if the run can't be recorded and that is required.
        """
        context = FlowRunContext.get()
        ready = self._observed is None and not self._unobservable
        if ready and context is not None:
            self._observed = observed_here(context, self.options, began)
            self._unobservable = self._observed is None  # said once
            if self._observed is not None:
                from prefect_dask_blackbox.own_clients import entered

                self._observed.settled_later = True
                self._before = entered(self._observed)
        return self._observed

    def submit(  # type: ignore[override]  # the overloads of TaskRunner differ by nothing that matters here
        self,
        task: Task[Any, Any],
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectDaskFuture[Any]] | None = None,
        dependencies: dict[str, set[Any]] | None = None,
    ) -> PrefectDaskFuture[Any]:
        _ = self.client  # making a cluster takes long, and may be interrupted
        with deferred_signals():
            return self._submit(task, parameters, wait_for, dependencies)

    def _submit(
        self,
        task: Task[Any, Any],
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectDaskFuture[Any]] | None,
        dependencies: dict[str, set[Any]] | None,
    ) -> PrefectDaskFuture[Any]:
        if self._observed is not None:
            with guard("secrets among the parameters of a task"):
                self._observed.ledger.mask_secrets(parameters)
        if annotated := inputs_of_annotated(parameters):
            dependencies = {**annotated, **(dependencies or {})}
        fast = self._fast
        if fast is None:
            future = super().submit(task, parameters, wait_for, dependencies)
        else:
            with fast.settings():
                future = self._submit_with_key(
                    fast.key(task), task, parameters, wait_for, dependencies
                )
        if self._observed is not None:
            with guard("following a submitted task"):
                future = self._observed.follow(task, parameters, future, wait_for)
        return future

    def _optimize_futures(self, expr: Any) -> Any:
        return dask_futures_in(lambda: self.client, expr)

    def _submit_with_key(
        self,
        key: str,
        task: Task[Any, Any],
        parameters: dict[str, Any],
        wait_for: Iterable[PrefectDaskFuture[Any]] | None,
        dependencies: dict[str, set[Any]] | None,
    ) -> PrefectDaskFuture[Any]:
        """Do what `DaskTaskRunner.submit` does, with a key: it lets nobody give one."""
        client: Any = self.client
        future = client.submit(
            task,
            key=key,
            parameters=self._optimize_futures(parameters),
            wait_for=self._optimize_futures(wait_for) if wait_for else None,
            dependencies=dependencies,
            return_type="state",
        )
        return PrefectDaskFuture(task_run_id=future.task_run_id, wrapped_future=future)

    def __enter__(self) -> Self:
        super().__enter__()  # type: ignore[no-untyped-call]
        if _on_worker():
            with guard("the logs of tasks"):
                _send_task_logs()
        return self

    def __exit__(self, *args: object) -> None:
        observed, self._observed = self._observed, None
        ending: Thread | None = None
        if observed is not None:
            from prefect_dask_blackbox.own_clients import entered

            with guard("ending the recording of the flow run"):
                ending = observed.end_beside(_exception(args))
            entered(self._before)
        try:
            super().__exit__(*args)
        finally:
            if ending is not None:
                ending.join()
        self._patience.close()
        if observed is not None:
            with guard("giving every task run a final state"):
                observed.settle(cluster_gone=not self._shared)


class BlackboxTaskRunner(RecordedRunner):
    """Run tasks on Dask and record the run; takes the arguments of `DaskTaskRunner` and more.

    Args:
        cluster: A cluster that is already running.
        address: The address of a scheduler that is already running.
        cluster_class: The class of the cluster; by default `distributed.LocalCluster`.
        cluster_kwargs: Its arguments; or a function that returns them, of the number of the
            attempt, from 1, and the verdict on the attempt before, or None.
        adapt_kwargs: Arguments of `cluster.adapt`.
        client_kwargs: Arguments of `distributed.Client`.
        performance_report_path: Where prefect-dask writes its report; not needed, because
            the recording contains one.
        store: `s3://bucket/prefix`, a folder, or `block:NAME`; None: as in `blackbox.store.url`.
        job: Job name, by which runs are compared; None: the flow's name, with that of its
            deployment.
        parameters: What to record as the run's parameters; None: the flow run's own.
        required: Fail the flow run if it can't be recorded.
        store_settings: Settings of the store that differ from `blackbox.store`.
        fail_flow_on_lost_tasks: Fail a flow that doesn't notice that its tasks died with
            their workers, instead of completing it.
        follow_retry_advice: Don't retry a flow if its retry advice says with high confidence
            that it would fail again; only for flows made by `observed_flow`.
        transient_retries: How often to retry a flow if the verdict says with medium or high
            confidence that the failure was transient; only for flows made by
            `observed_flow`.
        fast_submit: Serialise Prefect's settings once per flow run, not for each task.
        task_parameters: Show on the card with which arguments the affected and the slowest
            tasks were called, shortened and without secrets.
        on_memory: More memory for the next attempt of a flow, if the verdict on the one
            before was too little memory: the argument of the cluster, its factor and its
            limit, as `{"memory_limit": "x2", "most": "16 GiB"}`.

    Raises:
        ConfigurationError: if the store's URL or `on_memory` can't work.
        ValueError: if there are arguments of a cluster that already exists.
    """

    def __init__(  # noqa: PLR0917 - as DaskTaskRunner has it
        self,
        cluster: Cluster | None = None,
        address: str | None = None,
        cluster_class: str | Callable[[], Cluster] | None = None,
        cluster_kwargs: dict[str, Any] | ClusterArguments | None = None,
        adapt_kwargs: dict[str, Any] | None = None,
        client_kwargs: dict[str, Any] | None = None,
        performance_report_path: str | None = None,
        *,
        store: str | None = None,
        job: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        required: bool = False,
        store_settings: Mapping[str, Any] | None = None,
        fail_flow_on_lost_tasks: bool = True,
        follow_retry_advice: bool = False,
        transient_retries: int = 0,
        fast_submit: bool = False,
        task_parameters: bool = True,
        on_memory: Mapping[str, str] | None = None,
    ) -> None:
        # Kept as given: the first client changes the attributes of an entered runner.
        self._given: dict[str, Any] = {
            "cluster": cluster,
            "address": address,
            "cluster_class": cluster_class,
            "cluster_kwargs": cluster_kwargs,
            "adapt_kwargs": adapt_kwargs,
            "client_kwargs": client_kwargs,
            "performance_report_path": performance_report_path,
        }
        existing = address or (None if cluster is None else repr(cluster))
        plain = dict(self._given)
        if callable(cluster_kwargs):
            if existing is not None:
                raise ValueError(
                    f"cluster_kwargs are for a cluster that is started for each attempt, "
                    f"and the one at {existing!r} already exists; remove cluster_kwargs"
                )
            plain["cluster_kwargs"] = None
        MoreMemory.of(on_memory, existing)
        super().__init__(**plain)
        self.options = RecordingOptions(
            store=store,
            job=job,
            parameters=parameters,
            required=required,
            store_settings=store_settings,
            fail_flow_on_lost_tasks=fail_flow_on_lost_tasks,
            follow_retry_advice=follow_retry_advice,
            transient_retries=transient_retries,
            fast_submit=fast_submit,
            task_parameters=task_parameters,
            on_memory=on_memory,
        ).checked()
        self._prepare()

    def _given_arguments(self) -> Any:
        return self._given["cluster_kwargs"] or {}

    @classmethod
    def from_runner(
        cls, runner: DaskTaskRunner, options: RecordingOptions | None = None
    ) -> Self:
        """Return a recorded runner that does what a `DaskTaskRunner` does.

        Args:
            runner: The runner of a flow, not entered; of that very class, or of ours.
            options: How to record; what they give comes before the runner's own.
        """
        options = options or RecordingOptions()
        if isinstance(runner, BlackboxTaskRunner):
            own = runner.options.changed_by(options)
            return cls(**runner._given, **own.given())  # noqa: SLF001 - one of ours
        return cls(
            cluster=runner._cluster,  # noqa: SLF001 - as given, it is not entered
            address=runner.address,
            cluster_class=runner.cluster_class,
            cluster_kwargs=runner.cluster_kwargs,
            adapt_kwargs=runner.adapt_kwargs,
            client_kwargs=runner.client_kwargs,
            performance_report_path=runner.performance_report_path,
            **options.given(),
        )

    def duplicate(self) -> Self:
        return type(self)(**self._given, **self.options.given())

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as something that can be unpickled where this package is not.

        The flow, and its runner with it, is pickled into each of its tasks.  A cluster
        object stays behind: it can't travel, and a task finds its scheduler without it.
        """
        theirs = {name: value for name, value in self._given.items() if value}
        theirs.pop("cluster", None)
        if callable(theirs.get("cluster_kwargs")):
            del theirs["cluster_kwargs"]  # no task starts a cluster with them
        return (_portable_revive(), (theirs, self.options.portable()))


def recorded(runner: DaskTaskRunner, options: RecordingOptions) -> RecordedRunner:
    """Return a runner like another one, of any class, whose flow runs are recorded.

    Args:
        runner: The runner of a flow, not entered.
        options: How to record; what they give comes before the runner's own.
    """
    if isinstance(runner, BlackboxTaskRunner) or type(runner) is DaskTaskRunner:
        return BlackboxTaskRunner.from_runner(runner, options)
    if isinstance(runner, _DerivedRunner):
        options = runner.options.changed_by(options)
    made = copy.copy(runner)
    theirs = type(runner)
    if not issubclass(theirs, _DerivedRunner):
        name = f"Recorded{theirs.__name__}"
        made.__class__ = type(name, (_DerivedRunner, theirs), {"_theirs": theirs})
    assert isinstance(made, _DerivedRunner)  # noqa: S101 - for mypy
    made.options = options
    made._exit_stack = ExitStack()  # noqa: SLF001 - the copy's own
    made._prepare()  # noqa: SLF001 - one of ours
    return made


class _DerivedRunner(RecordedRunner):
    """What a class of somebody else's, derived from `DaskTaskRunner`, is recorded as."""

    _theirs: type[DaskTaskRunner]

    def duplicate(self) -> Any:
        cluster = self._cluster if not self._attached else None
        made = recorded(cast("Any", _plain(self)).duplicate(), self.options)
        made._cluster = made._cluster or cluster  # noqa: SLF001 - Prefect's gets lost
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        plain = _plain(self)
        plain._cluster = None  # noqa: SLF001 - a task finds its scheduler without it
        return (_portable_record(), (plain, self.options))


_OURS = (
    "options",
    "_fast",
    "_observed",
    "_before",
    "_attached",
    "_patience",
    "_shared",
)


def _plain(runner: _DerivedRunner) -> DaskTaskRunner:
    """Return a runner as it was before it was recorded."""
    made = runner._theirs.__new__(runner._theirs)  # noqa: SLF001 - one of ours
    made.__dict__.update(
        {name: value for name, value in vars(runner).items() if name not in _OURS}
    )
    made._client, made._exit_stack = None, ExitStack()  # noqa: SLF001 - not entered
    return made


def observed_here(
    context: FlowRunContext, options: RecordingOptions, began: float | None = None
) -> ObservedRun | None:
    """Begin to observe the flow run of a context; None on a worker.

    Args:
        context: Of the flow run.
        options: How to record.
        began: When its function was called, by `time.monotonic`; None: now.

    Raises:
        BlackboxError: if the run can't be recorded and that is required.
    """
    if not _is_ours(context) or not _is_enabled():
        return None
    from prefect_dask_blackbox.observed_run import ObservedRun

    observed: ObservedRun | None = None
    failed: list[Exception] = []

    def unobserved(doing: str, error: Exception) -> None:
        failed.append(error)
        if not _is_required(options):
            _say_unobserved(context, error)

    with guard("observing this flow run", on_error=unobserved):
        observed = ObservedRun(context, options, began)
    if failed and _is_required(options):
        raise failed[0]
    if observed is not None:
        observed.begin()
    return observed


def _is_enabled() -> bool:
    found = True
    with guard("the setting `enabled`"):
        from prefect_dask_blackbox.settings import DaskBlackboxSettings

        found = DaskBlackboxSettings().enabled
    return found  # noqa: RET504 - the guard swallows errors


def _is_required(options: RecordingOptions) -> bool:
    found = [options.required]
    with guard("the setting `required`"):
        found += [options.with_settings().required, bool(setting("required"))]
    return any(found)


def _say_unobserved(context: FlowRunContext, error: Exception) -> None:
    from prefect.logging.loggers import flow_run_logger

    assert context.flow_run is not None  # noqa: S101 - for mypy
    kind = type(error).__name__
    flow_run_logger(context.flow_run).warning("Not recorded: %s: %s", kind, error)


class _ClientToCome:
    """Stands where the client will be, so that `get_dask_client` works at once.

    That one asks the runner's client for the scheduler's address without waiting for the
    first submitted task, which is when prefect-dask makes the client.
    """

    def __init__(self, runner: RecordedRunner) -> None:
        self._runner = runner

    def __bool__(self) -> bool:
        return False

    def scheduler_info(self, *args: Any, **kwargs: Any) -> Any:
        return self._runner.client.scheduler_info(*args, **kwargs)


def _has_client() -> bool:
    """Return whether there is a client already, whose cluster prefect-dask will use."""
    try:
        get_client()
    except ValueError:
        return False
    return True


def _exception(args: tuple[object, ...]) -> BaseException | None:
    return next((each for each in args if isinstance(each, BaseException)), None)


def _is_ours(context: FlowRunContext) -> bool:
    """Return whether this is the flow's own process, and not a worker."""
    return not (context.detached or context.flow_run is None or _on_worker())


def _on_worker() -> bool:
    """Return whether this is a Dask worker, in a task."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


def _send_task_logs() -> None:
    """Send what tasks log to Prefect, where nothing does yet.

    Prefect sets its logging up where somebody imports flows or tasks from it by name; on a
    worker to which all of a flow travels by value, nobody does.  Newer versions of Prefect
    set it up there, too.
    """
    from prefect.logging import configuration

    if not configuration.PROCESS_LOGGING_CONFIG:
        configuration.setup_logging()


def _portable_revive() -> Callable[..., DaskTaskRunner]:
    # A nested function travels by value: it needs no import of this module.
    def revive(theirs: dict[str, Any], ours: dict[str, Any]) -> DaskTaskRunner:
        try:
            from prefect_dask_blackbox.task_runners import BlackboxTaskRunner as Runner
        except ImportError:
            from prefect_dask.task_runners import DaskTaskRunner as Runner  # type: ignore[assignment]

            ours = {}
        return Runner(**theirs, **ours)

    return revive


def _portable_record() -> Callable[..., DaskTaskRunner]:
    def record(plain: DaskTaskRunner, options: Any) -> DaskTaskRunner:
        try:
            from prefect_dask_blackbox.task_runners import recorded
        except ImportError:
            return plain
        return recorded(plain, options)

    return record
