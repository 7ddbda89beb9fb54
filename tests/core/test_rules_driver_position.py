"""Verdicts on drivers that were stopped while they waited, as they had reported themselves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from runs_from_rows import (
    Piece,
    a_graph,
    a_log_line,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    stopped_by,
    the_verdict_on,
)

SITE = "/venv/lib/python3.12/site-packages/distributed"
ADDRESS = "tcp://10.0.0.7:8786"
MINE = '  File "/jobs/nightly.py", line 30, in main\n\tresults.get()'
WAIT = (
    '  File "/usr/lib/python3.12/threading.py", line 331, in wait\n\twaiter.acquire()'
)
ON_A_CLUSTER = an_event("scheduler-info", address="tcp://10.0.0.1:8786")


def of_dask(file: str, function: str) -> str:
    """Return a frame of Dask's."""
    return f'  File "{SITE}/{file}", line 200, in {function}\n\treturn self.sync()'


def blocked_at(*stack: str, at: float = 40.0, **more: Any) -> Piece:
    """Return that the driver reported where it had been for 20 s."""
    reported = {"lasted": 20, "connecting": [], **more}
    return an_event(
        "driver-blocked", "driver", at=at, stack=[MINE, *stack, WAIT], **reported
    )


CONNECTING = blocked_at(
    of_dask("client.py", "__init__"),
    of_dask("client.py", "start"),
    connecting=[{"address": ADDRESS, "lasted": 19}],
)


def test_a_driver_that_is_stopped_inside_of_client_could_not_connect() -> None:
    found = the_verdict_on(CONNECTING, aborted(at=50))

    assert found.rule == "cannot-connect"
    assert ADDRESS in found.title
    assert "for 29 s" in found.cause
    assert "nightly.py:30" in found.cause
    assert found.confidence == "medium"


def test_a_driver_that_connected_after_all_is_not_reported_to_be_connecting() -> None:
    moved = an_event("driver-unblocked", "driver", at=42.0, lasted=22)

    found = the_verdict_on(CONNECTING, moved, ON_A_CLUSTER, aborted(at=50))

    assert found.rule == "driver-killed"


def test_a_client_that_reconnects_to_a_scheduler_that_was_there_is_another_story() -> (
    None
):
    known = an_event("scheduler-info", ADDRESS)

    assert the_verdict_on(known, CONNECTING, aborted(at=50)).rule == "driver-killed"


@pytest.mark.parametrize(
    ("ended", "rule"), [(True, "stalled"), (False, "driver-killed")]
)
def test_a_main_thread_that_waits_for_a_loop_whose_thread_has_ended_has_stalled(
    *, ended: bool, rule: str
) -> None:
    waits = blocked_at(of_dask("utils.py", "sync"), other_ended=ended)

    found = the_verdict_on(ON_A_CLUSTER, waits, aborted(at=50))

    assert found.rule == rule
    assert ("event loop whose thread had ended" in found.title) is ended
    assert ("sys.exit()" in found.remedy) is ended


def test_a_driver_that_waits_for_a_queue_while_no_task_is_wanted_has_stalled() -> None:
    found = the_verdict_on(
        ON_A_CLUSTER,
        a_worker(),
        blocked_at(of_dask("queues.py", "get"), of_dask("utils.py", "sync")),
        aborted(at=50),
    )

    assert found.rule == "stalled"
    assert "Queue" in found.title
    assert "results.get()" in found.cause
    assert "put an item into it" in found.remedy


@pytest.mark.parametrize(
    "ends",
    [(), (52.0,), (50.5, an_event("worker-closing", ADDRESS, at=50.4))],
    ids=["killed", "after the driver", "of a worker that closes"],
)
def test_a_method_of_an_actor_that_ends_with_its_worker_is_what_the_driver_waited_for(
    ends: tuple[float | Piece, ...],
) -> None:
    def settle(at: float, *, returned: bool) -> Piece:
        fields = {"method": "ledger.settle", "since": 20.0, "returned": returned}
        return an_event(
            "actor-method", ADDRESS, at=at, calls_actor=not returned, **fields
        )

    found = the_verdict_on(
        ON_A_CLUSTER,
        a_worker(),
        settle(25, returned=False),
        *(
            settle(each, returned=True) if isinstance(each, float) else each
            for each in ends
        ),
        blocked_at(of_dask("actor.py", "result"), of_dask("utils.py", "sync")),
        aborted(at=50),
    )

    assert found.rule == "stalled"
    assert "for 'ledger.settle', a method of an actor that waited" in found.title


