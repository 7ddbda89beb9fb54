"""Why did the run hang?  Rules on what the stall detector reported."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.chain import chain_of
from dask_blackbox.analyse.causes.kinds import STALLED, WAITS
from dask_blackbox.formatting import duration
from dask_blackbox.manifest import DriverException, SourceAccount, StopReason
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    MIB,
    START,
    Piece,
    a_death,
    a_departure,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    stopped_by,
    succeeded,
    the_verdict,
)

LIB = "/v/lib/python3.11/site-packages"
IN_A_CLIENT = [
    f'  File "{LIB}/dask/_task_spec.py", line 7, in __call__\n\treturn self.func()\n',
    '  File "/jobs/nightly.py", line 8, in outer\n\treturn c.submit(inner).result()\n',
    f'  File "{LIB}/distributed/client.py", line 4, in result\n\treturn self.sync()\n',
    f'  File "{LIB}/distributed/utils.py", line 4, in sync\n\te.wait(10)\n',
]
IN_A_SERVICE = [
    '  File "/jobs/nightly.py", line 30, in fetch\n\treturn requests.get(url)\n',
    f'  File "{LIB}/requests/api.py", line 9, in get\n\treturn request()\n',
]
NO_PICKLE = (
    "Could not serialize object of type lock\nTraceback (most recent call last):\n"
    "TypeError: cannot pickle '_thread.lock' object"
)
TIMED_OUT = an_exception("TimeoutError", "timed out after 300 s.")
OUR_END = an_exception(
    "distributed.client.FutureCancelledError",
    "outer-1 cancelled for reason: dask-blackbox.\nno task has finished for 120 s "
    "(blackbox.stall.end-run)",
)


def a_task_at(
    key: str,
    *,
    executing_for: float | None = None,
    worker: str = "tcp://w1",
) -> dict[str, Any]:
    """Return what the detector tells of a task that a worker has."""
    prefix = key.split("-", maxsplit=1)[0]
    return {
        "key": key, "prefix": prefix, "worker": worker, "executing_for": executing_for,
    }  # fmt: skip


def a_stall(*tasks: dict[str, Any], at: float = 80.0, **more: Any) -> Piece:
    """Return that nothing moved, on one running worker unless said otherwise."""
    reported = {
        "lasted": 60.0,
        "workers": 1,
        "statuses": {"running": 1},
        "paused": [],
        "states": {"waiting": 0, "processing": len(tasks), "queued": 0, "no-worker": 0},
        "processing": list(tasks),
        "unrunnable": [],
        "waiting": [],
        "answers": {},
    }
    return an_event("stall", at=at, **{**reported, **more})


def what_w1_reports(
    stacks: dict[str, list[str]] | None = None, tasks: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"tcp://w1": {"stacks": stacks or {}, "tasks": tasks or {}}}


def hung(
    *pieces: Piece | list[Piece],
    error: DriverException = TIMED_OUT,
    workers: tuple[Piece, ...] = (a_worker(),),
) -> RunTables:
    """Return a run whose driver got tired of waiting at 100 s."""
    return a_run(*workers, a_graph(), *pieces, failed_with(error, at=100))


def nested(*more: dict[str, Any], state: str = "executing") -> Piece:
    return a_stall(
        a_task_at("outer-1", executing_for=58),
        *more,
        answers=what_w1_reports(
            {"outer-1": IN_A_CLIENT, "fetch-1": IN_A_SERVICE},
            {"outer-1": {"state": state, "waits_for": []}},
        ),
    )


def iterating() -> Piece:
    """Return that a task waits in `as_completed`, for others that wait for its thread."""
    stack = [
        *IN_A_CLIENT[:2],
        f'  File "{LIB}/distributed/client.py", line 9, in __next__\n\tself.wait(0.1)\n',
        '  File "/usr/lib/python3.12/threading.py", line 3, in wait\n\twaiter.acquire()\n',
    ]
    return a_stall(
        a_task_at("outer-1", executing_for=58),
        a_task_at("inner-1"),
        answers=what_w1_reports(
            {"outer-1": stack}, {"outer-1": {"state": "executing", "waits_for": []}}
        ),
    )


def of_resources(**more: Any) -> Piece:
    task = {"key": "train-1", "hosts": [], "workers": [], "resources": {"GPU": 1}}
    return a_stall(
        states={"no-worker": 3}, unrunnable=[{**task, "loose": False, **more}]
    )


def of_a_lock(state: str = "waiting") -> Piece:
    waits = {"state": state, "waits_for": [["lock-1", "error"]]}
    return a_stall(a_task_at("use-1"), answers=what_w1_reports({}, {"use-1": waits}))


def all_paused() -> Piece:
    return a_stall(
        a_task_at("load-2"), statuses={"paused": 1}, paused=["tcp://w1"]
    )  # fmt: skip


def test_a_task_that_waits_for_tasks_that_need_its_thread_is_named() -> None:
    found = the_verdict(hung(nested(a_task_at("inner-1"))))

    assert (found.rule, found.confidence) == ("nested-client-deadlock", "high")
    assert the_verdict(hung(iterating())).rule == "nested-client-deadlock"


def test_a_client_that_is_only_being_made_waits_for_no_task() -> None:
    making = [
        '  File "/jobs/nightly.py", line 7, in load\n\tEvent("open").wait()\n',
        f'  File "{LIB}/distributed/event.py", line 2, in wait\n\tself.client\n',
        f'  File "{LIB}/distributed/client.py", line 3, in __init__\n\tself.start()\n',
        f'  File "{LIB}/distributed/utils.py", line 4, in sync\n\te.wait(10)\n',
    ]
    waits = {"outer-1": {"state": "executing", "waits_for": []}}
    stall = a_stall(
        a_task_at("outer-1", executing_for=58),
        a_task_at("inner-1"),
        answers=what_w1_reports({"outer-1": making}, waits),
    )

    assert the_verdict(hung(stall)).rule == "stalled"


@pytest.mark.parametrize(
    "stall",
    [
        pytest.param(nested(), id="nothing waits for the thread"),
        pytest.param(
            nested(a_task_at("inner-1"), state="long-running"), id="it gave it back"
        ),
        pytest.param(
            nested(a_task_at("inner-1"), a_task_at("fetch-1", executing_for=3)),
            id="another thread is at work",
        ),
    ],
)
def test_a_task_that_waits_in_a_client_need_not_be_a_deadlock(stall: Piece) -> None:
    assert the_verdict(hung(stall)).rule == "stalled"


def test_a_worker_with_a_free_thread_is_not_in_a_deadlock_over_threads() -> None:
    run = hung(nested(a_task_at("inner-1")), workers=(a_worker(nthreads=2),))

    assert the_verdict(run).rule == "stalled"


@pytest.mark.parametrize(
    ("stopped", "confidence"),
    [
        ("KeyboardInterrupt", "medium"),
        ("prefect.exceptions.TerminationSignal", "medium"),
        ("airflow.sdk.exceptions.AirflowTaskTimeout", "high"),
    ],
)
def test_whoever_stops_a_known_hang_it_is_the_hang(
    stopped: str, confidence: str
) -> None:
    found = the_verdict(hung(of_resources(), error=an_exception(stopped, "")))

    assert (found.rule, found.confidence) == ("no-valid-worker", confidence)


@pytest.mark.parametrize(
    ("later", "rule"), [((), "stalled"), ((a_graph(at=95.0),), "driver-exception")]
)
def test_an_exit_after_a_wait_that_timed_out_is_the_hang(
    later: tuple[Piece, ...], rule: str
) -> None:
    gave_up = an_event(
        "driver-call-failed", "driver", at=90.0, call="wait", exception="TimeoutError",
        identity="1", pid=1,
    )  # fmt: skip
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    run = a_run(
        a_worker(), a_graph(), stall, gave_up, *later,
        failed_with(None, exit_code=7, at=100),
    )  # fmt: skip
    found = the_verdict(run)

    assert found.rule == rule
    assert ("then the driver exited" in found.cause) == (rule == "stalled")


@pytest.mark.parametrize(
    ("handled", "rule"),
    [(("TimeoutError: ",), "stalled"), ((), "driver-exception")],
    ids=["while it handled the timeout", "on its own"],
)
def test_what_a_driver_raises_for_a_timeout_of_dasks_is_the_hang(
    handled: tuple[str, ...], rule: str
) -> None:
    gave_up = an_event(
        "driver-call-failed", "driver", at=100.0, call="wait", exception="TimeoutError",
        identity="1", pid=1,
    )  # fmt: skip
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    error = msgspec.structs.replace(
        an_exception("RuntimeError", "0 of 5 blocks cut"), handled=handled
    )

    assert the_verdict(hung(stall, gave_up, error=error)).rule == rule


@pytest.mark.parametrize(
    ("cpu", "lasted", "rule"),
    [(0.1, 75.0, "stalled"), (50.0, 75.0, "driver-exception"), (0.1, 6.0, "driver-exception")],
    ids=["polled", "computed", "polled for a moment"],
)  # fmt: skip
def test_an_exit_after_a_poll_at_one_line_is_the_hang(
    cpu: float, lasted: float, rule: str
) -> None:
    line = '  File "/jobs/nightly.py", line 71, in wait_all\n    time.sleep(0.5)\n'
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    run = a_run(
        a_worker(), a_graph(), stall,
        an_event("driver-blocked", "driver", at=96, lasted=lasted, stack=[line], pid=1),
        an_event("driver-load", "driver", at=99, pid=1, seconds=99.0, cpu=cpu),
        an_event("driver-exit", "driver", at=100, pid=1, code=7),
        failed_with(None, exit_code=7, at=100),
    )  # fmt: skip
    found = the_verdict(run)

    assert found.rule == rule
    assert ("then the driver exited" in found.cause) == (rule == "stalled")


@pytest.mark.parametrize(
    ("stall", "error", "rule"),
    [
        (
            of_resources(),
            an_exception("KeyError", "'plan' not found"),
            "no-valid-worker",
        ),
        # What is running may end: the driver may only have looked at it.
        (
            a_stall(a_task_at("fetch-1", executing_for=58)),
            an_exception("KeyError", "'plan' not found"),
            "driver-exception",
        ),
        (
            of_resources(),
            an_exception("ZeroDivisionError", "by zero"),
            "driver-exception",
        ),
    ],
)
def test_what_a_driver_lacks_after_a_wait_that_it_gave_up_is_the_hang(
    stall: Piece, error: DriverException, rule: str
) -> None:
    gave_up = an_event(
        "driver-call-failed", "driver", at=90.0, call="Future.result", key="train-1",
        exception="TimeoutError", message="timed out after 10 s.", identity="1", pid=1,
    )  # fmt: skip
    found = the_verdict(hung(stall, gave_up, error=error))

    assert found.rule == rule
    assert ("failed without the result" in found.cause) == (rule == "no-valid-worker")


EXITS = an_exception(
    "SystemExit",
    "index not published: 17 of 44",
    traceback=(
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 12, in main\n'
        '    sys.exit(f"index not published: {done} of {wanted}")\n'
        "SystemExit: index not published: 17 of 44\n"
    ),
)
IN_AS_COMPLETED = (
    '  File "/jobs/nightly.py", line 9, in collect\n    for each in as_completed(all):\n',
    '  File "/venv/lib/python3.12/site-packages/distributed/client.py", line 5711, in __next__\n    self.wait()\n',
)


@pytest.mark.parametrize(
    ("wait", "rule"),
    [
        (
            an_event(
                "driver-call-failed", "driver", at=90.0, call="wait", key=None,
                exception="TimeoutError", message="", identity="1", pid=1,
            ),
            "no-valid-worker",
        ),
        (
            an_event(
                "driver-blocked", "driver", at=96.0, lasted=40.0, pid=1,
                stack=IN_AS_COMPLETED,
            ),
            "no-valid-worker",
        ),
        # It may have waited for something else.
        (
            an_event(
                "driver-blocked", "driver", at=96.0, lasted=40.0, pid=1,
                stack=IN_AS_COMPLETED[:1],
            ),
            "driver-exception",
        ),
    ],
    ids=["a wait that timed out", "as_completed", "its own code"],
)  # fmt: skip
def test_a_driver_that_exits_after_a_wait_in_vain_is_the_hang_in_whatever_words(
    wait: Piece, rule: str
) -> None:
    found = the_verdict(hung(of_resources(), wait, error=EXITS))

    assert found.rule == rule
    assert ("failed without the result" in found.cause) == (rule == "no-valid-worker")


@pytest.mark.parametrize(
    ("stop", "rule"), [(99.0, "driver-exception"), (101.5, "no-valid-worker")]
)
def test_a_driver_whose_wait_ended_with_a_result_did_not_wait_in_vain(
    stop: float, rule: str
) -> None:
    wait = an_event(
        "driver-blocked", "driver", at=96.0, lasted=40.0, pid=1, stack=IN_AS_COMPLETED
    )
    done = a_task("train-0", start=stop - 1)
    found = the_verdict(hung(of_resources(), wait, done, error=EXITS))

    assert found.rule == rule


def a_wait_in_vain(at: float) -> Piece:
    return an_event(
        "driver-call-failed", "driver", at=at, call="wait", key=None,
        exception="TimeoutError", message="", identity="1", pid=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("waits", "rule"),
    [
        ([99.5], "stalled"),
        ([95.5, 97.5, 99.5], "driver-exception"),  # it may only have looked
        ([90.0], "driver-exception"),
    ],
    ids=["its only wait", "one of several", "long before"],
)
def test_a_driver_that_exits_after_its_only_wait_gave_up_what_was_running(
    waits: list[float], rule: str
) -> None:
    running = a_stall(a_task_at("fetch-1", executing_for=58))
    found = the_verdict(hung(running, *map(a_wait_in_vain, waits), error=EXITS))

    assert found.rule == rule


@pytest.mark.parametrize(
    ("failed_at", "rule"), [(30.0, "task-exception"), (10.0, "stalled")]
)
def test_a_failure_beside_a_task_that_hangs_is_the_root(
    failed_at: float, rule: str
) -> None:
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        lasted=40.0,
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    feed = a_failed_task("feed-1", "KeyError", "'temp_c'", at=failed_at)
    found = the_verdict(hung(stall, feed))

    assert found.rule == rule
    assert found.title.startswith("KeyError in 'feed': 'temp_c'; then ")


def test_a_resource_that_no_worker_has_is_named() -> None:
    found = the_verdict(hung(of_resources()))

    assert (found.rule, found.confidence) == ("no-valid-worker", "high")
    assert found.title == "No worker could run 'train': it asks for GPU=1"
    assert "no worker has that. 3 tasks waited for the same reason" in found.cause
    assert '--resources "GPU=1"' in found.remedy
    assert found.subject.key == "train-1"


@pytest.mark.parametrize(
    ("there", "hint"),
    [
        ("CPU", ""),
        ("gpu", "; the name 'gpu' is similar, but another one"),
        ("GPUS", "; the name 'GPUS' is similar, but another one"),
    ],
)
def test_the_resources_that_there_are_stand_beside_the_one_that_is_asked_for(
    there: str, hint: str
) -> None:
    kind, (at, what, address, _) = a_worker()
    detail = json.dumps({"name": "1", "resources": {there: 2.0}})
    run = hung(of_resources(), workers=((kind, (at, what, address, detail)),))

    offered = f"no worker has that (available resources: {there}=2{hint})"
    assert offered in the_verdict(run).cause


def test_a_worker_that_is_asked_for_by_name_is_named() -> None:
    found = the_verdict(hung(of_resources(resources={}, workers=["tcp://gone"])))

    assert found.title == "No worker could run 'train': it asks for worker tcp://gone"


@pytest.mark.parametrize(
    ("asked", "rule"), [("tcp://w1", "worker-segfault"), ("1", "no-valid-worker")]
)
def test_the_address_of_a_worker_that_died_is_gone_though_its_nanny_starts_another(
    asked: str, rule: str
) -> None:
    death = a_death(exit_code=-11, at=5.0, executing=["load-1"])
    again = a_worker("tcp://w2", at=7.0, name="1", pid=101)
    found = the_verdict(hung(death, again, of_resources(resources={}, workers=[asked])))

    assert found.rule == rule
    died = rule == "worker-segfault"
    assert ("Its nanny started it again" in found.remedy) == died
    assert "turns a worker's name into its address" in found.remedy


def test_a_worker_that_was_restarted_has_another_address_under_its_name() -> None:
    left = a_departure(at=20.0, expected=True)
    again = a_worker("tcp://w2", at=22.0, name="1", pid=101)
    bound = of_resources(resources={}, workers=["tcp://w1"])
    found = the_verdict(hung(left, again, bound))

    assert found.rule == "no-valid-worker"
    assert "worker '1' is at tcp://w2 now" in found.cause
    assert "`allow_other_workers=True`" in found.remedy
    assert "name rather than its address" not in found.remedy
    gone = the_verdict(hung(left, bound))
    assert "is at" not in gone.cause


@pytest.mark.parametrize(
    ("called", "what", "do"),
    [
        (
            ["subprocess.py: wait", "subprocess.py: _try_wait"],
            "a program",
            "communicate()",
        ),
        (["subprocess.py: run", "subprocess.py: communicate"], "a program", "timeout="),
        (
            ["multiprocessing/process.py: join", "multiprocessing/popen_fork.py: wait"],
            "a process",
            "get_context('spawn')",
        ),
        (["socket.py: accept"], "a connection", "settimeout"),
        (["socket.py: readinto"], "data from a connection", "settimeout"),
        (["queue.py: get", "threading.py: wait"], "a lock or another thread", "`with`"),
        (["sqlite3/dbapi2.py: poll"], "", "a lock or a service"),
    ],
)
def test_what_a_task_waits_for_outside_of_dask_has_its_own_remedy(
    called: list[str], what: str, do: str
) -> None:
    frames = [each.partition(": ") for each in called]
    stack = [
        '  File "/jobs/nightly.py", line 30, in convert\n\ttool.wait()\n',
        *(
            f'  File "/usr/lib/python3.11/{file}", line 9, in {function}\n\twait()\n'
            for file, _, function in frames
        ),
    ]
    used = [a_sample(at=float(at), cpu=1.0) for at in range(30, 80, 5)]
    stall = a_stall(
        a_task_at("convert-1", executing_for=58),
        answers=what_w1_reports({"convert-1": stack}),
    )
    found = the_verdict(hung(*used, stall))

    assert found.rule == "stalled"
    assert ("that it had started" in found.cause) == ("pro" in what)
    waits = f"waiting for {what}" if what else "waiting in `tool.wait()`"
    assert waits in found.cause
    assert do in found.remedy
    assert ("stdout=PIPE" in found.remedy) == (do == "communicate()")


@pytest.mark.parametrize(
    ("code", "do"),
    [
        ("answer += line.recv(256)", "`settimeout`"),
        ("fcntl.flock(file, fcntl.LOCK_EX)", "which process holds it"),
        ("time.sleep(5)", "end the loop after some time"),
        ("n * heads[:-2, 1:-1]", "limit the number of iterations"),
        ("cursor.execute(query)", "`py-spy dump --native`"),
        ("gate.acquire()", "a lock or a service"),
    ],
)
def test_the_line_at_which_a_task_is_says_what_helps_and_what_does_not(
    code: str, do: str
) -> None:
    stack = [f'  File "/jobs/nightly.py", line 30, in ask\n\t{code}\n']
    used = [a_sample(at=float(at), cpu=1.0) for at in range(30, 80, 5)]
    stall = a_stall(
        a_task_at("ask-1", executing_for=58),
        answers=what_w1_reports({"ask-1": stack}),
    )
    remedy = the_verdict(hung(*used, stall)).remedy

    assert do in remedy
    others = {"`settimeout`", "which process holds it", "number of iterations"} - {do}
    assert not [each for each in others if each in remedy and each not in do]


@pytest.mark.parametrize(
    ("called", "more"), [("socket.py", True), ("subprocess.py", False)]
)
def test_of_tasks_that_wait_for_peers_on_every_thread_the_peers_may_have_none(
    called: str, *, more: bool
) -> None:
    stack = [
        '  File "/jobs/nightly.py", line 30, in train\n\tserver.accept()\n',
        f'  File "/usr/lib/python3.11/{called}", line 9, in accept\n\tself._accept()\n',
    ]
    used = [a_sample(at=float(at), cpu=1.0) for at in range(30, 80, 5)]
    stall = a_stall(
        a_task_at("train-1", executing_for=58),
        a_task_at("train-2", executing_for=57),
        a_task_at("train-3"),
        answers=what_w1_reports({"train-1": stack, "train-2": stack}),
    )
    found = the_verdict(hung(*used, stall, workers=(a_worker(nthreads=2),)))

    assert (
        "Both threads were taken by tasks that did not finish" in found.cause
    ) is more
    assert ("than the cluster has threads" in found.remedy) is more


def test_tasks_on_a_cluster_without_workers_do_not_wait_for_those_of_another() -> None:
    schedulers = [an_event("scheduler-info", f"tcp://s{n}", pid=1) for n in (1, 2)]
    graph = an_event(
        "graph-updated", "Client-2", at=15.0, tasks=4, prefixes={"settle": 3, "list": 1},
        functions={"settle": ["__main__:settle"]},
    )  # fmt: skip
    other = a_departure(at=99.5, stimulus="retire-workers-1", expected=True)
    stall = a_stall(workers=0, states={"queued": 4})
    found = the_verdict(hung(*schedulers, other, graph, stall))

    assert (found.rule, found.confidence) == ("no-valid-worker", "high")
    assert found.title == (
        "4 tasks ('settle') waited on a cluster that has no workers; another cluster has 1"
    )
    assert "`with client.as_current():`" in found.remedy
    one = the_verdict(hung(schedulers[0], other, graph, stall))
    assert "another cluster" not in one.title


@pytest.mark.parametrize(
    ("resources", "code", "first"),
    [
        (["GPU=1"], 1, True),
        (["CPU=4"], 1, False),
        (["GPU=1"], -15, False),
        (["GPU=1", "CPU=4"], 1, False),
    ],
    ids=["it had what is asked for", "another worker", "it was stopped", "one of two"],
)
def test_a_worker_that_is_missing_since_its_command_failed_is_a_failed_start(
    resources: list[str], code: int, *, first: bool
) -> None:
    programs = [
        an_event(
            "program-failed", "driver", at=101, pid=1, program_pid=9, code=code,
            command=f"python -m dask worker tcp://s --no-nanny --resources {each}",
        )
        for each in resources
    ]  # fmt: skip
    printed = [
        "Traceback (most recent call last):",
        f'  File "{LIB}/distributed/core.py", line 509, in start',
        "OSError: [Errno 98] Address already in use",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        f'  File "{LIB}/distributed/cli/dask_worker.py", line 445, in main',
        "RuntimeError: Worker failed to start.",
    ]
    lines = [
        a_log_line(
            line, at=5.0, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(printed)
    ]
    found = the_verdict(hung(*lines, *programs, of_resources()))

    begins = "A worker with GPU=1 failed to start: OSError: [Errno 98] Address already in use; then no"
    assert found.title.startswith(begins) == first
    assert found.rule == ("worker-start-failed" if first else "no-valid-worker")


def test_workers_that_all_left_in_order_are_missed() -> None:
    gone = a_departure(stimulus="retire-workers-1", expected=True)
    found = the_verdict(hung(gone, a_stall(workers=0, states={"queued": 4})))

    assert (found.rule, found.confidence) == ("no-valid-worker", "medium")
    assert found.title == "No worker was left, and 4 tasks waited"


def test_workers_that_their_cluster_closed_without_a_death_are_missed() -> None:
    closing = an_event("worker-closing", "tcp://w1", at=9.9, reason="nanny-close")
    gone = a_departure(stimulus="handle-worker-cleanup-1", expected=False)
    found = the_verdict(hung(closing, gone, a_stall(workers=0, states={"queued": 4})))

    assert (found.rule, found.confidence) == ("no-valid-worker", "medium")


def test_a_standstill_that_was_last_described_after_the_timeout_is_the_cause() -> None:
    raised = an_event(
        "driver-call-failed", "driver", at=79.0, call="Future.result",
        exception="TimeoutError", message="", identity="7f1",
    )  # fmt: skip
    timeout = msgspec.structs.replace(TIMED_OUT, chain_ids=("7f1",))
    found = the_verdict(hung(of_a_shared_wait(at=80.0), raised, error=timeout))

    assert found.rule == "stalled"


def of_a_shared_wait(**more: Any) -> Piece:
    stack = [
        '  File "/jobs/nightly.py", line 9, in move\n\twith Lock(target):\n',
        f'  File "{LIB}/distributed/lock.py", line 9, in __enter__\n\tself.acquire()\n',
        f'  File "{LIB}/distributed/semaphore.py", line 9, in acquire\n\tself.sync()\n',
    ]
    answer = what_w1_reports({"move-1": stack}, {"move-1": {"state": "executing"}})
    return a_stall(a_task_at("move-1", executing_for=58), answers=answer, **more)


def test_workers_that_died_are_the_cause_of_a_hang_without_workers() -> None:
    died = a_death(exit_code=-11, processing=["load-1"])
    found = the_verdict(hung(died, a_stall(workers=0, states={"queued": 4})))

    assert found.rule == "worker-segfault"


def test_workers_that_never_came_are_missed() -> None:
    stall = a_stall(workers=0, statuses={}, states={"queued": 4})
    found = the_verdict(hung(stall, workers=()))

    assert (found.rule, found.confidence) == ("workers-never-arrived", "high")
    assert found.title == "No worker ever arrived, and 4 tasks waited"


def test_a_local_cluster_that_never_had_a_worker_is_not_waiting_for_a_queue() -> None:
    stall = a_stall(workers=0, statuses={}, states={"queued": 4})
    cluster = an_event("driver-attached", "driver", cluster={"kind": "LocalCluster"})
    found = the_verdict(hung(stall, cluster, workers=()))

    assert found.remedy.startswith(
        "A LocalCluster starts the requested workers at once"
    )
    assert (found.retry_advice, found.retry_confidence) == ("code", "medium")


@pytest.mark.parametrize(
    ("cpu", "others", "computes"),
    [(99.0, [], True), (50.0, [], False), (99.0, [a_task_at("fit-2", executing_for=40)], False)],
    ids=["alone", "half of the time", "beside another task"],
)  # fmt: skip
def test_a_task_whose_worker_computed_all_the_time_does_not_wait(
    cpu: float, others: list[dict[str, Any]], *, computes: bool
) -> None:
    used = [a_sample(at=float(at), cpu=cpu) for at in range(30, 80, 5)]
    stall = a_stall(a_task_at("solve-1", executing_for=58), *others)
    found = the_verdict(hung(*used, stall))

    assert found.rule == "stalled"
    assert ("used 99% of a core: it was computing" in found.cause) == computes
    assert ("limit the number of iterations" in found.remedy) == computes
    assert ("a lock or a service" in found.remedy) == (not computes)


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (["Pausing worker"], "workers-paused"),
        (["Pausing worker", "Resuming worker"], "workers-never-arrived"),
        (["Pausing worker", "Resuming worker", "Pausing worker"], "workers-paused"),
        ([], "workers-never-arrived"),
    ],
)
def test_workers_that_are_paused_do_not_arrive(lines: list[str], rule: str) -> None:
    waited = an_exception(
        "distributed.exceptions.WorkerStartTimeoutError",
        "Only 0/1 workers arrived after 15",
    )
    said = [
        a_log_line(f"Worker is at 117% memory usage. {line}.", at=2.0 + n)
        for n, line in enumerate(lines)
    ]
    sample = a_sample(memory=360 * MIB, at=3.0)
    run = a_run(a_worker(), sample, *said, failed_with(waited, at=16))
    found = the_verdict(run)
    assert found.rule == rule
    paused = "1 of 1 worker was paused for lack of memory: 360 MiB of 400 MiB in use"
    assert (found.title == paused) == (rule == "workers-paused")
    steps = [step.text for step in chain_of(Case(run), found)]
    assert steps[0] == found.title
    assert steps[1:] == ["The driver gave up waiting: WorkerStartTimeoutError"]


def test_a_paused_worker_that_left_is_not_why_others_did_not_arrive() -> None:
    waited = an_exception(
        "distributed.exceptions.WorkerStartTimeoutError",
        "Only 0/1 workers arrived after 15",
    )
    paused = a_log_line("Worker is at 117% memory usage. Pausing worker.", at=2.0)
    left = a_departure(at=9.0, expected=True)
    sample = a_sample(memory=360 * MIB, at=3.0)
    run = a_run(a_worker(), sample, paused, left, failed_with(waited, at=16))

    assert "workers-paused" not in [each.rule for each in findings_in(run)]


def test_one_running_worker_is_enough_not_to_blame_the_paused_one() -> None:
    stall = a_stall(
        a_task_at("load-2"), workers=2, statuses={"paused": 1, "running": 1},
        paused=["tcp://w1"],
    )  # fmt: skip

    assert the_verdict(hung(stall)).rule == "stalled"


def test_paused_workers_that_could_not_spill_had_no_disk() -> None:
    line = "Spill to disk failed; keeping data in memory\nOSError: [Errno 28] No space left on device"
    found = the_verdict(
        hung(a_log_line(line), a_sample(spilled=900 * MIB), all_paused())
    )

    assert (found.rule, found.confidence) == ("disk-full", "high")
    assert found.subject.worker == "tcp://w1"
    assert "900 MiB spilled" in found.remedy


def test_a_limit_on_the_size_of_spilled_files_is_no_full_disk() -> None:
    line = "Spill to disk failed; keeping data in memory\nOSError: [Errno 27] File too large"
    found = the_verdict(hung(a_log_line(line), all_paused()))

    assert (found.rule, found.confidence) == ("disk-full", "high")
    assert found.title == (
        "Spilling reached the file size limit, and 1 worker stayed paused"
    )
    assert "ulimit -f" in found.remedy


def test_a_folder_that_was_removed_is_no_full_disk() -> None:
    line = (
        "Spill to disk failed; keeping data in memory\n"
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/w1/storage/x'"
    )
    found = the_verdict(hung(a_log_line(line), all_paused()))

    assert found.title.startswith("Spilling failed (FileNotFoundError), and 1 worker")
    assert "disk was full" not in found.cause
    assert "Find what removes the workers' local directory" in found.remedy


def test_a_full_disk_on_running_workers_is_not_the_hang() -> None:
    line = a_log_line("Spill to disk failed; keeping data in memory")

    assert the_verdict(hung(line, a_stall(a_task_at("use-1")))).rule == "stalled"


def test_an_input_that_cannot_be_pickled_is_named() -> None:
    found = the_verdict(hung(a_log_line(NO_PICKLE), of_a_lock()))

    assert (found.rule, found.confidence) == ("dependency-not-serializable", "high")
    assert found.title == "A result of 'lock' (lock) cannot be sent between workers"
    assert "'use-1' on worker 1 (tcp://w1) waits for 'lock-1'" in found.cause
    assert "cannot pickle '_thread.lock' object" in found.cause
    assert found.subject.key == "lock-1"


def test_the_kinds_of_tasks_that_did_not_start_are_named() -> None:
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        a_task_at("fetch-2"),
        a_task_at("count-1"),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )

    cause = the_verdict(hung(stall)).cause
    assert "2 tasks of 'fetch' and 'count' had been assigned but did not start" in cause


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((of_a_lock(),), id="nobody said it could not be pickled"),
        pytest.param(
            (a_log_line(NO_PICKLE), of_a_lock("executing")), id="it is at work"
        ),
    ],
)
def test_without_both_signs_no_input_is_blamed(pieces: tuple[Piece, ...]) -> None:
    assert the_verdict(hung(*pieces)).rule == "stalled"


def test_a_driver_that_waits_for_workers_which_the_cluster_closed_names_the_cluster() -> (
    None
):
    stack = [
        '  File "/jobs/nightly.py", line 9, in main\n\tclient.wait_for_workers(1)',
        '  File "/venv/site-packages/distributed/client.py", line 1, in wait_for_workers',
    ]
    found = the_verdict(
        a_run(
            a_worker(name="1"),
            a_departure(at=5, closing="client-restart-1"),
            a_worker("tcp://w2", at=20, name="1", pid=2),
            a_departure("tcp://w2", at=21, closing="nanny-close"),
            an_event("driver-blocked", "driver", at=60, lasted=30, stack=stack),
            an_event("driver-ended", at=90, signal=15),
            aborted(at=90),
        )
    )

    assert (found.rule, found.confidence) == ("cluster-lost-worker", "medium")
    assert "closed its last worker while the driver waited for workers" in found.title


@pytest.mark.parametrize("reason", ["evicted", "cancelled"])
def test_what_a_run_waited_for_when_its_host_stopped_it_is_a_warning(
    reason: StopReason,
) -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_death(exit_code=-15, at=10, processing=["load-1"]),
        a_worker("tcp://w2", at=12, name="1", pid=2),
        a_departure("tcp://w2", at=15, closing="nanny-close"),
        a_stall(workers=0, statuses={}, states={"queued": 4}),
        stopped_by("prefect", reason, at=100, exception=TIMED_OUT),
    )

    found = the_verdict(run)
    others = [each for each in findings_in(run) if each.rule in WAITS | {STALLED}]

    assert (found.rule, found.retry_advice) == ("stopped-by-host", "unknown")
    assert "No task had finished for 1 m 20 s: 0 workers" in found.cause
    assert "No failure had been recorded" not in found.cause
    assert [(each.rule, each.severity) for each in others] == [
        ("cluster-lost-worker", "warning")
    ]


def test_a_run_that_its_host_stopped_at_work_had_no_failure() -> None:
    run = a_run(a_worker(), a_graph(), stopped_by("prefect", "evicted", at=100))

    found = the_verdict(run)

    assert (found.rule, found.retry_advice) == ("stopped-by-host", "transient")
    assert "No failure had been recorded by then" in found.cause
    assert found.evidence[0].text == "Prefect ended the run (SIGTERM)"
    assert [each.rule for each in findings_in(run)] == ["stopped-by-host"]


@pytest.mark.parametrize(("lasted", "warned"), [(6.0, []), (40.0, ["stalled"])])
def test_tasks_that_ran_when_their_host_stopped_the_run_may_only_take_long(
    lasted: float, warned: list[str]
) -> None:
    at_work = a_task_at("load-1", executing_for=lasted)
    stall = a_stall(at_work, at=60 + lasted, lasted=lasted)
    end = stopped_by("prefect", "evicted", at=61 + lasted, exception=TIMED_OUT)
    run = a_run(a_worker(), a_graph(), stall, end)

    found = the_verdict(run)
    others = [each.rule for each in findings_in(run) if each is not found]

    assert (found.rule, found.retry_advice) == ("stopped-by-host", "transient")
    assert [rule for rule in others if rule in WAITS | {STALLED}] == warned


def test_a_time_limit_that_is_over_while_the_cluster_starts_is_reported_as_that() -> (
    None
):
    making = an_exception(
        "prefect.CancelledError",
        "",
        traceback=f'  File "{LIB}/distributed/deploy/spec.py", line 292, in __init__\n',
    )
    limited = stopped_by("prefect", "run-timeout", at=25, exception=making, limit=25.0)

    found = the_verdict(a_run(limited))

    assert found.title == (
        "Reached its time limit of 25 s while its cluster was starting"
    )
    assert "start its cluster earlier, or keep one running" in found.remedy


@pytest.mark.parametrize("more", [False, True])
def test_a_time_limit_reports_whether_the_driver_was_still_submitting(
    *,
    more: bool,
) -> None:
    last = 25.0 if more else 20.0
    graphs = [a_graph(1, at=last - n / 2) for n in range(20)]
    tasks = [a_task(f"draw-{n}", start=20 + n) for n in range(4)]
    limited = stopped_by("prefect", "run-timeout", at=25.1, limit=25.0)

    found = the_verdict(a_run(a_worker(), *graphs, *tasks, limited))

    title = "Reached its time limit of 25 s with 4 of 20 tasks done"
    assert (found.title == f"{title} and more to submit") is more
    assert found.title.startswith(f"{title}, at this rate ") is not more
    assert ("of 20 tasks submitted so far had ended" in found.cause) is more
    assert ("to more than " in found.remedy) is more


def test_a_limit_that_counts_from_before_the_run_is_never_to_be_lowered() -> None:
    graphs = [a_graph(1, at=20.0 - n / 2) for n in range(20)]
    tasks = [a_task(f"draw-{n}", start=20 + n) for n in range(4)]
    # The task of a DAG run that had taken an hour by then.
    limited = stopped_by("airflow", "run-timeout", at=25.1, limit=3_600.0)

    found = the_verdict(a_run(a_worker(), *graphs, *tasks, limited))

    title = "Reached its time limit of 1 h 00 m with 4 of 20 tasks done"
    assert found.title.startswith(f"{title}, at this rate 1 h 0")
    assert found.remedy.startswith("Raise `time limit` to 1 h 0")


def test_a_time_limit_that_is_over_before_there_is_a_client_has_the_drivers_line() -> (
    None
):
    waiting = an_exception(
        "airflow.sdk.exceptions.AirflowTaskTimeout",
        "Timeout",
        traceback='  File "/dags/nightly.py", line 7, in make\n    wait_for_quota()\n',
        file="/dags/nightly.py",
    )
    limited = stopped_by(
        "airflow",
        "task-timeout",
        at=40,
        exception=waiting,
        limit=40.0,
        sources={"driver": SourceAccount(batches=1)},
    )

    found = the_verdict(a_run(limited))

    assert found.title == (
        "Reached its time limit of 40 s before it had connected to a cluster"
    )
    assert "The driver was at /dags/nightly.py:" in found.cause
    assert found.remedy == (
        "Find out what delays the start of the cluster, or raise `time limit`."
    )


def test_a_time_limit_that_is_over_while_the_cluster_closes_is_reported_as_that() -> (
    None
):
    closing = an_exception(
        "airflow.sdk.exceptions.AirflowTaskTimeout",
        "Timeout",
        traceback=(
            f'  File "{LIB}/distributed/deploy/cluster.py", line 524, in __exit__\n'
            '  File "/dags/nightly.py", line 27, in close\n    time.sleep(600)\n'
        ),
    )
    limited = stopped_by(
        "airflow", "task-timeout", at=40, exception=closing, limit=40.0
    )

    found = the_verdict(a_run(a_worker(), a_graph(tasks=1), a_task("load-1"), limited))

    assert found.title == (
        "Reached its time limit of 40 s while its cluster was closing; "
        "1 of 1 task was done"
    )
    assert found.remedy == (
        "Find out what delays the closing of the cluster, or raise `time limit`."
    )


def test_a_time_limit_is_no_hang_of_tasks_that_finished_before_the_cluster_closed() -> (
    None
):
    # Its scheduler closed before its next look, and never reported that the stall was over.
    stall = a_stall(a_task_at("load-1", executing_for=60), at=70)
    limited = stopped_by("airflow", "task-timeout", at=95, limit=95.0)

    def run(stop: float) -> RunTables:
        task = a_task("load-1", start=stop - 70, compute=70)
        return a_run(a_worker(), a_graph(tasks=1), stall, task, limited)

    assert the_verdict(run(stop=75)).rule == "stopped-by-host"
    assert the_verdict(run(stop=94.5)).rule != "stopped-by-host"


def test_the_progress_at_a_time_limit_names_the_tasks_of_all_graphs() -> None:
    first = an_event("graph-updated", "c", tasks=3, new={"load": [3, 3]})
    second = an_event("graph-updated", "c", tasks=1, new={"total": [1, 0]})
    done = [a_task(f"load-{n}", start=10.0 * n, compute=9.0) for n in (1, 2)]
    limited = stopped_by("prefect", "run-timeout", at=30, limit=30.0)

    found = the_verdict(a_run(a_worker(), first, second, *done, limited))

    assert "2 of 4 tasks of 'load' and 'total' had ended" in found.cause


def test_a_time_limit_that_cancels_the_driver_is_no_cancellation_of_futures() -> None:
    cancelled = an_exception(
        "prefect._internal.concurrency.cancellation.CancelledError", ""
    )
    limited = stopped_by(
        "prefect", "run-timeout", at=60, exception=cancelled, limit=60.0
    )
    short = a_stall(a_task_at("load-1", executing_for=5), at=58, lasted=5)

    found = the_verdict(a_run(a_worker(), a_graph(), short, limited))

    assert found.rule == "stopped-by-host"
    assert "of 1 m 00 s" in found.title


@pytest.mark.parametrize(
    ("last", "error", "progress"),
    [
        (
            10.0,
            "Connect call failed",
            "4 of 10 tasks were done when the scheduler last answered, 50 s before",
        ),
        (58.0, "Connect call failed", "at least 4 of 10 tasks were done"),
        (10.0, None, "4 of 10 tasks were done"),
    ],
)
def test_how_far_a_run_was_is_as_of_the_last_answer_of_its_scheduler(
    last: float, error: str | None, progress: str
) -> None:
    kind, end = stopped_by("airflow", "marked-failed", at=60)
    account = SourceAccount(batches=3, first=1, last=3, error=error)
    end = msgspec.structs.replace(end, sources={"scheduler tcp://s": account})
    heard = a_sample(at=last, source="scheduler", memory=MIB)

    done = [a_task(f"load-{n}", start=1.0 + n, compute=1.0) for n in range(4)]

    found = the_verdict(a_run(a_worker(), a_graph(), *done, heard, (kind, end)))

    assert found.title == (
        f"Airflow stopped this run after 1 m 00 s (marked failed); {progress}"
    )


@pytest.mark.parametrize(
    ("closed", "rule"), [(57.0, "stopped-by-host"), (20.0, "scheduler-lost")]
)
def test_a_host_that_ends_a_run_may_close_its_cluster_first(
    closed: float, rule: str
) -> None:
    lost = an_exception(
        "distributed.client.FutureCancelledError",
        "load-1 cancelled for reason: scheduler-connection-lost.\n"
        "Client lost the connection to the scheduler.",
    )
    found = the_verdict(
        a_run(
            a_worker(),
            a_graph(),
            an_event("scheduler-closing", at=closed, reason="terminate", by="tcp://c"),
            an_event("scheduler-lost", at=closed + 0.5),
            stopped_by("airflow", "cleared", at=60, exception=lost),
        )
    )

    assert found.rule == rule


def test_tasks_that_a_later_graph_names_again_count_once() -> None:
    first = an_event("graph-updated", "c", tasks=1, new={"load": [1, 1]})
    second = an_event("graph-updated", "c", tasks=2, new={"total": [1, 0]})
    run = a_run(
        a_worker(), first, a_task("load-1"), second, stopped_by("prefect", "cancelled")
    )

    assert "1 of 2 tasks were done" in the_verdict(run).title


def test_a_cluster_that_closed_workers_while_they_were_restarted_is_blamed() -> None:
    found = the_verdict(
        hung(
            a_departure(at=5, closing="client-restart-1"),
            a_worker("tcp://w2", at=20, name="1", pid=2),
            a_departure("tcp://w2", at=21, closing="nanny-close"),
            a_stall(workers=0, statuses={}, states={"queued": 4}),
        )
    )

    assert (found.rule, found.confidence) == ("cluster-lost-worker", "high")
    assert "It was being restarted on request" in found.cause


def test_a_worker_that_was_scaled_away_was_not_lost_by_its_cluster() -> None:
    gone = a_departure(stimulus="retire-workers-1", closing="nanny-close")
    found = the_verdict(hung(gone, a_stall(workers=0, states={"queued": 4})))

    assert found.rule == "no-valid-worker"


def test_the_longest_task_is_named_where_nothing_else_is_known() -> None:
    stall = a_stall(
        a_task_at("fetch-1", executing_for=59), a_task_at("inc-1"),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
        waiting=[{"key": "sum-1", "waits_for": [["fetch-1", "processing"]]}],
    )  # fmt: skip
    found = the_verdict(hung(stall))

    assert (found.rule, found.confidence) == ("stalled", "low")
    assert "at /jobs/nightly.py:30 in fetch" in found.cause
    assert "'sum-1' waited for 'fetch-1' (processing)" in found.cause
    assert "/jobs/nightly.py:30" in found.remedy
    assert found.subject.key == "fetch-1"


def test_a_standstill_without_any_task_at_work_is_surer() -> None:
    found = the_verdict(hung(a_stall(a_task_at("inc-1"))))

    assert (found.rule, found.confidence) == ("stalled", "medium")
    assert "1 task waited, and none was running" in found.title


def test_our_own_end_of_a_hanging_run_is_no_cancellation() -> None:
    ended = an_event("stall-cancelled-tasks", at=99, lasted=79.0, keys=1)
    # Cancelling lets the detector see nothing wanted any more.
    over = an_event("stall-over", at=99.5, lasted=79.0)
    found = the_verdict(hung(nested(a_task_at("inner-1")), ended, over, error=OUR_END))

    assert (found.rule, found.confidence) == ("nested-client-deadlock", "high")
    assert "`blackbox.stall.end-run` ended the run" in found.cause


def test_what_is_reported_after_our_own_end_of_a_run_is_not_believed() -> None:
    ended = an_event("stall-cancelled-tasks", at=99, lasted=79.0, keys=1)
    late = a_stall(at=99.5, states={})
    found = the_verdict(hung(of_resources(), ended, late, error=OUR_END))

    assert found.rule == "no-valid-worker"


def test_our_own_end_of_a_run_of_which_nothing_was_reported_is_no_error_of_the_driver() -> (
    None
):
    ended = an_event("stall-cancelled-tasks", at=99, lasted=79.0, keys=1)
    found = the_verdict(hung(ended, error=OUR_END))

    assert (found.rule, found.confidence) == ("stalled", "low")
    assert "No task had finished for 1 m 19 s" in found.cause


@pytest.mark.parametrize("goes_on", [[], [99.0]])
def test_a_driver_that_was_stopped_while_the_scheduler_stood_was_stopped(
    goes_on: list[float],
) -> None:
    samples = [a_sample("scheduler", at=at) for at in (1, 2, 3, *goes_on)]
    by_a_host = an_event("driver-lost", at=100, pid=7, exit_code=-15)
    found = the_verdict(
        a_run(a_worker(), a_graph(), *samples, by_a_host, aborted(at=101))
    )

    assert (found.rule, found.confidence) == ("driver-killed", "medium")
    assert "scheduler had been unresponsive for 1 m 3" in found.cause


def test_between_two_clusters_no_scheduler_is_unresponsive() -> None:
    samples = [a_sample("scheduler", at=at) for at in (1, 2, 3, 99)]
    closing = an_event("scheduler-closing", at=3.5, reason="terminate")
    by_a_host = an_event("driver-lost", at=100, pid=7, exit_code=-9)
    run = a_run(a_worker(), a_graph(), *samples, closing, by_a_host, aborted(at=101))

    found = the_verdict(run)

    assert found.rule == "driver-killed"
    assert "unresponsive" not in found.cause


def test_a_driver_that_froze_with_its_own_cluster_did_not_outlive_it() -> None:
    scheduler = an_event("scheduler-info", "tcp://s", pid=7)
    lost = an_event("scheduler-lost", at=60)
    by_a_host = an_event("driver-lost", at=100, pid=7, exit_code=-15)
    run = a_run(a_worker(), a_graph(), scheduler, lost, by_a_host, aborted(at=101))

    assert the_verdict(run).rule == "driver-killed"


@pytest.mark.parametrize(
    ("boot", "rule"), [("here", "driver-killed"), ("there", "scheduler-lost")]
)
def test_a_scheduler_in_the_process_of_a_command_ended_with_it(
    boot: str, rule: str
) -> None:
    connected = an_event("driver-attached", "driver", pid=7, boot="here")
    scheduler = an_event("scheduler-info", "tcp://s", pid=7, boot=boot)
    lost = an_event("scheduler-lost", at=60)
    ended = aborted(at=65, exit_code=-15)  # a busy machine: noticed later
    run = a_run(a_worker(), a_graph(), connected, scheduler, lost, ended)

    assert the_verdict(run).rule == rule


def always_on(run: RunTables) -> RunTables:
    """Return the same run, recorded by its scheduler's preload."""
    host = {"kind": "scheduler", "client": "Client-1"}
    run.manifest = msgspec.structs.replace(run.manifest, host=host)
    return run


