"""`observed_flow`: a Prefect flow whose Dask work is recorded, explained and shown.

@observed_flow(store="s3://bucket/dask", name="etl", retries=2)
def etl() -> None: ...

@observed_flow                      # or on an existing flow
@flow(task_runner=DaskTaskRunner(cluster_kwargs={"n_workers": 4}))
def etl() -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from types import FunctionType
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, cast, overload

from prefect.flows import Flow, FlowStateHook
from prefect.flows import flow as prefect_flow
from prefect.task_runners import TaskRunner
from prefect_dask.task_runners import DaskTaskRunner

from prefect_dask_blackbox.fastapi_versions import warn_of_fastapi
from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.task_runners import recorded

__all__ = ["FlowOptions", "observed_flow"]

P = ParamSpec("P")
R = TypeVar("R")


class FlowOptions(TypedDict, total=False):
    """The arguments of Prefect's `@flow`, which `observed_flow` takes as well."""

    name: str | None
    version: str | None
    flow_run_name: Callable[[], str] | str | None
    retries: int | None
    retry_delay_seconds: float | None
    task_runner: TaskRunner[Any] | None
    description: str | None
    timeout_seconds: float | None
    validate_parameters: bool
    persist_result: bool | None
    result_storage: object
    result_serializer: object
    cache_result_in_memory: bool
    log_prints: bool | None
    on_completion: list[FlowStateHook[..., object]] | None
    on_failure: list[FlowStateHook[..., object]] | None
    on_cancellation: list[FlowStateHook[..., object]] | None
    on_crashed: list[FlowStateHook[..., object]] | None
    on_running: list[FlowStateHook[..., object]] | None