def test_a_function_of_client_run_that_does_not_come_back_has_stalled() -> None:
    found = the_verdict_on(
        ON_A_CLUSTER,
        a_worker(),
        blocked_at(of_dask("client.py", "run"), of_dask("utils.py", "sync")),
        aborted(at=50),
    )

    assert found.rule == "stalled"
    assert "client.run" in found.title
    assert "event loop" in found.remedy


def test_workers_whose_handshakes_failed_meanwhile_are_why_none_came() -> None:
    shook = (
        "Listener on 'tls://10.0.0.1:8786': TLS handshake failed with remote 'tls://w'"
    )
    found = the_verdict_on(
        ON_A_CLUSTER,
        a_log_line(shook, at=30, role="scheduler", source="scheduler"),
        blocked_at(of_dask("client.py", "wait_for_workers")),
        aborted(at=50),
    )

    assert found.rule == "tls-misconfigured"


@pytest.mark.parametrize(
    ("kind", "retry", "do"),
    [
        ("LocalCluster", "code", "this one had 1. Request as many as are waited for"),
        ("SLURMCluster", "unknown", "the others are pending: quota"),
    ],
)
def test_a_driver_that_was_stopped_in_its_wait_for_workers_knows_who_starts_them(
    kind: str, retry: str, do: str
) -> None:
    attached = an_event(
        "driver-attached", "driver", at=1, client="Client-1", cluster={"kind": kind}
    )
    found = the_verdict_on(
        attached,
        a_worker(),
        blocked_at(of_dask("client.py", "wait_for_workers")),
        aborted(at=50),
    )

    assert (found.rule, found.confidence) == ("workers-never-arrived", "medium")
    assert do in found.remedy
    assert (found.retry_advice == "code") == (retry == "code")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("client.wait_for_workers(1)", "driver-killed"),
        ("client.wait_for_workers(n_workers=1, timeout=60)", "driver-killed"),
        ("client.wait_for_workers(2)", "workers-never-arrived"),
        ("client.wait_for_workers(number)", "workers-never-arrived"),
    ],
)
def test_a_driver_whose_workers_had_all_come_no_longer_waited_for_them(
    line: str, rule: str
) -> None:
    """It was killed before it was seen elsewhere."""
    mine = f'  File "/jobs/nightly.py", line 12, in main\n\t{line}'
    found = the_verdict_on(
        ON_A_CLUSTER,
        a_worker(),
        blocked_at(mine, of_dask("client.py", "wait_for_workers")),
        an_event("driver-ended", at=50, signal=9, state="aborted"),
        aborted(at=50),
    )

    assert found.rule == rule


def test_a_driver_whose_tasks_were_ending_did_not_stand_in_vain() -> None:
    by_a_host = an_event("driver-ended", at=50, signal=15)
    going_on = [a_task(f"inc-{n}", start=float(n)) for n in range(5, 50, 5)]
    found = the_verdict_on(
        ON_A_CLUSTER, a_worker(), *going_on, blocked_at(), by_a_host, aborted(at=50)
    )

    assert (found.rule, found.confidence) == ("driver-killed", "high")


@pytest.mark.parametrize(
    ("client", "lasted"), [("Client-1", "12 s"), ("Client-worker-1", "30 s")]
)
def test_a_driver_waits_for_results_since_it_last_submitted_work(
    client: str, lasted: str
) -> None:
    batches = [an_event("graph-updated", client, at=at, tasks=1) for at in (1, 25, 38)]
    at_gather = blocked_at(of_dask("client.py", "gather"))
    running = [a_task(f"inc-{n}", start=float(n)) for n in range(5, 50, 5)]

    found = the_verdict_on(
        ON_A_CLUSTER, a_worker(), *batches, *running, at_gather, aborted(at=50)
    )

    assert f"nightly.py:30 in main (`results.get()`) for {lasted}" in found.cause


def test_the_position_of_a_driver_does_not_outweigh_its_exception() -> None:
    found = the_verdict_on(
        ON_A_CLUSTER,
        a_worker(),
        blocked_at(of_dask("queues.py", "get"), at=20),
        failed_with(an_exception("ValueError", "the sum is wrong"), at=30),
    )

    assert found.rule == "driver-exception"