def test_what_an_always_on_recorder_loses_is_the_scheduler() -> None:
    lost = an_event("driver-lost", at=8, pid=7)
    found = the_verdict(always_on(a_run(a_worker(), a_graph(), lost, aborted(at=9))))

    assert (found.rule, found.confidence) == ("scheduler-lost", "high")


def test_a_client_that_left_before_the_scheduler_closed_was_not_left_by_it() -> None:
    left = an_event("client-removed", "Client-1", at=8)
    closing = an_event("scheduler-closing", reason="signal-15", at=8.5)
    run = a_run(a_worker(), a_graph(), left, closing, aborted(at=9))

    assert the_verdict(always_on(run)).rule == "driver-killed"


@pytest.mark.parametrize(
    "stall",
    [nested(a_task_at("inner-1")), of_resources(), all_paused(), of_a_lock()],
    ids=["nested", "resources", "paused", "lock"],
)
def test_a_run_that_went_on_has_no_hang(stall: Piece) -> None:
    over = an_event("stall-over", at=90, lasted=70.0)
    signs = [a_log_line(NO_PICKLE), a_log_line("Spill to disk failed")]
    healthy = a_run(a_worker(), a_graph(), *signs, stall, over, succeeded(at=100))

    assert findings_in(healthy) == ()
    assert the_verdict(hung(*signs, stall, over)).rule == "driver-exception"


