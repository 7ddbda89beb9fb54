"""The crash table: how flow runs end, with real signals and limits, and what Prefect shows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
import pytest
from conditions import scaled
from packaging.version import Version

# The flows run two at a time: a test may wait for those before its own.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]

# Before 2026.7 Dask itself starts a worker that died at its start again forever.
GIVES_UP = Version(distributed.__version__) >= Version("2026.7")
FLOWS = (
    "evicted", "async_evicted", "evicted_slowly", "killed", "killed_before_its_card", "overdue", "async_overdue", "parent", "direct", "stalls", "parent_of_one_that_waits",
    *(["unguarded"] if GIVES_UP else []), "with_a_client", "waits_for_a_slow_task", "direct_crash",
    "waits_for_memory", "gathered", "explained",
)  # fmt: skip
PATIENCE = 120.0

RunFlow = Callable[[str], Path]


def seen_at_last(
    prefect: Any, name: str, store: Path, ready: Callable[[Any], bool]
) -> Any:
    """Return a flow's newest run once it is ready."""
    deadline = time.monotonic() + scaled(PATIENCE)
    while True:
        seen = prefect.newest(name, store)
        if ready(seen):
            return seen

        assert time.monotonic() < deadline, seen

        time.sleep(0.5)


@pytest.mark.parametrize("flow", ["evicted", "async_evicted"])
def test_sigterm_is_reported_as_what_it_is(
    flow: str, reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest(flow.replace("_", "-"), reported(flow))

    assert seen.state == "CRASHED"
    assert seen.message == seen.card.headline
    assert (seen.card.verdict.rule, seen.card.verdict.retry_advice) == (
        "stopped-by-host",
        "transient",
    )
    assert seen.card.headline.startswith("The host stopped this flow run after ")
    assert "1 of 4 tasks were done" in seen.card.headline
    assert "The driver was at " in seen.card.verdict.cause
    assert "/failing_flows.py:" in seen.card.verdict.cause
    assert {task.state for task in seen.all_tasks} == {"COMPLETED", "CRASHED"}
    assert len(seen.all_tasks) == 4
    assert all(
        "Stopped with the flow run" in task.message
        for task in seen.all_tasks
        if task.state == "CRASHED"
    )


def test_a_flow_is_stopped_before_its_own_cluster_closes(
    reported: RunFlow, prefect: Any
) -> None:
    store = reported("evicted_slowly")
    seen = prefect.newest("evicted-slowly", store)

    [first, *_] = seen.card.verdict.evidence
    closing = (store.parent / "began-closing").read_text()
    assert seen.state == "CRASHED"
    assert seen.card.verdict.rule == "stopped-by-host"
    assert "1 of 2 tasks were done" in seen.card.headline
    assert first.text.startswith("The host ended the run (SIGTERM)")
    assert first.at <= float(closing)


def test_waiting_for_a_task_that_needs_too_much_memory_ends(
    reported: RunFlow, prefect: Any
) -> None:
    """With Dask's own limit for workers to return, it waits for ever."""
    store = reported("waits_for_memory")
    seen = prefect.newest("waits-for-memory", store)

    assert seen.state == "FAILED"
    assert seen.card.verdict.rule == "worker-memory-limit"
    assert "died 3 times at their 500 MiB memory limit" in seen.card.headline
    assert [task.state for task in seen.all_tasks] == ["CRASHED"]


def test_after_sigkill_the_recorder_finishes_for_the_flow(
    reported: RunFlow, prefect: Any
) -> None:
    store = reported("killed")
    seen = seen_at_last(prefect, "killed", store, lambda run: run.state == "CRASHED")

    assert seen.message == seen.card.headline
    assert seen.card.verdict.rule == "driver-killed"
    page = seen.artifacts["dask-run-killed"]
    assert seen.card.headline in page
    slowest = page.partition("### Slowest tasks")[2].partition("###")[0]
    assert any(f"| [{name}](" in slowest for name in seen.names)
    assert len(seen.all_tasks) == 4
    assert {task.state for task in seen.all_tasks} == {"COMPLETED", "CRASHED"}
    crashed = [task for task in seen.all_tasks if task.state == "CRASHED"]
    assert {task.message for task in crashed} == {
        f"Stopped with the flow run before it finished. {seen.message}"
    }
    assert prefect.events("dask.run.diagnosed", seen.id) == ["driver-killed"]
    related = prefect.related("dask.run.diagnosed", seen.id)
    assert related["flow-run"] == [str(seen.id)]
    assert len(related["flow"]) == 1
    assert len(set(related["task-run"])) == 3
    assert related["tag"] == ["dask:driver-killed"]


def test_the_recorder_shows_a_card_that_its_flow_was_killed_before_it_showed(
    reported: RunFlow, prefect: Any
) -> None:
    name = "killed-before-its-card"
    store = reported("killed_before_its_card")
    seen = seen_at_last(prefect, name, store, lambda run: run.state == "CRASHED")

    assert "no orders after 0.1 s" in seen.message
    assert seen.message == seen.card.headline
    assert seen.message in seen.artifacts[f"dask-run-{name}"]
    assert {task.state for task in seen.all_tasks} == {"COMPLETED"}


@pytest.mark.parametrize("flow", ["overdue", "async_overdue"])
def test_a_time_limit_is_reported_with_progress(
    flow: str, reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest(flow.replace("_", "-"), reported(flow))

    assert (seen.state, seen.state_name) == ("FAILED", "TimedOut")
    assert seen.card.verdict.rule == "stopped-by-host"
    assert "Reached its timeout_seconds of 12 s" in seen.card.headline
    assert seen.message == seen.card.headline


def test_the_failure_of_a_subflow_is_the_verdict_of_its_parent(
    reported: RunFlow, prefect: Any
) -> None:
    store = reported("parent")
    child, parent = prefect.newest("child", store), prefect.newest("parent", store)

    assert (child.card.verdict.rule, parent.card.verdict.rule) == (
        "worker-signalled",
        "part-failed",
    )
    assert "ubflow 'child (" in parent.card.verdict.title
    assert child.card.verdict.title in parent.card.verdict.title
    assert parent.card.verdict.retry_advice == child.card.verdict.retry_advice
    page = parent.artifacts["dask-run-parent"]
    assert re.search(
        rf"failed subflow's page\]\(<\.\./\.\./runs/flow-run/{child.id}>\)", page
    )


def test_a_subflow_that_asked_for_a_task_that_never_ran_is_its_parents_reason(
    reported: RunFlow, prefect: Any
) -> None:
    store = reported("parent_of_one_that_waits")
    seen = prefect.newest("parent-of-one-that-waits", store)

    assert seen.card.verdict.rule == "part-failed"
    assert "ValueError in 'fetch_page'" in seen.card.headline


def test_a_subflow_that_asyncio_cancels_does_not_run_for_ever(
    reported: RunFlow, prefect: Any
) -> None:
    """Its parent has ended by then, and closed the client that Prefect's engine uses."""
    store = reported("gathered")
    parent = prefect.newest("gathered", store)
    shard = prefect.newest("waiting-shard", store)

    assert (parent.state, shard.state) == ("FAILED", "CRASHED")
    assert "shard 0 has no rows" in parent.message
    assert shard.message == shard.card.headline
    assert shard.message.startswith("The event loop stopped this flow run after ")
    assert shard.card.verdict.rule == "stopped-by-host"
    assert "when gathered (" in shard.card.verdict.cause
    assert [task.state for task in shard.all_tasks] == ["CRASHED"]
    # To the parent, its subflows are task runs.
    assert sorted(task.state for task in parent.all_tasks) == ["CRASHED", "FAILED"]


def test_how_a_worker_died_is_in_the_log_of_the_task_run(
    reported: RunFlow, prefect: Any
) -> None:
    child = prefect.newest("child", reported("parent"))

    lines = prefect.logs(child.id)
    died = [line for line in lines if "The worker died: SIGKILL" in line.message]
    lost = [line for line in lines if line.message.startswith("Lost: ")]

    assert [line.level for line in (*died, *lost)] == [40, 40]
    assert died[0].task_run_id == lost[0].task_run_id
    assert "dask:worker-signalled" in prefect.tags(child.id)


def test_a_stall_is_an_event_with_its_reason(reported: RunFlow, prefect: Any) -> None:
    seen = prefect.newest("stalls", reported("stalls"))

    (payload,) = prefect.payloads("dask.run.stalled", seen.id)
    (kind,) = prefect.labels("dask.run.stalled", "dask.stall", seen.id)

    assert seen.state == "COMPLETED"
    assert "s) is running" in payload["headline"]
    assert kind == "running"
    assert prefect.labels("dask.run.stall-over", "dask.stall", seen.id) == ["running"]
    for kind in ("dask.run.stalled", "dask.run.stall-over"):
        assert prefect.labels(kind, "dask.stall_number", seen.id) == ["1"]


def test_the_page_of_a_run_that_waits_says_at_which_line_and_what_would_end_it(
    reported: RunFlow,
) -> None:
    page = (reported("explained").parent / "began").read_text(encoding="utf-8")

    assert page.startswith("## ▶ Running for ")
    assert "failing_flows.py:" in page
    assert "- **Ends** " in page
    assert "calendar-ready" in page
    *_, in_the_list = page.splitlines()
    # It may be read just before the task has run for the minute that makes it a wait.
    waits = "- **Now** Waiting for " in page
    assert in_the_list.startswith("Waiting for " if waits else "Running: ")
    assert in_the_list.endswith("0 of 1 submitted task runs have ended")


def test_tasks_of_a_subflow_on_the_same_cluster_have_its_names(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("with-a-client", reported("with_a_client"))

    page = seen.artifacts["dask-run-with-a-client"]
    assert re.search(r"\[count 2\]\(<\.\./\.\./runs/task-run/\S+>\)", page)
    assert "count_lines-" not in page


def test_the_time_limit_of_a_task_is_the_message_of_the_flow_runs_state(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("waits-for-a-slow-task", reported("waits_for_a_slow_task"))

    assert (seen.state, seen.state_name) == ("FAILED", "TimedOut")
    assert seen.message == "'too_slow' exceeded its timeout_seconds of 0.5 s"
    assert seen.card.headline == seen.message


def test_dask_clients_of_the_flows_own_are_recorded(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("direct", reported("direct"))

    assert seen.state == "COMPLETED"
    # 5 on each of two clusters, and the task of a subflow that nobody observes.
    assert seen.card.numbers["tasks"] == 11
    assert set(seen.artifacts) >= {"dask-run-direct"}


def test_the_verdict_replaces_what_dask_says_of_a_client_of_the_flows_own(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("direct-crash", reported("direct_crash"))

    assert (seen.state, seen.message) == ("FAILED", seen.card.headline)
    assert seen.card.verdict.rule == "worker-abort"


@pytest.mark.skipif(not GIVES_UP, reason="Dask starts such workers forever")
def test_a_missing_main_guard_is_named(reported: RunFlow, prefect: Any) -> None:
    cards = prefect.cards("unguarded", reported("unguarded"))

    assert [card.verdict.title for card in cards] == [
        "unguarded.py:25 runs again in each worker process: it has no main guard"
    ]
    assert cards[0].verdict.retry_advice == "code"
