"""What `observed_flow` makes of a function and of a flow."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from prefect import flow
from prefect.flows import Flow
from prefect.task_runners import ThreadPoolTaskRunner
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import BlackboxTaskRunner, observed_flow
from prefect_dask_blackbox.task_runners import RecordedRunner


@dataclass
class Order:
    number: int


def runner_of(made: Flow[Any, Any]) -> BlackboxTaskRunner:
    runner = made.task_runner

    assert isinstance(runner, BlackboxTaskRunner)
    return runner


def test_alone_it_makes_a_flow() -> None:
    @observed_flow
    def nightly(number: int = 1) -> int:
        """Do it."""
        return number

    assert isinstance(nightly, Flow)
    assert (nightly.name, nightly.description) == ("nightly", "Do it.")
    assert nightly.fn(2) == 2
    assert nightly.task_runner == ThreadPoolTaskRunner()


def test_alone_it_takes_the_arguments_of_flow() -> None:
    @observed_flow(
        store="s3://bucket/dask",
        name="etl",
        retries=2,
        log_prints=True,
        task_runner=DaskTaskRunner(),
    )
    def nightly() -> None: ...

    assert (nightly.name, nightly.retries, nightly.log_prints) == ("etl", 2, True)
    assert runner_of(nightly).options.store == "s3://bucket/dask"


def test_over_a_flow_it_keeps_what_the_flow_has() -> None:
    theirs: Any = lambda _flow, _run, _state: None  # noqa: E731

    @flow(
        name="etl",
        retries=3,
        on_crashed=[theirs],
        on_failure=[theirs],
        task_runner=DaskTaskRunner(),  # type: ignore[arg-type]
    )
    def plain() -> None: ...

    made = observed_flow(job="nightly")(plain)

    assert (made.name, made.retries, made._entrypoint) == (
        "etl",
        3,
        plain._entrypoint,
    )
    assert made.on_failure_hooks == [theirs]
    assert made.on_crashed_hooks[1:] == [theirs]
    assert made.on_crashed_hooks[0] is not theirs
    assert plain.on_crashed_hooks == [theirs]
    assert runner_of(made).options.job == "nightly"


def test_over_a_flow_the_arguments_of_flow_change_it() -> None:
    @flow(name="etl", retries=3)
    def plain() -> None: ...

    made = observed_flow(name="other")(plain)

    assert (made.name, made.retries) == ("other", 3)


def test_the_settings_of_a_dask_task_runner_are_kept() -> None:
    runner = DaskTaskRunner(
        cluster_class="distributed.LocalCluster",
        cluster_kwargs={"n_workers": 3},
        adapt_kwargs={"maximum": 5},
        client_kwargs={"timeout": "20s"},
    )

    made = observed_flow(task_runner=runner)(lambda: None)

    assert made.task_runner == runner
    assert runner_of(made)._given["cluster_kwargs"] == {"n_workers": 3}


def test_a_blackbox_task_runner_keeps_its_options_unless_the_decorator_gives_others() -> (
    None
):
    runner = BlackboxTaskRunner(store="s3://one", job="own")

    made = observed_flow(store="s3://other", task_runner=runner)(lambda: None)

    assert runner_of(made).options.store == "s3://other"
    assert runner_of(made).options.job == "own"


def test_another_task_runner_is_left_as_it_is() -> None:
    runner: Any = ThreadPoolTaskRunner(max_workers=3)

    assert observed_flow(task_runner=runner)(lambda: None).task_runner is runner


class Theirs(DaskTaskRunner):
    """A runner as others derive it: with arguments of its own."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(cluster_kwargs={"n_workers": size})

    def duplicate(self) -> Any:
        return type(self)(self.size)

    def __reduce__(self) -> Any:
        return (type(self), (self.size,))


def test_a_task_runner_derived_by_others_is_recorded_as_it_is() -> None:
    made = observed_flow(store="s3://other", task_runner=Theirs(3))(lambda: None)

    copy: Any = made.task_runner.duplicate()

    assert isinstance(copy, Theirs)
    assert isinstance(copy, RecordedRunner)
    assert (copy.size, copy.cluster_kwargs) == (3, {"n_workers": 3})
    assert copy.options.store == "s3://other"


def test_other_options_do_not_switch_the_recording_off() -> None:
    made = observed_flow(store="s3://other")(lambda: None)

    theirs: list[Any] = [DaskTaskRunner(), Theirs(2)]

    changed = made.with_options(task_runner=theirs[0], retries=2)
    again = changed.with_options(task_runner=theirs[1], name="other")

    assert runner_of(changed).options.store == "s3://other"
    assert (changed.retries, again.retries, again.name) == (2, 2, "other")
    assert isinstance(again.task_runner, RecordedRunner)
    assert again.task_runner.options.store == "s3://other"


def test_parameters_are_validated_with_the_types_of_the_users_module() -> None:
    @observed_flow
    def nightly(order: Order, times: int) -> Any: ...

    parameters = nightly.validate_parameters({"order": {"number": "7"}, "times": "3"})

    assert parameters == {"order": Order(7), "times": 3}
    assert list(inspect.signature(nightly.fn).parameters) == ["order", "times"]


def test_an_async_function_stays_one() -> None:
    @observed_flow
    async def nightly() -> int:
        return 1

    assert nightly.isasync
    assert inspect.iscoroutinefunction(nightly.fn)
