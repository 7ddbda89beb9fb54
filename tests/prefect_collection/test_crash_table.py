"""The rest of the crash table: interrupts, lost schedulers, Dask's retries, graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# The flows run two at a time: a test may wait for those before its own.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]

FLOWS = (
    "interrupted_in_a_stall", "schedulerless", "interrupted", "async_interrupted",
    "tried_again", "unsendable", "unreadable", "gives_up_a_rerun",
)  # fmt: skip

RunFlow = Callable[[str], Path]


def states(seen: Any) -> list[str]:
    return sorted(task.state for task in seen.all_tasks)


@pytest.mark.parametrize("flow", ["interrupted", "async_interrupted"])
def test_ctrl_c_ends_running_and_queued_task_runs(
    flow: str, reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest(flow.replace("_", "-"), reported(flow))

    assert seen.state == "CRASHED"
    assert seen.card.headline == "The driver was interrupted (Ctrl-C or SIGINT)"
    assert states(seen) == ["CRASHED"] * 3
    assert {task.message for task in seen.all_tasks} == {
        f"Stopped with the flow run before it finished. {seen.card.headline}"
    }


def test_ctrl_c_in_a_stall_names_the_task_run_that_waits(
    reported: RunFlow, prefect: Any
) -> None:
    flow = "interrupted-in-a-stall"
    seen = prefect.newest(flow, reported("interrupted_in_a_stall"))

    assert seen.state == "CRASHED"
    stalled = "Interrupted by Ctrl-C (SIGINT): 'await_calendar' waited for an `Event`"
    assert seen.message.startswith(stalled)
    [name] = seen.names
    hit = seen.artifacts[f"dask-run-{flow}"].partition("### Affected task runs")[2]
    assert hit.lstrip().startswith(f"- [{name}](")
    assert "unfinished: it had not ended when the flow run did" in hit


def test_a_lost_scheduler_is_the_reason_of_the_flow_run_and_of_its_task(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("schedulerless", reported("schedulerless"))

    assert seen.state == "FAILED"
    assert seen.card.verdict.rule == "scheduler-lost"
    assert seen.card.verdict.title in seen.message
    assert states(seen) == ["CRASHED"]


def test_a_task_that_dask_tries_again_ends_green_with_a_warning(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("tried-again", reported("tried_again"))

    assert (seen.state, states(seen)) == ("COMPLETED", ["COMPLETED"])
    # A worker that takes long to restart is also idle.
    assert seen.card.findings[0].rule == "workers-died"
    page = seen.artifacts["dask-run-tried-again"]
    assert "1 worker died because of a signal that the job itself sent" in page
    # Prefect named its task run anew when it was executed again.
    [name] = seen.names
    assert f"| [{name}](" in page


def test_a_graph_that_cannot_be_pickled_is_named(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("unsendable", reported("unsendable"))

    assert seen.state == "FAILED"
    assert seen.card.verdict.rule == "graph-not-serializable"
    assert "_thread.lock" in seen.card.headline


def test_a_graph_that_cannot_be_read_does_not_leave_the_flow_run_running(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("unreadable", reported("unreadable"))

    # The annotation is a Dask task of its own, whose graph is refused; of the task that needs
    # it, Dask only says that its dependencies are lost.
    assert (seen.state, states(seen)) == ("FAILED", ["CRASHED"])
    verdict = seen.card.verdict
    assert (verdict.rule, verdict.confidence) == ("graph-not-deserializable", "medium")
    assert "lost dependencies" in seen.message


def test_a_task_that_dask_reran_and_gave_up_is_not_green(
    reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest("gives-up-a-rerun", reported("gives_up_a_rerun"))

    assert (seen.state, states(seen)) == ("FAILED", ["CRASHED", "CRASHED"])
    assert seen.card.verdict.title in seen.tasks["crash_when_rerun"].message
