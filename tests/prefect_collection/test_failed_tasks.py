"""Tasks whose own function raises: to Dask they succeed, the verdict must know better."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from flow_clusters import own_runner, shared_cluster, shared_runner
from prefect import allow_failure, flow, pause_flow_run, task
from prefect.assets import Asset, AssetProperties, materialize
from prefect.exceptions import UnfinishedRun
from prefect.futures import PrefectFuture
from prefect.states import Failed
from prefect.utilities import annotations as prefect_annotations
from prefect.utilities.annotations import quote
from prefect_dask_blackbox import BlackboxTaskRunner, observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

OPAQUE: Any = getattr(prefect_annotations, "opaque", lambda value: value)
"""An annotation of newer versions of Prefect."""


@task
def cleaned(part: int) -> int:
    if part == 2:
        raise ValueError("part 2 has no header")
    return part


@task
def doubled(part: int) -> int:
    return 2 * part


@pytest.mark.parametrize(
    "asked",
    [
        "for the results",
        pytest.param("for nothing", marks=pytest.mark.nightly),
        pytest.param("for others", marks=pytest.mark.nightly),
    ],
)
def test_an_exception_that_prefect_keeps_as_a_state_is_the_verdict(
    asked: str, prefect: Any, store: Path
) -> None:
    @observed_flow(name="cleans", task_runner=shared_runner())
    def cleans() -> list[Any]:
        futures: list[PrefectFuture[int]] = [cleaned.submit(i) for i in range(3)]
        if asked == "for others":  # which Prefect never begins
            needs: Any = doubled
            return [needs.submit(future).result() for future in futures]
        return [f.result() for f in futures] if asked == "for the results" else futures

    cleans(return_state=True)

    run = prefect.newest("cleans", store)
    assert run.state == "FAILED"
    assert "part 2 has no header" in run.message
    verdict = run.card.verdict
    assert verdict.rule == "task-exception"
    assert "ValueError: part 2 has no header" in verdict.cause
    assert verdict.subject.prefix == "cleaned"
    assert verdict.retry_advice == "code"


REVENUE = "s3://shop/revenue"
REVENUE_PAGE = "https://shop.example/revenue"


@materialize(Asset(key=REVENUE, properties=AssetProperties(url=REVENUE_PAGE)))
def revenue(orders: int) -> None:
    if orders:
        raise ValueError(f"no price for {orders} orders")


def test_the_card_the_event_and_the_jobs_page_name_the_asset_that_a_failed_task_did_not_write(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="materializes", task_runner=shared_runner())
    def materializes(orders: int) -> None:
        revenue.submit(orders).result()

    materializes(0)
    good = prefect.newest("materializes", store)
    linked = f"`{REVENUE}` ([open](<{REVENUE_PAGE}>))"
    assets = f"| {linked} | "
    [row] = rows_with(prefect.page("dask-job-materializes"), assets)
    materializes(3, return_state=True)

    run = prefect.newest("materializes", store)
    page = run.artifacts["dask-run-materializes"]
    assert f"asset not materialized: {linked}" in page
    assert prefect.related("dask.run.diagnosed", run.id)["asset"] == [REVENUE]
    [(good_card, _)] = prefect.attempts_of(good.id).values()
    assert f"/artifacts/artifact/{good_card}>)" in row
    assert row.endswith(">) |  |")
    [later] = rows_with(prefect.page("dask-job-materializes"), assets)
    assert later == row.replace(">) |  |", ">) | 1 run |")


def rows_with(page: str, text: str) -> list[str]:
    return [row for row in page.splitlines() if text in row]


@task
def told(given: Any = None) -> str:
    return repr(given)


def test_annotations_work_and_a_completed_flow_counts_the_task_runs_that_failed(
    prefect: Any, store: Path
) -> None:
    answers: dict[str, str] = {}

    @observed_flow(name="allows", task_runner=shared_runner())
    def allows() -> None:
        bad, good = cleaned.submit(2), cleaned.submit(1)
        futures: dict[str, Any] = {
            "one": told.submit(allow_failure(bad)),
            "list": told.submit(allow_failure([bad, good])),
            "nested": told.submit({"part": [allow_failure(bad)]}),
            "waited for": told.submit(7, wait_for=[allow_failure([bad, good])]),  # type: ignore[call-overload]
            "mapped": told.map(allow_failure([good, bad]))[1],
            "never ran": told.submit(allow_failure(told.submit(bad))),
            "fine": told.submit(allow_failure(good)),
            "quoted": told.submit(quote([1, 2])),
            "opaque": told.submit(OPAQUE(good)),
        }
        answers.update({name: each.result() for name, each in futures.items()})

    allows()

    error = "ValueError('part 2 has no header')"
    assert answers == {
        "one": error,
        "list": f"[{error}, 1]",
        "nested": f"{{'part': [{error}]}}",
        "waited for": "7",
        "mapped": error,
        "never ran": "None",
        "fine": "1",
        "quoted": "[1, 2]",
        "opaque": "1",
    }
    run = prefect.newest("allows", store)
    assert run.state == "COMPLETED"
    failed = "Completed, but 1 of 13 task runs failed, in "
    assert run.card.headline.startswith(failed)
    numbers = run.card.numbers
    counted = ("task_failures", "host_failures", "not_run")
    assert [numbers[name] for name in counted] == [1, 1, 1]
    page = run.artifacts["dask-run-allows"]
    assert page.startswith(f"## ⚠ {failed}")
    [bad_run] = [
        name for name in run.names if f"- [{name}](" in page and "cleaned" in name
    ]
    assert f"given=<{bad_run}>" in page
    assert [each.startswith(failed) for each in prefect.descriptions(run.id)] == [True]
    assert prefect.tags(run.id) == ["dask:failed-task-runs"]
    event = "dask.run.degraded"
    assert prefect.labels(event, "dask.failed_task_runs", run.id) == ["1"]
    assert prefect.payloads(event, run.id)[0]["reasons"] == [run.card.headline]


@pytest.mark.parametrize(
    "ends", ["completed", pytest.param("failed", marks=pytest.mark.nightly)]
)
def test_a_card_says_where_plain_prefect_dask_ignored_allow_failure(
    ends: str, prefect: Any, store: Path
) -> None:
    """A subflow that nobody observes has plain prefect-dask's task runner."""
    runner: Any = shared_runner()
    answers: dict[str, Any] = {}

    @flow(name="plain-allows", task_runner=runner)
    def subflow() -> None:
        bad, good = cleaned.submit(2), cleaned.submit(1)
        needs: Any = told
        futures: dict[str, Any] = {
            "one": told.submit(allow_failure(bad)),
            "list": told.submit(allow_failure([good, bad])),
            "waited for": told.submit(7, wait_for=[allow_failure(bad)]),  # type: ignore[call-overload]
            "fine": told.submit(allow_failure(good)),
            "not allowed": needs.submit(bad, wait_for=[allow_failure(good)]),
        }
        for name, future in futures.items():
            future.wait()
            answers[name] = future.state.name
        answers["fine"] = futures["fine"].result()
        if ends == "failed":
            futures["one"].result()

    @observed_flow(name=f"plain-{ends}")
    def parent() -> None:
        subflow()

    parent(return_state=True)

    never = dict.fromkeys(("one", "list", "waited for", "not allowed"), "NotReady")
    assert answers == {**never, "fine": "(1,)"}
    run = prefect.newest(f"plain-{ends}", store)
    child = prefect.newest("plain-allows", store)
    page = run.artifacts[f"dask-run-plain-{ends}"]
    text = next(each for each in page.splitlines() if "`allow_failure`" in each)
    told_runs = [name for name in child.names if name.startswith("told")]
    assert "had no effect in the flow plain-allows: " in text
    # Not the one that was fine, nor the one whose failed input it was not to allow.
    named = [name for name in told_runs if name in text]
    assert len(named) == 3
    assert "1 task run whose input had completed got it within a tuple" in text
    assert "`BlackboxTaskRunner`" in text
    [bad_run] = [
        name for name in child.names if f"- [{name}](" in page and "cleaned" in name
    ]
    for name in named:
        [row] = rows_with(page, f"- [{name}](")
        assert f" never ran: it waited for {bad_run}" in row
    assert run.state == ends.upper()
    if ends == "failed":
        error = "ValueError: part 2 has no header"
        assert error in run.card.verdict.cause
        assert run.message.endswith(f"never ran, because '{bad_run}' failed: {error}")