@pytest.mark.parametrize(
    "stall",
    [nested(a_task_at("inner-1")), of_resources(), all_paused(), of_a_lock()],
    ids=["nested", "resources", "paused", "lock"],
)
def test_a_long_task_that_succeeds_is_never_a_finding(stall: Piece) -> None:
    assert findings_in(a_run(a_worker(), a_graph(), stall, succeeded(at=100))) == ()


def test_a_stall_does_not_hide_what_a_task_raised() -> None:
    error = an_exception("ZeroDivisionError", "division by zero")
    run = a_run(
        a_worker(), a_graph(), of_resources(), *raised_in("divide-1", error, at=99)
    )

    assert the_verdict(run).rule == "task-exception"


def test_a_driver_that_failed_of_itself_during_a_stall_did() -> None:
    error = an_exception("KeyError", "'tuesday'")

    assert the_verdict(hung(of_resources(), error=error)).rule == "driver-exception"


def test_a_stall_of_long_ago_explains_nothing() -> None:
    stall = of_resources()
    late = failed_with(TIMED_OUT, at=1000)

    assert the_verdict(a_run(a_worker(), stall, late)).rule == "driver-exception"


def test_deaths_before_another_hang_are_reported_beside_it() -> None:
    died = a_death(exit_code=-9, executing=["load-1"], at=5)
    back = a_worker("tcp://w2", at=6, pid=2)
    run = hung(died, back, a_failed_task(outcome="retried"), of_resources())

    assert the_verdict(run).rule == "no-valid-worker"
    assert "workers-died" in {finding.rule for finding in findings_in(run)}