POLLING = '  File "/jobs/nightly.py", line 12, in wait_for_marker\n\ttime.sleep(5)'


def polled(*, cpu: float, end: Piece) -> list[Piece]:
    """Return a task that sleeps in a loop, on a worker that used so much meanwhile."""
    of_task = {
        "key": "wait-1", "prefix": "wait", "worker": "tcp://w1", "executing_for": 55,
    }  # fmt: skip
    stall = an_event(
        "stall",
        at=80,
        lasted=60,
        workers=1,
        statuses={"running": 1},
        states={"processing": 1},
        processing=[of_task],
        answers={"tcp://w1": {"stacks": {"wait-1": [POLLING]}, "tasks": {}}},
    )
    used = [a_sample(at=float(at), cpu=cpu) for at in range(30, 80, 5)]
    return [a_worker(), *used, stall, an_event("driver-ended", at=100, signal=15), end]


def test_a_task_that_computes_until_the_host_ends_the_run_is_no_stall() -> None:
    found = the_verdict_on(*polled(cpu=97.0, end=aborted(at=100)))

    assert found.rule == "driver-killed"


def test_a_driver_that_is_killed_without_being_asked_did_not_lose_patience() -> None:
    pieces = polled(cpu=1.0, end=aborted(at=100))
    killed = an_event("driver-ended", at=100.5, signal=9)

    assert the_verdict_on(*pieces, killed).rule == "driver-killed"


def test_a_method_of_an_actor_that_does_not_return_is_named() -> None:
    waited = "\n".join(
        [
            "Traceback (most recent call last):",
            '  File "/jobs/nightly.py", line 51, in main\n    tally.drained().result(9)',
            f'  File "{SITE}/actor.py", line 280, in result\n    return self._result()',
            "TimeoutError",
        ]
    )
    late = msgspec.structs.replace(
        an_exception("TimeoutError", "", traceback=waited), chain_ids=("a1",)
    )
    raised = an_event(
        "driver-call-failed", "driver", at=30, exception="TimeoutError", identity="a1"
    )
    # The process closes its cluster before it ends.
    found = the_verdict_on(ON_A_CLUSTER, a_worker(), raised, failed_with(late, at=45))

    assert (found.rule, found.confidence) == ("stalled", "medium")
    assert "a method of an actor" in found.title
    assert "tally.drained().result(9)" in found.cause


def locked(key: str, name: str, line: int) -> tuple[dict[str, Any], list[str]]:
    """Return a task that waits for a `Lock`, and its stack, as Dask has it."""
    held = {"key": key, "prefix": key, "worker": "tcp://w1", "executing_for": 50 - line}
    own = f'  File "/jobs/nightly.py", line {line}, in {key}\n\twith Lock("{name}"):'
    return held, [
        own,
        of_dask("semaphore.py", "__enter__"),
        of_dask("lock.py", "acquire"),
        WAIT,
    ]


def test_two_tasks_that_want_each_others_locks_are_both_named() -> None:
    (first, one), (second, other) = locked("a", "x", 7), locked("b", "y", 9)
    reported = {"tcp://w1": {"stacks": {"a": one, "b": other}, "tasks": {}}}
    stall = an_event(
        "stall", at=80, lasted=60, workers=1, states={"processing": 2},
        processing=[first, second], answers=reported,
    )  # fmt: skip
    late = failed_with(an_exception("TimeoutError", ""), at=100)
    found = the_verdict_on(a_worker(), stall, late)

    assert found.rule == "stalled"
    assert "'a' waited for a `Lock` for" in found.title
    assert "'b' also waited, at /jobs/nightly.py:9 in b" in found.cause
    assert "the same order" in found.remedy


@pytest.mark.parametrize("where", ["concurrent/futures/_base.py", "asyncio/tasks.py"])
def test_a_future_of_the_standard_library_that_was_waited_for_is_a_wait(
    where: str,
) -> None:
    waited = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 84, in main\n    done.result(timeout=25)\n'
        f'  File "/usr/lib/python3.12/{where}", line 458, in result\n'
        "    raise TimeoutError()\nTimeoutError\n"
    )
    late = an_exception("TimeoutError", "", traceback=waited)
    queued = {"queued": 61}
    stall = an_event("stall", at=20, lasted=16, workers=0, states=queued)

    found = the_verdict_on(stall, failed_with(late, at=25))

    assert found.rule == "workers-never-arrived"