@pytest.mark.nightly
def test_a_task_that_prefect_never_ran_names_the_one_that_it_waited_for(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="waits", task_runner=shared_runner())
    def waits() -> None:
        needs: Any = doubled
        needs.submit(cleaned.submit(2)).result()

    waits(return_state=True)

    run = prefect.newest("waits", store)
    names = {name.partition("-")[0]: name for name in run.names}
    why = f"it waited for {names['cleaned']}"
    failed = "ValueError: part 2 has no header"
    assert run.message.endswith(
        f"'{names['doubled']}' never ran, because '{names['cleaned']}' failed: {failed}"
    )
    rows = run.artifacts["dask-run-waits"].splitlines()
    assert [f"[{names['doubled']}](" in row for row in rows if "never ran" in row] == [
        True
    ]
    assert [f"{why}" in row for row in rows if "never ran" in row] == [True]
    numbers = run.card.numbers
    counted = ("executions", "tasks", "not_run", "task_failures")
    assert [numbers[name] for name in counted] == [2, 0, 1, 1]
    logged = [line.message for line in prefect.logs(run.id) if line.task_run_id]
    assert f"Never ran: {why}, which failed: {failed}" in logged


@pytest.mark.nightly
def test_the_bare_task_runner_says_why_a_task_never_ran(
    prefect: Any, store: Path
) -> None:
    @flow(name="waits-bare", task_runner=BlackboxTaskRunner(address=shared_cluster()))  # type: ignore[arg-type]
    def waits_bare() -> None:
        needs: Any = doubled
        with pytest.raises(UnfinishedRun, match=r"'cleaned-.* part 2 has no header"):
            needs.submit(cleaned.submit(2)).result()
        needs.submit(needs.submit(cleaned.submit(2))).result()

    waits_bare(return_state=True)

    run = prefect.newest("waits-bare", store)
    assert re.search(
        r"'doubled-\w+' never ran, because 'cleaned-\w+' failed: ValueError: part 2 has no header$",
        run.message,
    )