def test_the_cancellation_inside_of_a_timeout_is_nobodys() -> None:
    chain = ["asyncio.exceptions.CancelledError"]
    late = an_exception("TimeoutError", "", chain=chain)
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )

    assert the_verdict(hung(stall, error=late)).rule == "stalled"


def stack_at_a_lock(*own: tuple[int, str]) -> list[str]:
    """Return the stack of a task that waits for a lock, through lines of its own functions."""
    lines = (
        f'  File "/jobs/nightly.py", line {line}, in {function}\n\twith Lock("books"):\n'
        for line, function in own
    )
    return [
        *lines,
        f'  File "{LIB}/distributed/lock.py", line 84, in acquire\n\tsuper().acquire()\n',
        f'  File "{LIB}/distributed/semaphore.py", line 4, in acquire\n\tself.sync()\n',
        f'  File "{LIB}/distributed/utils.py", line 4, in sync\n\te.wait(10)\n',
    ]


@pytest.mark.parametrize(
    ("first", "taken", "itself"),
    [
        ([(24, "enter"), (12, "append")], {"books": 1}, True),
        ([(24, "enter"), (12, "append")], {"books": 1, "pages": 1}, False),
        ([(20, "enter"), (12, "append")], {"books": 1}, False),
        ([(24, "other"), (12, "append")], {"books": 1}, False),
        ([(21, "enter")], {"books": 1}, False),
    ],
    ids=["inside", "another is taken, too", "before", "in another function", "beside"],
)
def test_a_task_may_wait_for_the_lock_that_it_holds_itself(
    first: list[tuple[int, str]], taken: dict[str, int], *, itself: bool
) -> None:
    """As in dask/dask#3832: Dask's locks are not reentrant."""
    stacks = {
        "enter-1": stack_at_a_lock((21, "enter")),
        "enter-2": stack_at_a_lock(*first),
    }
    stall = a_stall(
        a_task_at("enter-1", executing_for=59),
        a_task_at("enter-2", executing_for=58),
        answers=what_w1_reports(stacks),
        taken=taken,
    )
    found = the_verdict(hung(stall))

    assert found.subject.key == "enter-2" or not itself
    assert ("a `Lock` that it probably holds itself" in found.title) is itself
    assert ("holds it itself" in found.cause) is itself
    assert ("not reentrant" in found.remedy) is itself
    assert ("the code that should release it" in found.remedy) is not itself


