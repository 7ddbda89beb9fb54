"""How a run ended, of what is heard of it from several processes."""

from __future__ import annotations

import json
import shlex

import pytest
from dask_blackbox.manifest import Stopped
from dask_blackbox.protocol.messages import LEFT, End
from dask_blackbox.recorder.run_ending import RunEndResolver
from runs_from_rows import a_task

RAISED = json.dumps({"exception": "BrokenPipeError", "message": "Broken pipe"})
LOST = (10.0, "driver-lost", "driver", "{}")


def judged(end: End, *events: tuple[float, str, str, str]) -> End:
    resolve = RunEndResolver(lambda exception: exception)
    for event in events:
        resolve.add_rows({"event": [event]})
    return resolve.resolve(end)


@pytest.mark.parametrize(("at", "named"), [(9.9, True), (10.1, False)])
def test_what_processes_raise_after_the_driver_was_lost_did_not_end_the_run(
    at: float, *, named: bool
) -> None:
    raised = (at, "driver-exception", "driver", RAISED)

    end = judged(End(state="aborted", exit_code=-6), *sorted((LOST, raised)))

    assert (end.exception is not None) is named


@pytest.mark.parametrize(
    ("raised_by", "named"),
    [((7, [5]), "first"), ((7, [5, 6]), "first"), ((5, []), "last"), ((7, []), "last")],
)
def test_what_a_process_raises_after_one_that_started_it_did_not_end_the_run(
    raised_by: tuple[int, list[int]], named: str
) -> None:
    raised = [
        {"exception": "OSError", "message": message, "pid": pid, "parents": parents}
        for message, pid, parents in (("first", 5, []), ("last", *raised_by))
    ]
    events = [
        (1.0 + n, "driver-exception", "driver", json.dumps(each))
        for n, each in enumerate(raised)
    ]

    end = judged(End(state="failed", exit_code=1), *events)

    assert end.exception is not None
    assert end.exception.message == named


@pytest.mark.parametrize(
    ("state", "code", "named"), [("failed", 1, True), ("aborted", 143, False)]
)
def test_what_a_child_process_raised_did_not_end_a_run_that_a_signal_ended(
    state: str, code: int, *, named: bool
) -> None:
    raised = {"exception": "OSError", "message": "", "pid": 7, "parents": [5]}

    end = judged(
        End(state=state, exit_code=code),
        (1.0, "driver-exception", "driver", json.dumps(raised)),
    )

    assert (end.exception is not None) is named


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [(("erred", "finished"), "succeeded"), (("finished", "erred"), "failed")],
)
def test_who_used_a_cluster_from_outside_failed_if_its_last_task_did(
    outcomes: tuple[str, ...], state: str
) -> None:
    resolve = RunEndResolver(lambda exception: exception)
    for outcome in outcomes:
        kind, row = a_task(outcome=outcome, last_input="load-1")
        resolve.add_rows({kind: [row]})

    assert resolve.resolve(End(state=LEFT)).state == state


@pytest.mark.parametrize(
    ("first", "named"),
    [("other", "marked-failed"), ("evicted", "evicted")],
)
def test_why_a_host_stopped_a_run_may_become_known_while_it_ends(
    first: str, named: str
) -> None:
    later = json.dumps({"by": "airflow", "reason": "marked-failed", "at": 5.0})
    stopped = Stopped(by="airflow", reason=first, at=5.0)

    end = judged(
        End(state="aborted", stopped=stopped), (6.0, "host-stopped", "driver", later)
    )

    assert end.stopped is not None
    assert end.stopped.reason == named


@pytest.mark.parametrize(
    ("command", "code", "seconds", "limit"),
    [
        ("timeout 15 python job.py", 124, 15.4, 15.0),
        ("nohup timeout -k 5 2m uv run job.py", 137, 121.0, 120.0),
        ("bash -c 'timeout --preserve-status 30 python job.py'", 143, 30.1, 30.0),
        ("timeout 15 python job.py", 124, 3.0, None),
        ("timeout 15 python job.py", 1, 15.4, None),
        ("python job.py", 124, 15.4, None),
        ("timeout 0 python job.py", 124, 15.4, None),
    ],
)
def test_a_command_that_timeout_ended_has_reached_its_limit(
    command: str, code: int, seconds: float, limit: float | None
) -> None:
    argv = json.dumps({"pid": 7, "argv": shlex.split(command)})
    started = (1.0, "command-started", "driver", argv)

    end = judged(End(state="failed", exit_code=code, lasted=seconds), started)

    assert (None if end.stopped is None else end.stopped.limit) == limit
    assert limit is None or end.stopped == Stopped(
        by="timeout", reason="run-timeout", limit=limit, setting="timeout"
    )