@task(timeout_seconds=60)
def unanswered() -> int:
    raise TimeoutError("no answer from station 7")


@pytest.mark.nightly
def test_each_task_of_a_chain_that_prefect_never_ran_names_the_one_that_failed(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="waits-twice", task_runner=shared_runner())
    def waits_twice() -> None:
        needs: Any = doubled
        needs.submit(needs.submit(unanswered.submit())).result()

    waits_twice(return_state=True)

    run = prefect.newest("waits-twice", store)
    [failed] = [name for name in run.names if name.startswith("unanswered")]
    waiting = sorted(name for name in run.names if name.startswith("doubled"))
    rows = run.artifacts["dask-run-waits-twice"].splitlines()
    never = sorted(row for row in rows if " never ran: " in row)
    assert [row.partition("](")[0] for row in never] == [f"- [{n}" for n in waiting]
    assert all(f"it waited for {failed}" in row for row in never)
    slowest = run.artifacts["dask-run-waits-twice"].partition("### Slowest tasks")[2]
    assert not any(f"[{name}](" in slowest for name in waiting)
    logged = [
        line.message
        for line in prefect.logs(run.id)
        if line.message.startswith("Never ran: ")
    ]
    why = "which failed: TimeoutError: no answer from station 7"
    assert logged == [f"Never ran: it waited for {failed}, {why}"] * 2
    # Prefect says `TimedOut` of it, but it was not its `timeout_seconds`.
    assert run.card.headline == "TimeoutError in 'unanswered': no answer from station 7"
    assert run.message.endswith(
        f"'{failed}' failed: TimeoutError: no answer from station 7"
    )