@pytest.mark.parametrize(
    ("executing_for", "title"),
    [
        (58, "'fetch' waited for a `Lock` for 1 m 18 s, and no task finished"),
        (20, "'fetch' waited for a `Lock` for 40 s; no task finished for 1 m 20 s"),
        (
            190,
            "'fetch' waited for a `Lock`, and no task finished for 1 m 20 s",
        ),
    ],
)
def test_a_wait_and_the_time_without_a_finished_task_end_at_the_same_moment(
    executing_for: float, title: str
) -> None:
    stall = a_stall(
        a_task_at("fetch-1", executing_for=executing_for),
        answers=what_w1_reports({"fetch-1": stack_at_a_lock((9, "fetch"))}),
        at=80.0,
    )
    found = the_verdict(hung(stall))  # reported at 80 s, and given up at 100 s

    assert found.title == title
    assert "No task finished for 1 m 20 s" in found.cause
    ran = duration(executing_for + 20)
    assert f"for {ran}; when last sampled, it was at /jobs/nightly.py:9" in found.cause


def test_a_task_that_waits_for_a_lock_is_not_only_slow() -> None:
    stack = [
        '  File "/jobs/nightly.py", line 30, in write\n\tLock("table").acquire()\n',
        f'  File "{LIB}/distributed/lock.py", line 84, in acquire\n\tsuper().acquire()\n',
        f'  File "{LIB}/distributed/semaphore.py", line 4, in acquire\n\tself.sync()\n',
        f'  File "{LIB}/distributed/utils.py", line 4, in sync\n\te.wait(10)\n',
    ]
    stall = a_stall(
        a_task_at("write-1", executing_for=58),
        answers=what_w1_reports({"write-1": stack}),
    )

    found = the_verdict(hung(stall))

    assert (found.rule, found.confidence) == ("stalled", "medium")
    assert "waited for a `Lock`" in found.title
    stopped = the_verdict(a_run(a_worker(), a_graph(), stall, aborted(at=100)))
    assert (stopped.rule, stopped.confidence) == ("stalled", "medium")
    assert "/jobs/nightly.py:30" in found.remedy
    interrupted = the_verdict(hung(stall, error=an_exception("KeyboardInterrupt", "")))
    assert (interrupted.rule, interrupted.confidence) == ("stalled", "medium")