SIGTERM = an_exception("TerminationSignal", "", file="/jobs/nightly.py")
"""Raised at line 12."""


@pytest.mark.parametrize(
    ("submitted", "text"),
    [
        (1.0, "nightly.py:12, and had been there for 1 m 10 s."),
        (60.0, "nightly.py:12."),
    ],
)
def test_a_stop_by_the_host_names_the_line_and_how_long_the_driver_had_been_there(
    submitted: float, text: str
) -> None:
    here = MINE.replace("line 30", "line 12")
    blocked = an_event("driver-blocked", "driver", at=40, lasted=20, stack=[here, WAIT])
    moved = an_event("driver-unblocked", "driver", at=90.0, lasted=70)
    graph = a_graph(at=submitted)
    stopped = stopped_by("prefect", "evicted", at=100, exception=SIGTERM)

    found = the_verdict_on(ON_A_CLUSTER, a_worker(), graph, blocked, moved, stopped)

    assert found.rule == "stopped-by-host"
    assert found.cause.endswith(text)


def test_a_driver_is_where_it_was_only_until_it_is_gone() -> None:
    gone = an_event("driver-lost", "driver", at=50, pid=7, exit_code=-9)

    found = the_verdict_on(ON_A_CLUSTER, a_worker(), blocked_at(), gone, aborted(at=80))

    assert found.rule == "driver-killed"
    assert "The driver had been at /jobs/nightly.py:30 in main" in found.cause
    assert "for 30 s." in found.cause


def a_thread_that_failed(at: float) -> list[Piece]:
    """Return what Python prints of it."""
    printed = (
        "Exception in thread price-writer:",
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 62, in run',
        "    out.writerow([PRICES[grade]])",
        "KeyError: 'BQ'",
    )
    return [
        a_log_line(line, at=at, role="driver", source="driver", logger="stderr", seq=n)
        for n, line in enumerate(printed)
    ]


TERMINATED = an_event(
    "driver-ended", "driver", at=45, state="aborted", exit_code=-15, signal=15
)


@pytest.mark.parametrize(
    ("stack", "failed_at"),
    [
        ((of_dask("client.py", "gather"),), 18.0),
        ((), 38.0),
    ],
    ids=["it waited for Dask", "it waited before"],
)
def test_a_driver_that_waited_for_something_else_is_not_blamed_on_a_thread(
    stack: tuple[str, ...], failed_at: float
) -> None:
    here = (ON_A_CLUSTER, a_worker(), a_graph(), *a_thread_that_failed(failed_at))

    found = the_verdict_on(*here, blocked_at(*stack), TERMINATED, aborted(at=45))

    assert found.rule == "driver-killed"


JOINED = (
    '  File "/usr/lib/python3.12/multiprocessing/process.py", line 149, in join\n'
    "\tself._popen.wait(timeout)"
)
FORKED = an_event("driver-forked", "driver", at=15.0, file="/jobs/nightly.py", line=28)


@pytest.mark.parametrize(
    ("forked", "lasted", "rule"),
    [
        ((FORKED,), 20, "stalled"),
        ((), 20, "driver-killed"),
        ((FORKED,), 5, "driver-killed"),
    ],
    ids=["forked with a client", "without a client", "just begun"],
)
def test_a_driver_that_waits_for_a_process_that_has_its_client_may_wait_forever(
    forked: tuple[Piece, ...], lasted: float, rule: str
) -> None:
    blocked = blocked_at(JOINED, lasted=lasted)
    found = the_verdict_on(ON_A_CLUSTER, a_worker(), *forked, blocked, aborted(at=51))

    assert found.rule == rule
    if rule == "stalled":
        assert found.confidence == "low"
        assert "at /jobs/nightly.py:28 while it had a Dask client" in found.cause
        assert "`multiprocessing.get_context('spawn')`" in found.remedy


def test_who_cannot_connect_is_told_which_port_is_the_schedulers() -> None:
    remedy = the_verdict_on(CONNECTING, aborted(at=50)).remedy

    assert "8786 by default), not that of its dashboard (8787)" in remedy