@pytest.mark.nightly
def test_a_task_of_a_subflow_that_nobody_observes_is_the_verdict_of_its_parent(
    prefect: Any, store: Path
) -> None:
    runner: Any = shared_runner()

    @flow(name="plain-subflow", task_runner=runner)
    def subflow() -> list[int]:
        return cleaned.map(range(3)).result()

    @observed_flow(name="parent-of-a-plain-one")
    def parent() -> None:
        subflow()

    parent(return_state=True)

    child = prefect.newest("plain-subflow", store)
    run = prefect.newest("parent-of-a-plain-one", store)
    assert run.card.verdict.rule == "task-exception"
    assert "ValueError: part 2 has no header" in run.card.verdict.cause
    page = run.artifacts["dask-run-parent-of-a-plain-one"]
    hit = page.partition("### Affected task runs")[2].partition("###")[0]
    slowest = page.partition("### Slowest tasks")[2].partition("###")[0]
    assert len(child.names) == 3
    [failed] = [name for name in child.names if f"[{name}](" in hit]
    assert f"'{failed}' raised ValueError" in page
    assert f"- **About** task {failed}" in page.splitlines()
    assert all(f"| [{name}](" in slowest for name in child.names)


@task(timeout_seconds=1)
def fetched(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def test_a_tasks_own_time_limit_is_the_verdict_with_prefects_retries(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="fetches", task_runner=shared_runner())
    def fetches() -> None:
        fetched.submit(0.1).result()
        fetched.submit(3).result()

    fetches(return_state=True)

    run = prefect.newest("fetches", store)
    assert run.card.chain[-1].text == "The driver raised TaskRunTimeoutError"
    verdict = run.card.verdict
    assert verdict.title == "'fetched' exceeded its timeout_seconds of 1 s"
    ran = re.search(r"it ran for ([\d.]+) s", verdict.cause)
    assert ran is not None
    assert float(ran[1]) >= 3
    assert "1 task of 'fetched' finished in " in verdict.cause
    assert "Prefect's `@task(retries=3, retry_delay_seconds=10)`" in verdict.remedy
    assert "client.submit" not in verdict.remedy
    assert verdict.retry_advice == "transient"


def test_a_flow_that_returns_a_failed_state_failed_of_its_message(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="refuses", task_runner=shared_runner())
    def refuses() -> Any:
        return Failed(message="the quality gate is closed")

    refuses(return_state=True)

    verdict = prefect.newest("refuses", store).card.verdict
    assert verdict.title == "FailedRun in the driver: the quality gate is closed"


@pytest.mark.parametrize("code", [pytest.param(0, marks=pytest.mark.nightly), 3])
def test_a_flow_that_exits_has_crashed_whatever_its_code(
    code: int, prefect: Any, store: Path
) -> None:
    @observed_flow(name="exits", retries=2, task_runner=shared_runner())
    def exits() -> None:
        sys.exit(code)

    with pytest.raises(SystemExit):
        exits()

    run = prefect.newest("exits", store)
    assert (run.state, run.card.state) == ("CRASHED", "failed")
    assert f"the flow called sys.exit({code})" in run.card.headline
    assert (
        "Attempt 1 of 3 of this flow run. No retry follows, as Prefect retries no flow "
        "run that crashed or was cancelled." in run.artifacts["dask-run-exits"]
    )
    assert "test_failed_tasks.py" in run.card.verdict.cause


@pytest.mark.nightly
def test_a_pause_that_nobody_ended_names_prefects_limit(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="pauses", task_runner=shared_runner())
    def pauses() -> None:
        doubled.submit(1).result()
        pause_flow_run(timeout=2, poll_interval=1)

    pauses(return_state=True)

    verdict = prefect.newest("pauses", store).card.verdict
    assert verdict.title.startswith("FlowPauseTimeout in the driver")
    assert "`timeout` of `pause_flow_run`" in verdict.remedy
    assert "service" not in verdict.remedy
    assert verdict.retry_advice == "unknown"


@task
def napped(part: int) -> int:
    time.sleep(2)
    return part


@pytest.mark.nightly
def test_task_runs_that_the_flow_kept_no_future_of_are_called_that(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="drops", task_runner=own_runner())
    def drops() -> int:
        napped.map(range(4))
        return doubled.submit(1).result()

    assert drops() == 2

    run = prefect.newest("drops", store)
    assert run.state == "COMPLETED"
    crashed = {task.message for task in run.all_tasks if task.state == "CRASHED"}
    assert len(crashed) == 1
    assert crashed.pop().startswith("Abandoned: nothing waited for its result")