def test_of_a_stall_that_ctrl_c_ended_both_are_said() -> None:
    stack = ['  File "/jobs/nightly.py", line 9, in fetch\n\ttime.sleep(600)\n']
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": stack}),
    )
    used = [a_sample(at=float(at), cpu=2.0) for at in range(10, 60, 5)]
    error = an_exception("KeyboardInterrupt", "")

    run = hung(stall, *used, error=error)
    found = the_verdict(run)

    assert found.title == (
        "Interrupted by Ctrl-C (SIGINT): 'fetch' waited at nightly.py:9 for 1 m 18 s, and no "
        "task finished"
    )
    assert "then the driver was interrupted (Ctrl-C or SIGINT)." in found.cause
    assert [step.text for step in chain_of(Case(run), found)] == [
        "'fetch' waited at nightly.py:9 for 1 m 18 s, and no task finished",
        "The driver was interrupted",
    ]


def test_a_stall_after_a_failure_that_ctrl_c_ended_reports_each_step_once() -> None:
    stack = ['  File "/jobs/nightly.py", line 9, in fetch\n\ttime.sleep(600)\n']
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": stack}),
    )
    used = [a_sample(at=float(at), cpu=2.0) for at in range(10, 60, 5)]
    failed = a_failed_task("publish-7", "ValueError", "bad price 'n/a'", at=5.0)

    run = hung(stall, *used, failed, error=an_exception("KeyboardInterrupt", ""))
    found = the_verdict(run)

    before = "ValueError in 'publish': bad price 'n/a'"
    waited = "'fetch' waited at nightly.py:9 for 1 m 18 s, and no task finished"
    assert found.title == (
        f"{before}; then {waited}; then interrupted by Ctrl-C (SIGINT)"
    )
    assert found.own_title == waited
    assert [step.text for step in chain_of(Case(run), found)] == [
        before,
        waited,
        "The driver was interrupted",
    ]


