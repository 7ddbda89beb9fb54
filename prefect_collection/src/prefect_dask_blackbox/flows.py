"""`observed_flow`: a Prefect flow whose Dask work is recorded, explained and shown.

@observed_flow(store="s3://bucket/dask", name="etl", retries=2)
def etl() -> None: ...

@observed_flow                      # or over a flow that is there already
@flow(task_runner=DaskTaskRunner(cluster_kwargs={"n_workers": 4}))
def etl() -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from types import FunctionType
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, cast, overload

from dask_blackbox.errors import ConfigurationError
from prefect.flows import Flow, FlowStateHook
from prefect.flows import flow as prefect_flow
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from prefect_dask.task_runners import DaskTaskRunner

from prefect_dask_blackbox.options import RecordingOptions
from prefect_dask_blackbox.task_runners import BlackboxTaskRunner

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
    result_storage: Any
    result_serializer: Any
    cache_result_in_memory: bool
    log_prints: bool | None
    on_completion: list[FlowStateHook[..., Any]] | None
    on_failure: list[FlowStateHook[..., Any]] | None
    on_cancellation: list[FlowStateHook[..., Any]] | None
    on_crashed: list[FlowStateHook[..., Any]] | None
    on_running: list[FlowStateHook[..., Any]] | None


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
    **flow_options: Unpack[FlowOptions],
) -> Any:
    """Make a flow whose runs are recorded and explained on their own page in Prefect.

    Tasks run on Dask: with the flow's `DaskTaskRunner`, or, if it has no task runner of
    its own, with a `BlackboxTaskRunner` on a cluster of this machine.

    Args:
        fn: A function, or a flow that `@flow` made.
        store: `s3://bucket/prefix` or a folder; None: as in `blackbox.store.url`.
        job: What is run again and again; None: the flow's name, with its deployment's.
        parameters: What to record as the run's parameters; None: the flow run's own.
        required: Fail the flow run when it can't be recorded.
        store_settings: Settings of the store that differ from `blackbox.store`.
        fail_flow_on_lost_tasks: A flow that doesn't notice that its tasks died with their
            workers fails instead of ending green.
        follow_retry_advice: Where the verdict is sure that the flow would fail again
            (advice `code`, `data` or `environment`, high confidence), its retries are
            not used.
        **flow_options: Arguments of Prefect's `@flow`; over a flow, they change it.

    Raises:
        ConfigurationError: if the flow's task runner is not Dask's.
    """
    options = RecordingOptions(
        store=store,
        job=job,
        parameters=parameters,
        required=required,
        store_settings=store_settings,
        fail_flow_on_lost_tasks=fail_flow_on_lost_tasks,
        follow_retry_advice=follow_retry_advice,
    )

    def decorate(plain: Any) -> Flow[Any, Any]:
        if not isinstance(plain, Flow):
            plain = prefect_flow(**cast("Any", flow_options))(plain)
        elif flow_options:
            plain = plain.with_options(**cast("Any", flow_options))
        return _observed(plain, options)

    return decorate if fn is None else decorate(fn)


def _observed(plain: Flow[P, R], options: RecordingOptions) -> Flow[P, R]:
    late_card: Any = _card_of_a_dead_flow()
    runner: Any = _recorded(plain.task_runner, options, plain.name)
    made = plain.with_options(
        task_runner=runner,
        on_crashed=[late_card, *plain.on_crashed_hooks],
        on_cancellation=[late_card, *plain.on_cancellation_hooks],
    )
    if not made.isgenerator:
        made.fn = _watched(made.fn, is_async=made.isasync)
    return made


def _recorded(
    runner: TaskRunner[Any], options: RecordingOptions, name: str
) -> BlackboxTaskRunner:
    if isinstance(runner, DaskTaskRunner):
        return BlackboxTaskRunner.from_runner(runner, options)
    if runner == ThreadPoolTaskRunner():
        return BlackboxTaskRunner(**options.given())
    raise ConfigurationError(
        f"observed_flow records what runs on Dask, and the flow {name!r} has a "
        f"{type(runner).__name__}; give it task_runner=BlackboxTaskRunner(...) or none"
    )


def _watched(fn: Any, *, is_async: bool) -> Any:
    """Return the flow's function with the recording begun before and checked after it.

    The flow is pickled into each of its tasks, to places where this package may not be
    installed, hence the nested functions, which travel by value and import within.
    """

    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            from prefect_dask_blackbox.watch import watching
        except ImportError:
            return fn(*args, **kwargs)
        with watching() as watch:
            result = fn(*args, **kwargs)
            watch.landed(result)
        return result

    async def watched_async(*args: Any, **kwargs: Any) -> Any:
        try:
            from prefect_dask_blackbox.watch import watching
        except ImportError:
            return await fn(*args, **kwargs)
        async with watching() as watch:
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


def _card_of_a_dead_flow() -> Callable[[Any, Any, Any], None]:
    # Nested, for the same reason.
    def show_card_of_dask_run(flow: Any, flow_run: Any, state: Any) -> None:
        from prefect_dask_blackbox.late import show_late_card

        show_late_card(flow, flow_run)

    return show_card_of_dask_run