class _Decorator(Protocol):
    """What `observed_flow(...)` returns: takes a flow or a function, gives a flow."""

    @overload
    def __call__(self, fn: Flow[P, R], /) -> Flow[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Flow[P, R]: ...


@overload
def observed_flow(fn: Flow[P, R], /) -> Flow[P, R]: ...
@overload
def observed_flow(fn: Callable[P, R], /) -> Flow[P, R]: ...
@overload
def observed_flow(
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
    **flow_options: Unpack[FlowOptions],
) -> _Decorator: ...


def observed_flow(
    fn: Any = None,
    /,
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
    **flow_options: Unpack[FlowOptions],
) -> Any:
    """Make a flow whose runs are recorded and explained on their own page in Prefect.

    The clusters of the flow's task runner are recorded, if that is a `DaskTaskRunner` or
    derived from it, and the clusters of all Dask clients that the flow itself creates,
    whatever its task runner is.

    Args:
        fn: A function, or a flow that `@flow` returned.
        store: `s3://bucket/prefix`, a folder, or `block:NAME`; None: as in `blackbox.store.url`.
        job: Job name, by which runs are compared; None: the flow's name, with that of its
            deployment.
        parameters: What to record as the run's parameters; None: the flow run's own.
        required: Fail the flow run if it can't be recorded.
        store_settings: Settings of the store that differ from `blackbox.store`.
        fail_flow_on_lost_tasks: Fail a flow that doesn't notice that its tasks died with
            their workers, instead of completing it.
        follow_retry_advice: Don't use the flow's retries if the advice says with high
            confidence that it would fail again (`code`, `data` or `environment`).
        transient_retries: How often to retry the flow, in addition to its own retries, if
            the verdict says with medium or high confidence that the failure was
            transient.
        fast_submit: Serialise Prefect's settings once per flow run, not for each task.
        task_parameters: Show on the card with which arguments the affected and the slowest
            tasks were called, shortened and without secrets.
        on_memory: More memory for the next attempt, if the verdict on the one before was
            too little memory: the argument of the cluster, its factor and its limit, as
            `{"memory_limit": "x2", "most": "16 GiB"}`.
        **flow_options: Arguments of Prefect's `@flow`; on an existing flow, they change it.

    Raises:
        ConfigurationError: if the store's URL or `on_memory` can't work.
    """
    warn_of_fastapi()
    options = RecordingOptions(
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

    def decorate(plain: Any) -> Flow[Any, Any]:
        if not isinstance(plain, Flow):
            plain = prefect_flow(**cast("Any", flow_options))(plain)
        elif flow_options:
            plain = plain.with_options(**cast("Any", flow_options))
        return _observed(plain, options)

    return decorate if fn is None else decorate(fn)


def _observed(plain: Flow[P, R], options: RecordingOptions) -> Flow[P, R]:
    late_card: Any = _crashed_flow_hook()
    made = plain.with_options(
        task_runner=_runner(plain.task_runner, options),
        on_crashed=[late_card, *plain.on_crashed_hooks],
        on_cancellation=[late_card, *plain.on_cancellation_hooks],
    )
    if not made.isgenerator:
        made.fn = _watched(made.fn, options, is_async=made.isasync)
    theirs = type(made)
    if not issubclass(theirs, _Observed):
        made.__class__ = type(theirs.__name__, (_Observed, theirs), {"_theirs": theirs})
    vars(made)["_recording_options"] = options
    return made


def _runner(runner: TaskRunner[Any], options: RecordingOptions) -> Any:
    """Return a task runner that records what it can: its flow's Dask clients are, anyway."""
    return recorded(runner, options) if isinstance(runner, DaskTaskRunner) else runner


class _Observed(Flow[Any, Any]):
    """A flow that stays recorded when somebody changes its options."""

    _theirs: type[Flow[Any, Any]]
    _recording_options: RecordingOptions

    def with_options(self, **options: Any) -> Any:
        if options.get("task_runner") is not None:
            given = options["task_runner"]
            given = given() if isinstance(given, type) else given
            options["task_runner"] = _runner(given, self._recording_options)
        made = super().with_options(**options)
        made.__class__ = type(self)
        vars(made)["_recording_options"] = self._recording_options
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        # It travels as a flow of Prefect's: this package may not be where it arrives.
        plain = self._theirs.__new__(self._theirs)
        plain.__dict__.update(vars(self))
        return (_identity_by_value(), (plain,))


def _identity_by_value() -> Callable[[Any], Any]:
    # A nested function travels by value.
    def itself(flow: Any) -> Any:
        return flow

    return itself


def _watched(fn: Any, options: RecordingOptions, *, is_async: bool) -> Any:
    """Return the flow's function with the recording begun before and checked after it.

    The flow is pickled into each of its tasks, to places where this package may not be
    installed, hence the nested functions, which travel by value and import within.
    """

    def watched(*args: Any, **kwargs: Any) -> Any:
        from time import monotonic

        began = monotonic()  # as its time limit did: the import below takes long
        try:
            from prefect_dask_blackbox.flow_function import watching
        except ImportError:
            return fn(*args, **kwargs)
        with watching(options, began=began) as watch:
            result = fn(*args, **kwargs)
            watch.landed(result)
        return result

    async def watched_async(*args: Any, **kwargs: Any) -> Any:
        from time import monotonic

        began = monotonic()
        try:
            from prefect_dask_blackbox.flow_function import watching
        except ImportError:
            return await fn(*args, **kwargs)
        async with watching(options, began=began) as watch:
            result = await fn(*args, **kwargs)
            await watch.landed_async(result)
        return result

    chosen = watched_async if is_async else watched
    # With the globals of the user's module, where Prefect looks up the types of a flow's
    # parameters: so the functions above may use no name of this module.
    made = FunctionType(
        chosen.__code__,
        fn.__globals__,
        fn.__name__,
        chosen.__defaults__,
        chosen.__closure__,
    )
    return update_wrapper(made, fn)


def _crashed_flow_hook() -> Callable[[Any, Any, Any], None]:
    # Nested, for the same reason.
    def show_card_of_dask_run(flow: Any, flow_run: Any, state: Any) -> None:
        from prefect_dask_blackbox.runner_hook import show_late_card

        show_late_card(flow, flow_run)

    return show_card_of_dask_run