def test_an_interrupted_driver_whose_task_was_at_work_was_interrupted() -> None:
    stall = a_stall(a_task_at("fetch-1", executing_for=59))

    run = hung(stall, error=an_exception("KeyboardInterrupt", ""))
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("cancelled", "high")
    # That nothing had finished before is no consequence of the interrupt.
    assert [step.text for step in chain_of(Case(run), found)] == [
        "The driver was interrupted (Ctrl-C or SIGINT)",
        "The run failed",
    ]


def polling(*more: Piece, cpu: float = 2.0, inner_runs: bool = False) -> RunTables:
    """Return a run whose only thread sleeps until what it has sent is done."""
    stack = ['  File "/jobs/nightly.py", line 8, in outer\n\ttime.sleep(0.1)\n']
    inner = a_task_at("inner-1", executing_for=30 if inner_runs else None)
    stall = a_stall(
        a_task_at("outer-1", executing_for=58),
        inner,
        answers=what_w1_reports({"outer-1": stack}),
    )
    used = [a_sample(at=float(at), cpu=cpu) for at in range(30, 60, 5)]
    sent = an_event(
        "graph-updated",
        "Client-worker-1",
        at=22,
        graph=2,
        tasks=1,
        new={"inner": [1, 0]},
    )
    return hung(sent, stall, used, *more)


def test_a_task_that_polls_for_what_it_has_sent_waits_for_it() -> None:
    found = the_verdict(polling())

    assert (found.rule, found.confidence) == ("nested-client-deadlock", "medium")
    assert "other tasks of 'inner', at /jobs/nightly.py:8" in found.cause


@pytest.mark.parametrize("run", [polling(cpu=99.0), polling(inner_runs=True)])
def test_a_task_that_computes_or_whose_tasks_run_is_in_no_deadlock(
    run: RunTables,
) -> None:
    assert the_verdict(run).rule != "nested-client-deadlock"


def test_a_task_that_keeps_its_worker_from_answering_is_named() -> None:
    stall = a_stall(
        a_task_at("parse-2"),
        a_task_at("parse-3"),
        answers={"tcp://w1": {"failed": "TimeoutError()"}},
    )
    report = an_event(
        "worker-exit-report",
        "tcp://w1",
        at=101,
        worker="tcp://w1",
        pid=100,
        exit_code=-9,
        asked_to_close=True,
        close_reason="nanny-close",
        executing=[{"key": "parse-2", "start": START + 20}],
    )

    found = the_verdict(hung(stall, report))

    assert (found.rule, found.subject.key) == ("stalled", "parse-2")
    assert "'parse' was still running, and blocked its worker" in found.title
    assert "does not release Python's GIL" in found.cause
    assert "regular expression" in found.remedy


def a_frozen_worker(*tasks: dict[str, Any], **process: object) -> RunTables:
    executing = [{"key": "parse-2", "start": START + 20}]
    seen = {"executing": executing, **process} if process else None
    answer = {"failed": "TimeoutError()"} | ({"process": seen} if seen else {})
    return hung(
        a_stall(a_task_at("parse-2"), *tasks, answers={"tcp://w1": answer}),
        an_event("worker-unresponsive", "tcp://w1", at=99, pid=100, silent_for=30.0),
    )


@pytest.mark.parametrize(
    ("process", "confidence", "says", "advice"),
    [
        (
            {"state": "alive", "watched": 0.4, "cpu": 0.39},
            "high",
            "its process used 390 ms of CPU time: a task computed without releasing",
            "split the call",
        ),
        (
            {"state": "alive", "watched": 0.4, "cpu": 0.0},
            "high",
            "its process used no CPU time: a task or coroutine waited",
            "Give that call a timeout",
        ),
        (
            {"state": "alive", "watched": 0.4, "cpu": 0.15},
            "medium",
            "used 150 ms of CPU time. It was blocked by a task",
            "or the host was suspended",
        ),
        ({}, "medium", "by a host that was suspended", "or the host was suspended"),
    ],
    ids=["computes", "waits", "between", "unknown"],
)
def test_what_a_worker_did_that_answered_nothing(
    process: dict[str, object], confidence: str, says: str, advice: str
) -> None:
    found = the_verdict(a_frozen_worker(**process))

    assert (found.rule, found.confidence) == ("stalled", confidence)
    assert "froze" in found.title
    assert ("while running 'parse'" in found.title) == bool(process)
    assert (says in found.cause) == bool(process)
    assert advice in found.remedy


@pytest.mark.parametrize(
    ("method", "says", "do"),
    [
        ("_register_plugin", "the `setup` of a plugin", "`async def setup`"),
        ("_run", "`client.run` calls its function", "submit it as a task"),
        ("_gather", "", "wait"),
    ],
)
def test_the_call_of_the_driver_that_blocks_the_event_loop_of_a_worker_is_named(
    method: str, says: str, do: str
) -> None:
    stack = [
        '  File "/jobs/nightly.py", line 12, in main\n\tclient.start(loaded)\n',
        f'  File "{LIB}/distributed/client.py", line 9, in {method}\n\tself.sync()\n',
    ]
    process = {"state": "alive", "watched": 0.4, "cpu": 0.0, "executing": []}
    answers = {"tcp://w1": {"failed": "TimeoutError()", "process": process}}
    blocked = an_event(
        "driver-blocked", "driver", at=96, lasted=94.0, stack=stack, pid=1
    )
    stall = a_stall({**a_task_at("load-1"), "executing_for": None}, answers=answers)
    run = a_run(a_worker(), a_graph(), blocked, stall, aborted(at=100))
    found = the_verdict(run)

    assert found.rule == "stalled"
    assert ("nightly.py:12" in found.cause) == bool(says)
    assert says in found.cause
    assert do in found.remedy


def test_a_worker_that_was_stopped_is_no_worker_that_computes() -> None:
    found = the_verdict(a_frozen_worker(state="stopped", watched=0.4, cpu=0.0))

    assert "was stopped (SIGSTOP, a debugger) while running 'parse'" in found.title
    assert "GIL" not in found.cause
    assert "Find what suspends it" in found.remedy


def test_a_frozen_worker_is_not_blamed_for_tasks_of_others() -> None:
    found = the_verdict(
        a_frozen_worker(a_task_at("load-1", worker="tcp://w2"), state="stopped")
    )

    assert "stopped (SIGSTOP" not in found.title


@pytest.mark.parametrize(
    ("lasted", "rule"), [(9.6, "stalled"), (1.0, "driver-exception")]
)
def test_a_worker_that_had_sent_nothing_for_long_is_named_where_no_stall_was_seen(
    lasted: float, rule: str
) -> None:
    silent = an_event(
        "worker-unresponsive", "tcp://w1", at=99, pid=100, silent_for=lasted
    )

    found = the_verdict(hung(silent))

    assert found.rule == rule
    assert ("had sent no heartbeat for 9.6 s" in found.title) == (rule == "stalled")


def test_memory_that_grew_when_a_worker_plugin_started_is_attributed_to_it() -> None:
    started = a_log_line("Starting Worker plugin lexicon", at=20.5)
    samples = [a_sample(at=20.0, memory=80 * MIB), a_sample(at=22.0, memory=400 * MIB)]
    paused = a_stall(
        statuses={"paused": 1}, states={"no-worker": 4}, paused=["tcp://w1"]
    )

    found = the_verdict(hung(started, *samples, paused))
    assert found.rule == "workers-paused"
    assert "grown by 320 MiB when the worker plugin 'lexicon' was started" in (
        found.cause
    )
    assert "'lexicon'" in (found.remedy or "")

    long_before = a_log_line("Starting Worker plugin lexicon", at=4.0)
    assert "'lexicon'" not in the_verdict(hung(long_before, *samples, paused)).cause

    busy = a_task("inc-1", start=20.6)
    assert "'lexicon'" not in the_verdict(hung(started, *samples, busy, paused)).cause


ACQUIRES = [
    '  File "/jobs/nightly.py", line 43, in clean\n\tskid.acquire()\n',
    f'  File "{LIB}/distributed/lock.py", line 84, in acquire\n\treturn super()\n',
]


def waiting_for_a_lock(*pieces: Piece | list[Piece]) -> RunTables:
    """Return that 'clean-2' waited for a lock until the driver gave up."""
    stall = a_stall(
        a_task_at("clean-2", executing_for=58),
        answers=what_w1_reports({"clean-2": ACQUIRES}, {}),
        taken={"skid": 1},
    )
    return hung(stall, *pieces)


def test_a_task_that_failed_behind_the_line_at_which_others_wait_may_hold_the_lock() -> (
    None
):
    text = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line {line}, in clean\n    divide()\n'
        "ZeroDivisionError: by zero"
    )
    received = an_event(
        "driver-call-failed", "driver", at=19.5, call="Future.result", key="clean-1",
        exception="ZeroDivisionError", message="by zero", identity="1", pid=1,
    )  # fmt: skip
    found = {}
    for line in (46, 41):
        failed = a_failed_task(
            "clean-1", "ZeroDivisionError", "by zero", at=19.0,
            traceback=text.format(line=line),
        )  # fmt: skip
        run = waiting_for_a_lock(failed, received)
        [found[line]] = [e for e in findings_in(run) if e.rule == "task-exception"]

    assert "waited for a `Lock` ('skid') at /jobs/nightly.py:43" in found[46].cause
    assert "release what the task holds" in found[46].remedy
    assert "`Lock`" not in found[41].cause


@pytest.mark.parametrize(
    ("decided", "rule"), [(90.0, "stalled"), (99.0, "driver-exception")]
)
def test_what_finishes_once_the_driver_has_given_up_does_not_end_the_hang(
    decided: float, rule: str
) -> None:
    over = an_event("stall-over", "", at=95.0, lasted=75.0)
    raised = an_event(
        "driver-exception", "driver", at=decided, exception=TIMED_OUT.exception,
        message=TIMED_OUT.message, file="/jobs/nightly.py", line=12,
    )  # fmt: skip

    assert the_verdict(waiting_for_a_lock(over, raised)).rule == rule


@pytest.mark.parametrize(
    ("graph_at", "rule"), [(1.0, "stalled"), (94.0, "driver-exception")]
)
def test_a_driver_that_closes_its_client_gave_up_unless_it_sends_more_work(
    graph_at: float, rule: str
) -> None:
    over = an_event("stall-over", "", at=93.0, lasted=75.0)
    closed = an_event("driver-closing", "driver", at=92.0, what="Client.close")
    graph = an_event("graph-updated", "Client-2", at=graph_at, graph=2, tasks=1)

    assert the_verdict(waiting_for_a_lock(over, closed, graph)).rule == rule


@pytest.mark.parametrize(
    ("left", "rule"),
    [(101.0, "stalled"), (95.0, "worker-exit")],
    ids=["after", "before"],
)
def test_workers_that_the_driver_closes_after_it_gave_up_were_there(
    left: float, rule: str
) -> None:
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    gave_up = an_event(
        "driver-call-failed", "driver", at=100.0, call="Future.result", key="fetch-1",
        exception="TimeoutError", message="timed out after 10 s.", identity="1", pid=1,
    )  # fmt: skip
    error = msgspec.structs.replace(TIMED_OUT, chain_ids=("1",))
    run = a_run(
        an_event("driver-attached", "driver", at=0.1, pid=1, boot="b"),
        an_event("scheduler-info", "tcp://s", at=0.2, pid=10, boot="b"),
        a_worker("tcp://w2", pid=200), a_worker(),
        a_death("tcp://w2", pid=200, exit_code=1, at=3.0, executing=["old-1"]),
        a_task("old-1", start=4.0), a_graph(), stall, gave_up,
        a_departure("tcp://w1", at=left, closing="nanny-close"),
        failed_with(error, at=105),
    )  # fmt: skip

    assert the_verdict(run).rule == rule


def test_what_asserts_that_all_is_there_after_a_wait_that_timed_out_is_the_hang() -> (
    None
):
    asserts = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 12, in main\n'
        '    assert len(done) == 8, f"only {len(done)} of 8"\n'
        "AssertionError: only 7 of 8\n"
    )
    gave_up = an_event(
        "driver-call-failed", "driver", at=100.0, call="wait", exception="TimeoutError",
        identity="1", pid=1,
    )  # fmt: skip
    stall = a_stall(
        a_task_at("fetch-1", executing_for=58),
        answers=what_w1_reports({"fetch-1": IN_A_SERVICE}),
    )
    error = an_exception("AssertionError", "only 7 of 8", traceback=asserts)

    found = the_verdict(hung(stall, gave_up, error=error))

    assert found.rule == "stalled"
    assert found.retry_advice != "code"


def test_without_workers_the_tasks_that_are_queued_are_named() -> None:
    stall = an_event(
        "stall", at=80.0, lasted=60, workers=0, statuses={}, states={"queued": 1},
        unrunnable=[{"key": "price-1"}],
    )  # fmt: skip
    run = a_run(
        a_worker(), a_graph(), a_task("match-1"), a_departure(at=10, closing="scale"),
        stall, failed_with(TIMED_OUT, at=90),
    )  # fmt: skip

    assert the_verdict(run).title == "No worker was left, and 1 task of 'price' waited"


WAITS_FOR_AN_EVENT = [
    '  File "/jobs/nightly.py", line 40, in post_foreign\n\tEvent("rates").wait()\n',
    f'  File "{LIB}/distributed/event.py", line 239, in wait\n\tself.client.sync()\n',
]
WAITS_FOR_A_LOCK = [
    '  File "/jobs/nightly.py", line 33, in post\n\twith Lock("books"):\n',
    f'  File "{LIB}/distributed/lock.py", line 90, in acquire\n\tself.client.sync()\n',
]


@pytest.mark.parametrize(
    ("last", "named"),
    [(WAITS_FOR_AN_EVENT, "foreign"), (WAITS_FOR_A_LOCK, "retail")],
    ids=["one holds it", "all wait for it"],
)
def test_who_waits_for_no_lock_holds_the_one_that_the_others_wait_for(
    last: list[str], named: str
) -> None:
    stacks = {
        "retail-1": WAITS_FOR_A_LOCK,
        "fees-1": WAITS_FOR_A_LOCK,
        "foreign-1": last,
    }
    stall = a_stall(
        *(
            a_task_at(key, executing_for=58 - n)
            for n, key in enumerate(("retail-1", "fees-1", "foreign-1"))
        ),
        answers=what_w1_reports(stacks),
    )

    found = the_verdict(hung(stall))

    assert found.title.startswith(f"'{named}' waited for")
    assert ("probably holds the lock" in found.cause) == (named == "foreign")


@pytest.mark.parametrize(("line", "first"), [(49, True), (30, False)])
def test_an_attempt_that_failed_with_a_lock_begins_the_headline_of_who_waits_for_it(
    line: int, *, first: bool
) -> None:
    raised = (
        "Traceback (most recent call last):\n"
        f'  File "/jobs/nightly.py", line {line}, in post\n    float(text)\n'
        "ValueError: could not convert '--'\n"
    )
    retried = a_failed_task(
        "retail-5", "ValueError", "could not convert '--'", at=5.0, outcome="retried",
        traceback=raised,
    )  # fmt: skip
    stall = a_stall(
        a_task_at("retail-1", executing_for=58),
        answers=what_w1_reports({"retail-1": WAITS_FOR_A_LOCK}),
    )

    found = the_verdict(hung(retried, stall))

    assert found.title.startswith("ValueError in 'retail': could not convert") == first
    assert ("by `with`, so that an exception releases it" in found.remedy) == first


def test_workers_that_died_are_the_cause_of_a_hang_however_the_driver_ends() -> None:
    died = a_death(exit_code=-11, processing=["load-1"])
    stall = a_stall(workers=0, statuses={}, states={"queued": 4})
    exited = failed_with(None, exit_code=143, at=100)

    found = the_verdict(a_run(a_worker(), a_graph(), died, stall, exited))

    assert found.rule == "worker-segfault"


def test_tasks_that_wait_for_those_that_no_worker_may_run_are_named() -> None:
    sent = an_event(
        "graph-updated", "", at=2.5, tasks=4, prefixes={"train": 3, "rank": 1}
    )
    task = {"key": "train-1", "hosts": [], "workers": [], "resources": {"GPU": 1}}
    stall = a_stall(
        states={"no-worker": 3, "waiting": 1}, unrunnable=[{**task, "loose": False}]
    )

    found = the_verdict(hung(sent, stall))

    assert "1 task waited for their results ('rank')." in found.cause


@pytest.mark.parametrize(
    ("log", "advice", "remedy"),
    [
        pytest.param(
            "Worker tcp://w1 (pid=100) exceeded 95% memory budget. Restarting...",
            "memory",
            "Give each worker at least",
            id="memory",
        ),
        pytest.param("", "transient", "Raise `distributed.deploy", id="unknown"),
    ],
)
def test_a_retry_after_a_cluster_lost_a_worker_depends_on_what_that_died_of(
    log: str, advice: str, remedy: str
) -> None:
    line = a_log_line(log or "nothing", at=9.9, role="nanny", source="tcp://n1")
    run = hung(
        line,
        a_death(exit_code=-15, at=10, processing=["load-1"]),
        a_worker("tcp://w2", at=12, name="1", pid=2),
        a_departure("tcp://w2", at=15, closing="nanny-close"),
        a_stall(workers=0, statuses={}, states={"queued": 4}),
    )

    found = next(e for e in findings_in(run) if e.rule == "cluster-lost-worker")

    assert found.retry_advice == advice
    assert found.remedy.startswith(remedy)
    assert "aise `distributed.deploy.lost-worker-timeout: 5 minutes`" in found.remedy


@pytest.mark.parametrize(
    ("raised", "do"),
    [
        ("AttributeError: unit", "`__getattr__` must raise `AttributeError`"),
        ("KeyError: 'rod'", "there in every worker"),
        ("RuntimeError: no registry", "there in every worker"),
    ],
)
def test_what_an_object_needs_to_be_unpickled_elsewhere_depends_on_what_it_raised(
    raised: str, do: str
) -> None:
    line = (
        "Failed to deserialize\nTraceback (most recent call last):\n"
        '  File "/jobs/lengths.py", line 12, in restored\n    units[unit]\n'
        f"{raised}"
    )
    waits = {"state": "fetch", "waits_for": [["height-1", "flight"]]}
    stall = a_stall(
        a_task_at("higher-1"), answers=what_w1_reports({}, {"higher-1": waits})
    )
    logged = a_log_line(line, at=20.0, role="worker", source="tcp://w1")
    found = the_verdict(hung(logged, stall))

    assert found.rule == "dependency-not-serializable"
    assert do in found.remedy
    both = ("`__getattr__` must", "there in every worker")
    assert sum(each in found.remedy for each in both) == 1
