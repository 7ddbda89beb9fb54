"""Why did the run fail, if no worker died?  Rules on tasks, the driver and connections."""

from __future__ import annotations

import msgspec
import pytest
from dask_blackbox.analyse import findings_in, verdict_of
from dask_blackbox.manifest import DriverException, SourceAccount
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    MIB,
    Piece,
    a_death,
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
    succeeded,
    the_verdict,
)

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/v/lib/python3.11/site-packages/dask/x.py", line 1, in run\n'
    '  File "/jobs/nightly.py", line 53, in divide\n    return 10 / number\n'
    "ZeroDivisionError: division by zero\n"
)


def driver_got(
    exception: str, message: str, *pieces: Piece, **more: object
) -> RunTables:
    """Return a run whose driver got an exception that no task raised."""
    error = an_exception(exception, message, **more)  # type: ignore[arg-type]
    return a_run(a_worker(), a_graph(), *pieces, failed_with(error))


@pytest.mark.parametrize(
    ("exception", "bases"),
    [
        ("dask_blackbox.errors.ConfigurationError", ()),
        ("host.WrongArgumentError", ("dask_blackbox.errors.ConfigurationError",)),
    ],
)
def test_a_wrong_argument_of_the_operator_is_a_configuration_error(
    exception: str, bases: tuple[str, ...]
) -> None:
    message = "cluster_kwargs= has 'n_worker', which LocalCluster does not take"
    error = msgspec.structs.replace(
        an_exception(exception, message, traceback=TRACEBACK), bases=bases
    )
    found = the_verdict(a_run(failed_with(error)))

    assert found.rule == "driver-exception"
    assert found.title == f"Configuration error: {message}"
    assert found.cause == (
        "The run was started with an invalid argument or setting: "
        f"{message}. No Dask work had begun."
    )
    assert "Look at" not in found.remedy
    assert (found.confidence, found.retry_advice) == ("high", "code")


@pytest.mark.parametrize("pieces", [(), (a_worker(), a_graph())])
def test_a_result_that_the_host_cannot_store_did_not_come_from_a_task(
    pieces: tuple[Piece, ...],
) -> None:
    error = msgspec.structs.replace(
        an_exception("host.ResultError", "work returned an uncomputed value, a Bag"),
        bases=("dask_blackbox.errors.UnstorableResultError",),
    )
    found = the_verdict(a_run(*pieces, failed_with(error)))

    assert found.cause.endswith(". The job's function had returned by then.")
    assert found.confidence == "high"


def test_a_task_that_raised_is_named_with_the_users_line() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("divide-1", traceback=TRACEBACK),
        a_failed_task("add-2", "ZeroDivisionError", cause="divide-1"),
        failed_with(an_exception("ZeroDivisionError", "division by zero")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-exception", "high")
    assert found.title == "ZeroDivisionError in 'divide': division by zero"
    assert "at /jobs/nightly.py:53 in divide (`return 10 / number`)" in found.cause
    assert "1 task that needed it could not run" in found.cause
    assert found.subject.key == "divide-1"
    assert found.retry_advice == "code"


def test_a_bare_assertion_that_the_driver_wrapped_is_seen_through() -> None:
    raised = TRACEBACK.replace("ZeroDivisionError: division by zero", "AssertionError")
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    wrapped = an_exception(
        "RuntimeError",
        "the nightly job failed",
        chain=["AssertionError"],
        traceback=f"{raised}{link}Traceback (most recent call last):\nRuntimeError: x\n",
    )
    failed = a_failed_task("divide-1", "AssertionError", "", traceback=raised)
    found = the_verdict(a_run(a_worker(), a_graph(), failed, failed_with(wrapped)))

    assert (found.rule, found.confidence) == ("task-exception", "high")


def test_another_error_of_the_driver_after_a_handled_one_is_the_drivers() -> None:
    run = a_run(
        a_graph(),
        a_failed_task(),
        an_event(
            "driver-call-failed",
            "driver",
            at=11.0,
            call="Future.result",
            identity="1",
            exception="ZeroDivisionError",
            message="division by zero",
            key="divide-1",
        ),
        failed_with(an_exception("AssertionError", "row counts differ")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("driver-exception", "medium")
    assert [f.rule for f in findings_in(run)] == ["driver-exception", "task-exception"]
    assert "handled the errors of all failed tasks" in found.cause
    assert "'divide' had failed with ZeroDivisionError" in found.evidence[-1].text


@pytest.mark.parametrize(
    ("message", "line", "rule"),
    [
        ("2 of 20 tasks failed", "raise RuntimeError(message)", "task-exception"),
        ("3 errors", "sys.exit(message)", "task-exception"),
        ("the table is empty", "raise RuntimeError(message)", "task-exception"),
        ("the table is wrong", "raise RuntimeError(message)", "driver-exception"),
        ("parsing failed", "int(row)", "driver-exception"),
    ],
)
def test_a_driver_that_counts_what_failed_and_raises_means_the_tasks(
    message: str, line: str, rule: str
) -> None:
    trace = (
        "Traceback (most recent call last):\n"
        f'  File "/jobs/nightly.py", line 9, in main\n    {line}\n'
        f"RuntimeError: {message}\n"
    )
    error = an_exception("RuntimeError", message, traceback=trace)
    found = the_verdict(
        a_run(a_worker(), a_graph(), a_failed_task(), failed_with(error))
    )

    assert (found.rule, found.confidence) == (rule, "medium")


def test_the_root_of_a_chain_inside_a_task_is_reported() -> None:
    chained = (
        "Traceback (most recent call last):\n"
        "  File \"/jobs/a.py\", line 3, in read\nKeyError: 'amount'\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/jobs/a.py", line 5, in parse\nValueError: bad row 7\n'
    )
    run = a_run(
        a_failed_task("parse-1", "ValueError", "bad row 7", traceback=chained),
        failed_with(an_exception("ValueError", "bad row 7")),
    )

    assert "/jobs/a.py:5 in parse" in the_verdict(run).cause
    assert "Original exception: KeyError: 'amount'" in the_verdict(run).cause


def test_an_exception_that_could_not_travel_is_reported_by_its_own_name() -> None:
    text = "RowsError('source s4 has 3 bad rows')"
    error = an_exception("Exception", text)
    run = a_run(a_worker(), a_graph(), *raised_in("parse-1", error))

    found = the_verdict(run)

    assert found.title == "RowsError in 'parse': source s4 has 3 bad rows"
    assert "cannot be pickled" in found.cause


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/v/lib/python3.11/site-packages/dask/x.py", line 1, in run
  |     return self.func()
  |   File "/jobs/nightly.py", line 90, in fetch
  |     raise ExceptionGroup("2 pages failed", problems)
  | ExceptionGroup: 2 pages failed (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/jobs/nightly.py", line 80, in page
    |     raise ConnectionError("status 503")
    | ConnectionError: status 503
    +---------------- 2 ----------------
    | TimeoutError: late
    +------------------------------------
"""


def test_the_exceptions_of_a_group_are_named() -> None:
    error = an_exception("ExceptionGroup", "2 pages failed (2 sub-exceptions)")
    failed = a_failed_task("fetch-1", "ExceptionGroup", error.message, traceback=GROUP)

    found = the_verdict(a_run(a_worker(), a_graph(), failed, failed_with(error)))

    assert (
        "Exceptions in the group: ConnectionError: status 503, and TimeoutError: late"
        in (found.cause.replace(" and", ", and"))
    )
    assert found.title.endswith("in 'fetch': ConnectionError: status 503 and 1 more")
    assert "/jobs/nightly.py:80" in found.remedy
    assert found.retry_advice == "transient"


def test_a_failed_task_that_the_driver_handled_is_a_warning() -> None:
    run = a_run(a_graph(), a_failed_task(), succeeded())
    (found,) = findings_in(run)

    assert (found.rule, found.severity) == ("task-exception", "warning")
    assert "The driver continued without it" in found.cause
    assert found.remedy.startswith("If these failures are expected")
    assert verdict_of((found,), run) is None


def test_a_failed_task_whose_error_was_raised_in_the_driver_is_a_notice() -> None:
    error = {"call": "Client.gather", "exception": "ZeroDivisionError", "pid": 1}
    received = an_event("driver-call-failed", "driver", at=9, key="divide-1", **error)
    run = a_run(a_graph(), a_failed_task("divide-1"), received, succeeded())
    (found,) = findings_in(run)

    assert (found.rule, found.severity) == ("task-exception", "notice")
    assert "The driver continued without it" in found.cause


def test_a_host_that_wraps_a_failed_task_in_its_own_exception_is_seen_through() -> None:
    run = a_run(
        a_failed_task(),
        failed_with(an_exception("prefect.exceptions.FailedRun", "1/3 runs failed")),
    )

    assert (the_verdict(run).rule, the_verdict(run).confidence) == (
        "task-exception",
        "medium",
    )


def test_an_exit_code_after_a_failed_task_points_to_it_without_certainty() -> None:
    found = the_verdict(a_run(a_failed_task(), failed_with(None, exit_code=1)))

    assert (found.rule, found.confidence) == ("task-exception", "medium")


@pytest.mark.parametrize(
    ("call", "later", "named"),
    [
        ("Client.gather", (), True),
        ("Client.gather", (a_graph(at=6.0),), False),
        ("Future.result", (), False),
    ],
    ids=["nothing received", "more submitted", "one of several"],
)
def test_an_exit_code_names_the_error_that_was_all_the_driver_received(
    call: str, later: tuple[Piece, ...], *, named: bool
) -> None:
    received = an_event(
        "driver-call-failed", "driver", at=4.0, call=call, exception="ValueError",
        message="no melody", key="score-7", identity="1", pid=1,
    )  # fmt: skip
    failed = a_failed_task("score-7", "ValueError", "no melody", at=3.5)
    found = the_verdict(
        a_run(a_graph(), failed, received, *later, failed_with(None, exit_code=4))
    )

    assert found.rule == "driver-exception"
    assert ("after ValueError in 'score': no melody" in found.title) == named


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("no charts: ValueError: no melody", "task-exception"),
        ("no charts", "driver-exception"),
    ],
)
def test_an_exit_after_the_error_of_a_task_was_printed_is_of_that_task(
    line: str, rule: str
) -> None:
    received = an_event(
        "driver-call-failed", "driver", at=4.0, call="Future.result",
        exception="ValueError", message="no melody", key="score-7", identity="1", pid=1,
    )  # fmt: skip
    failed = a_failed_task("score-7", "ValueError", "no melody", at=3.5)
    printed = a_log_line(line, at=4.1, role="driver", source="driver")
    found = the_verdict(
        a_run(a_graph(), failed, received, printed, failed_with(None, exit_code=4))
    )

    assert found.rule == rule
    assert (found.subject.key == "score-7") == (rule == "task-exception")


def test_a_command_is_not_named_for_lines_that_were_not_recorded() -> None:
    found = the_verdict(a_run(a_graph(), failed_with(None, exit_code=3)))

    assert "that the command printed. " in found.remedy


def test_an_unrecorded_run_whose_task_raised_is_not_blamed_on_the_driver() -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 9, in main\n    client.gather(x)\n'
        '  File "/v/lib/python3.11/site-packages/distributed/client.py", line 2, in gather\n'
        '  File "/jobs/nightly.py", line 53, in divide\n    return 10 / number\n'
        "ZeroDivisionError: division by zero\n"
    )
    error = an_exception("ZeroDivisionError", "division by zero", traceback=traceback)

    found = the_verdict(a_run(failed_with(error), recorded=False))

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert "/jobs/nightly.py:53" in found.cause


@pytest.mark.parametrize(
    ("exception", "message", "rule"),
    [
        ("KeyError", "'tuesday'", "driver-exception"),
        ("TimeoutError", "timed out after 6 s.", "driver-exception"),
        ("KeyboardInterrupt", "", "cancelled"),
        (
            "distributed.client.FutureCancelledError",
            "sleep-1 cancelled for reason: superseded.",
            "cancelled",
        ),
        (
            "distributed.client.FutureCancelledError",
            (
                "inc-1 cancelled for reason: scheduler-restart.\n"
                "Scheduler has restarted. Please re-run your work."
            ),
            "cancelled",
        ),
        (
            "distributed.client.FutureCancelledError",
            (
                "slow-1 cancelled for reason: scheduler-connection-lost.\nClient lost the "
                "connection to the scheduler. Please check your connection and re-run your work."
            ),
            "scheduler-lost",
        ),
        (
            "distributed.client.ClosedClientError",
            "Client is closed. Can't send update-graph message.",
            "scheduler-lost",
        ),
        (
            "distributed.client.FutureCancelledError",
            "inc-1 cancelled for reason: lost dependencies.",
            "data-lost",
        ),
        (
            "distributed.deploy.utils.WorkerStartTimeoutError",
            "Only 0/2 workers arrived after 2",
            "workers-never-arrived",
        ),
        (
            "OSError",
            "Timed out trying to connect to tcp://127.0.0.1:9 after 3 s",
            "cannot-connect",
        ),
        (
            "TypeError",
            "('Could not serialize object of type LLGExpr', 'LLGExpr(dsk={})')",
            "graph-not-serializable",
        ),
        (
            "RuntimeError",
            "Error during deserialization of the task graph. This frequently\noccurs if",
            "graph-not-deserializable",
        ),
        (
            "distributed.scheduler.NoValidWorkerError",
            (
                "Attempted to run task 'x-1' but timed out after 3.00 s waiting for a valid "
                "worker matching all restrictions."
            ),
            "no-valid-worker",
        ),
    ],
)
def test_what_the_driver_got_names_the_cause(
    exception: str, message: str, rule: str
) -> None:
    assert the_verdict(driver_got(exception, message)).rule == rule


def test_a_graph_that_was_never_sent_is_reported_as_being_built() -> None:
    error = an_exception("FileNotFoundError", "/nonexistent/2026-13/")

    found = the_verdict(a_run(a_worker(), failed_with(error)))

    assert (found.rule, found.confidence) == ("driver-exception", "high")
    assert "No graph had reached a scheduler yet" in found.cause
    assert found.retry_advice == "data"


@pytest.mark.parametrize(
    ("chain", "text"),
    [
        (["ConnectionRefusedError"], "nothing listens"),
        (["socket.gaierror"], "its host name is unknown"),
        ([], "no answer arrived"),
    ],
)
def test_a_connection_that_failed_reports_how(chain: list[str], text: str) -> None:
    message = "Timed out trying to connect to tcp://scheduler:8786 after 30 s"
    run = driver_got("OSError", message, chain=chain)

    assert text in the_verdict(run).cause


def test_a_scheduler_that_was_there_before_is_lost_not_unreachable() -> None:
    address = "tcp://s:8786"
    message = f"Timed out trying to connect to {address} after 30 s"
    run = driver_got("OSError", message, an_event("scheduler-info", address))

    assert the_verdict(run).rule != "cannot-connect"


def test_a_scheduler_reported_to_stop_reports_by_whom() -> None:
    message = "slow-1 cancelled for reason: scheduler-connection-lost."
    run = driver_got(
        "distributed.client.FutureCancelledError",
        message,
        an_event("scheduler-closing", at=15, reason="signal-15"),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("scheduler-lost", "high")
    assert "it was terminated from outside (SIGTERM)" in found.title


@pytest.mark.parametrize(
    ("prefixes", "sure"), [(["read", "sum"], "high"), (["read-fused"], "medium")]
)
def test_a_piece_that_nobody_made_here_was_not_released(
    prefixes: list[str], sure: str
) -> None:
    run = driver_got(
        "distributed.client.FutureCancelledError",
        "('sum-1', 0) cancelled for reason: lost dependencies.",
        an_event("graph-updated", "Client-1", prefixes=dict.fromkeys(prefixes, 1)),
        a_log_line(
            "User asked for computation on lost data. Final key is ('sum-1', 0) with "
            "missing dependency ('read-65d14654b817ac3ea53040e6092bf7ab', 10)",
            role="scheduler",
        ),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("data-lost", sure)
    assert "('sum-1', 0) needs ('read-" in found.cause
    assert ("was never computed" in found.title) == (sure == "medium")


@pytest.mark.parametrize(
    ("printed", "shown", "advice"),
    [
        ("1.28 GiB", "1.28 GiB", ("memory", "high")),
        # No retry with more memory reaches that.
        ("116. TiB", "116 TiB", ("code", "medium")),
    ],
)
def test_a_memory_error_of_a_task_reports_what_it_asked_for(
    printed: str, shown: str, advice: tuple[str, str]
) -> None:
    error = an_exception(
        "numpy._core._exceptions._ArrayMemoryError",
        f"Unable to allocate {printed} for an array with shape (1,) and data type float64",
    )
    found = the_verdict(a_run(a_worker(), *raised_in("huge-1", error)))

    assert found.rule == "task-memory-error"
    assert found.title == f"'huge' could not allocate {shown}"
    assert f"it requested {shown} at once" in found.remedy
    assert (found.retry_advice, found.retry_confidence) == advice


@pytest.mark.parametrize(
    ("held", "advice"), [(60 * MIB, "environment"), (900 * MIB, "memory")]
)
def test_an_allocation_that_fits_into_the_workers_memory_met_another_limit(
    held: int, advice: str
) -> None:
    error = an_exception(
        "numpy._core._exceptions._ArrayMemoryError",
        "Unable to allocate 128. MiB for an array with shape (1,) and data type float64",
    )
    worker = a_worker(memory_limit=1024 * MIB)
    found = the_verdict(
        a_run(worker, a_sample(memory=held), *raised_in("huge-1", error))
    )

    assert (found.rule, found.retry_advice) == ("task-memory-error", advice)
    assert ("RLIMIT_AS" in found.cause) == (advice == "environment")


def test_a_result_that_the_scheduler_refused_is_no_death() -> None:
    message = (
        "Task 'finalize-1' has 1.49 GiB worth of input dependencies, but worker tcp://w1 "
        "has memory_limit set to 476.84 MiB. It seems like you called client.compute() on "
        "a huge collection. Consider writing to distributed storage or slicing first."
    )
    run = a_run(
        a_worker(),
        a_failed_task("finalize-1", "MemoryError", message, outcome="killed"),
        failed_with(an_exception("MemoryError", message)),
    )
    found = the_verdict(run)

    assert found.rule == "result-too-large"
    assert found.subject.key == "finalize-1"
    assert "1.49 GiB" in found.title


def test_a_module_that_no_process_has_is_a_mistake_in_the_code() -> None:
    error = an_exception("ModuleNotFoundError", "No module named 'pandsa'")
    run = a_run(
        an_event("driver-attached", packages={"pandas": "3"}),
        *raised_in("load-1", error),
    )

    assert the_verdict(run).rule == "task-exception"


def test_a_recording_that_stops_early_reports_that_both_disappeared() -> None:
    run = a_run(a_worker(), ("ending", None))
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("driver-killed", "medium")
    assert found.title.startswith("Driver and recorder disappeared together")
    assert "or could not reach the store any more" in found.cause


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ([], "whether it had connected to a cluster is unknown"),
        (
            [an_event("driver-attached", at=3)],
            "not connected to a cluster by the last recorded event, 3.0 s after the start",
        ),
    ],
)
def test_what_a_lost_driver_did_after_its_last_recorded_event_is_not_claimed(
    facts: list[Piece], text: str
) -> None:
    run = a_run(*facts, ("ending", None), recorded=False)

    assert text in the_verdict(run).cause


def test_every_failed_run_has_one_verdict_whatever_the_exception() -> None:
    errors: list[DriverException | None] = [
        an_exception("x.Y", ""),
        an_exception("", "", file=None),
        an_exception("distributed.scheduler.KilledWorker", "nonsense"),
        None,
    ]
    for error in errors:
        run = a_run(failed_with(error))
        failures = [f for f in findings_in(run) if f.severity == "failure"]

        assert len(failures) == 1, error


@pytest.mark.parametrize(
    ("exit_code", "by"), [(-9, "SIGKILL"), (137, "SIGKILL"), (143, "SIGTERM")]
)
def test_a_driver_ended_by_a_signal_reports_which(exit_code: int, by: str) -> None:
    kind, ending = aborted()
    run = a_run(
        a_worker(), (kind, msgspec.structs.replace(ending, exit_code=exit_code))
    )

    assert the_verdict(run).title == f"The driver was ended by {by} after 20 s"


def test_a_scheduler_that_closed_gives_the_reason_in_its_log() -> None:
    line = "Closing scheduler. Reason: idle-timeout-exceeded"
    run = driver_got(
        "distributed.client.FutureCancelledError",
        "slow-1 cancelled for reason: scheduler-connection-lost.",
        an_event("scheduler-closing", at=15, reason=""),
        a_log_line(line, role="scheduler", source="scheduler", level=20),
    )

    assert "being idle for too long" in the_verdict(run).title


def test_tasks_that_failed_like_the_blamed_one_are_counted_in_its_verdict() -> None:
    alike = [a_failed_task(f"divide-{n}", at=8 + n) for n in range(1, 8)]
    run = a_run(
        *alike,
        a_failed_task("load-1", "KeyError", "'x'", at=16),
        failed_with(an_exception("ZeroDivisionError", "division by zero")),
    )

    assert "7 other tasks of 'divide' and 'load' failed too" in the_verdict(run).cause
    assert [f.title for f in findings_in(run)[1:]] == [
        "1 task of 'load' failed with KeyError"
    ]


def test_an_exception_whose_class_the_driver_does_not_have_is_still_the_tasks() -> None:
    trace = (
        'Traceback:\n  File "/jobs/rows.py", line 4, in go\n    raise Refused(row)\n'
    )
    pickled = an_exception(
        "Exception",
        "b'\\x80\\x05\\x95unpickle_exception'",
        traceback=f"{trace}Exception: b",
    )
    raised = a_failed_task(
        "go-3", "only_there.Refused", "row 3", traceback=f"{trace}Refused"
    )

    found = the_verdict(a_run(a_worker(), a_graph(), raised, failed_with(pickled)))

    assert (found.rule, found.confidence) == ("task-exception", "high")
    assert found.title == "Refused in 'go': row 3"


def test_a_driver_that_was_stopped_while_it_connected_had_not_reached_a_scheduler() -> (
    None
):
    site = "/venv/lib/python3.12/site-packages"
    begun = (
        'Traceback:\n  File "/jobs/nightly.py", line 12, in main\n    Client(address)\n'
        f'  File "{site}/distributed/client.py", line 1417, in start\n    sync(self._start)\n'
        f'  File "{site}/distributed/utils.py", line 441, in wait\n    e.wait(10)\n'
        '  File "/usr/lib/python3.12/threading.py", line 629, in wait\n    x\n'
        '  File "/jobs/nightly.py", line 3, in on_alarm\n    raise KeyboardInterrupt\n'
    )
    stopped = an_exception(
        "KeyboardInterrupt", "", traceback=f"{begun}KeyboardInterrupt"
    )
    found = the_verdict(a_run(failed_with(stopped), recorded=False))

    assert (found.rule, found.confidence) == ("cannot-connect", "medium")
    call = an_event(
        "driver-call-failed", "driver", at=19.0, call="Client.start", identity="a", pid=1,
        exception="KeyboardInterrupt", address="tcp://10.0.0.1:8787",
        file="/jobs/nightly.py", line=12,
    )  # fmt: skip
    stopped = msgspec.structs.replace(stopped, chain_ids=("a",))
    named = the_verdict(a_run(call, failed_with(stopped), recorded=False))
    assert named.title.endswith("connect to tcp://10.0.0.1:8787 when it was stopped")
    assert "/jobs/nightly.py:12 had not reached" in named.cause
    later = an_exception(
        "KeyboardInterrupt",
        "",
        traceback=f"{begun}KeyboardInterrupt".replace("start", "result"),
    )
    assert (
        the_verdict(a_run(a_worker(), a_graph(), failed_with(later))).rule
        == "cancelled"
    )


def test_what_takes_a_connection_and_does_not_answer_is_no_scheduler() -> None:
    error = an_exception(
        "OSError",
        "Timed out during handshake while connecting to tcp://10.0.0.1:8787 after 30 s",
    )
    found = the_verdict(a_run(failed_with(error), recorded=False))

    assert (found.rule, found.retry_advice) == ("cannot-connect", "unknown")
    assert "tcp://10.0.0.1:8787" in found.title
    assert "not its dashboard" in found.remedy


def test_what_answers_and_is_no_scheduler_is_reported_as_none() -> None:
    site = "/v/lib/python3.11/site-packages/distributed"
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 9, in main\n'
        '    client = Client("tcp://gateway:8080", timeout=6)\n'
        f'  File "{site}/client.py", line 1562, in _ensure_connected\n'
        "    comm = await connect(\n"
        f'  File "{site}/comm/core.py", line 377, in connect\n'
        "    handshake = await comm.read()\n"
        f'  File "{site}/comm/tcp.py", line 228, in read\n    frames = 1\n'
        "MemoryError: Unable to allocate 3.07 EiB\n"
    )
    error = an_exception("MemoryError", "Unable to allocate 3.07 EiB", traceback=trace)

    found = the_verdict(a_run(failed_with(error), recorded=False))

    assert (found.rule, found.confidence) == ("cannot-connect", "high")
    assert "tcp://gateway:8080 is not a Dask scheduler" in found.title


def test_scattered_data_goes_with_a_worker_that_was_restarted_on_purpose() -> None:
    text = "match-1 cancelled for reason: lost dependencies."
    run = driver_got(
        "FutureCancelledError",
        text,
        an_event("worker-closing", "tcp://w1", reason="client-restart-workers-1.5"),
        an_event(
            "worker-removed",
            "tcp://w1",
            stimulus_id="client-restart-workers-1.5",
            expected=True,
            processing=[],
            lost_computed=0,
            lost_scattered=["table-1"],
        ),
        a_log_line(
            "User asked for computation on lost data. Final key is match-1 with missing "
            "dependency table-1",
            role="scheduler",
        ),
    )

    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("data-lost", "high")
    assert "'table-1'" in found.title
    assert "closed on purpose (client-restart-workers-1.5)" in found.cause


@pytest.mark.parametrize(
    ("through", "text"),
    [
        ('client.py", line 31, in _run', "in code run on the cluster"),
        ('worker.py", line 2086, in actor_execute', "in an actor's method"),
        ('worker.py", line 2821, in _run_task_simple', "in a task"),
    ],
)
def test_what_ran_beside_tasks_is_not_called_one(through: str, text: str) -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 9, in main\n    client.run(warm_cache)\n'
        '  File "/v/site-packages/distributed/utils.py", line 45, in sync\n    raise e\n'
        f'  File "/v/site-packages/distributed/{through}\n    raise exc\n'
        '  File "/jobs/nightly.py", line 4, in warm_cache\n    open("/srv/cache")\n'
        "PermissionError: [Errno 13] Permission denied\n"
    )
    found = the_verdict(driver_got("PermissionError", "denied", traceback=trace))

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert text in found.title


@pytest.mark.parametrize(
    ("kills", "rule", "advice"),
    [(1, "The kernel's out-of-memory killer ended the driver", "memory"),
     (0, "The driver was ended by SIGKILL", "unknown")],
)  # fmt: skip
def test_a_driver_that_the_kernel_took_is_reported_so(
    kills: int, rule: str, advice: str
) -> None:
    lost = an_event("driver-lost", at=20, pid=7, exit_code=-9, oom_kills=kills)

    found = the_verdict(a_run(a_worker(), lost, aborted()))

    assert found.rule == "driver-killed"
    assert found.title.startswith(rule)
    assert found.retry_advice == advice


def test_a_worker_that_the_kernel_took_is_not_the_driver() -> None:
    lost = an_event("driver-lost", at=20, pid=7, exit_code=-9, oom_kills=1)
    run = a_run(a_worker(), *a_death(exit_code=-9, oom_kills=1), lost, aborted())

    assert not the_verdict(run).title.startswith("The kernel")


def test_futures_that_an_idle_scheduler_took_along_were_not_cancelled() -> None:
    run = driver_got(
        "distributed.client.FutureCancelledError",
        "abs-1 cancelled for reason: unknown.",
        an_event("scheduler-closing", reason="idle-timeout-exceeded", by=""),
    )

    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("scheduler-lost", "high")
    assert "idle for too long" in found.title


def test_a_gateway_that_stops_an_idle_cluster_is_not_somebody_who_signals_it() -> None:
    line = "Cluster has been idle for 6.00 seconds, shutting down"
    run = driver_got(
        "distributed.client.FutureCancelledError",
        "abs-1 cancelled for reason: scheduler-connection-lost.",
        a_log_line(line, role="scheduler", source="scheduler", logger="dask_gateway"),
        an_event("scheduler-closing", reason="signal-2", by=""),
    )

    found = the_verdict(run)

    assert (found.rule, found.retry_advice) == ("scheduler-lost", "environment")
    assert (
        "its gateway ended it because it had been idle for more than 6" in found.title
    )
    assert "c.ClusterConfig.idle_timeout" in (found.remedy or "")


MISSED = an_exception("FileNotFoundError", "[Errno 2] No such file: '/out/troms.csv'")


def test_a_task_that_nobody_waited_for_is_why_its_file_is_missed() -> None:
    run = a_run(a_worker(), a_graph(), a_failed_task("publish-1"), failed_with(MISSED))

    found = the_verdict(run)

    assert (found.rule, found.subject.key) == ("task-exception", "publish-1")
    assert found.confidence == "medium"


def test_a_file_that_is_missed_after_a_handled_error_may_follow_from_it() -> None:
    heard = an_event(
        "driver-call-failed", "driver", at=9, call="Future.result", key="publish-1",
        exception="ZeroDivisionError", message="division by zero",
    )  # fmt: skip
    run = a_run(
        a_worker(), a_graph(), a_failed_task("publish-1"), heard, failed_with(MISSED)
    )

    found = the_verdict(run)
    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert found.title.startswith(
        "ZeroDivisionError in 'publish': division by zero; then"
    )


def test_a_variable_that_is_not_set_is_the_environments() -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 4, in load\n'
        '    os.environ["STOCK_DB"]\n  File "<frozen os>", line 679, in __getitem__\n'
        "KeyError: 'STOCK_DB'\n"
    )
    error = an_exception("KeyError", "'STOCK_DB'", key="load-1")
    run = a_run(
        a_worker(),
        a_failed_task("load-1", "KeyError", "'STOCK_DB'", traceback=traceback),
        failed_with(error),
    )

    found = the_verdict(run)

    assert (found.retry_advice, found.retry_confidence) == ("environment", "high")
    assert "environment variable 'STOCK_DB' is not set" in found.title
    assert "Set STOCK_DB where this runs" in found.remedy


def released(*, forgotten: int, processing: int = 0) -> RunTables:
    error = an_exception("RuntimeError", "2 of 18 labels are there")
    return a_run(
        a_worker(),
        an_event("graph-updated", "Client-1", at=2, graph=1, tasks=18, new={"label": [18, 0]}),
        an_event("span", "s1", at=9, states={"forgotten": forgotten, "processing": processing}),
        an_event("client-removed", "Client-1", at=10),
        failed_with(error, at=10),
    )  # fmt: skip


def test_tasks_whose_futures_nobody_held_are_counted() -> None:
    found = the_verdict(released(forgotten=18))

    assert found.rule == "driver-exception"
    assert (
        "18 of 18 tasks ('label') were released before they had finished" in found.cause
    )
    assert "fire_and_forget" in found.remedy
    assert "released" not in the_verdict(released(forgotten=16, processing=2)).cause


def test_a_key_that_is_submitted_again_was_not_released_unfinished() -> None:
    found = the_verdict(
        a_run(
            a_worker(),
            a_graph(),
            a_task("label-1", start=2),
            a_task("label-1", start=4),
            an_event("span", "s1", at=9, states={"forgotten": 2}),
            an_event("client-removed", "Client-1", at=10),
            failed_with(an_exception("AssertionError", "2 labels, 3 wanted"), at=10),
        )
    )

    assert found.rule == "driver-exception"
    assert "No task had failed" in found.cause
    assert "released" not in found.cause


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ([], "driver-killed"),
        (
            [
                a_log_line(
                    'night.sh: line 96: 9 Killed   "$PY" night.py',
                    role="driver",
                    source="driver",
                    logger="stderr",
                )
            ],
            "driver-killed",
        ),
        ([an_event("driver-closing", "driver", at=19, pid=9)], "driver-exception"),
        (
            [an_event("driver-exit", "driver", at=19, pid=9, code=137)],
            "driver-exception",
        ),
    ],
    ids=[
        "killed",
        "its shell says so",
        "it closed its client",
        "it exited with that code",
    ],
)
def test_the_code_of_a_shell_whose_driver_was_killed_is_its_signal(
    more: list[Piece], rule: str
) -> None:
    driver = [
        an_event("command-started", "driver", pid=7, argv=["bash", "night.sh"]),
        an_event("driver-attached", "driver", at=2, pid=9, client="Client-1"),
        an_event("scheduler-info", "tcp://s", at=2, pid=9),
    ]
    grows = [
        a_sample(at=3.0 + n, source="scheduler", memory=(160 + 20 * n) * MIB)
        for n in range(6)
    ]
    found = the_verdict(a_run(*driver, *grows, *more, failed_with(None, exit_code=137)))

    assert found.rule == rule
    if rule == "driver-killed":
        printed = any(kind == "log" for kind, _ in more)
        assert found.confidence == ("high" if printed else "medium")
    said = "Its memory had grown from 160 MiB to 260 MiB, its highest value"
    assert (said in found.cause) == (rule == "driver-killed")


def test_the_other_tests_that_failed_are_named() -> None:
    trace = 'Traceback:\n  File "/jobs/test_it.py", line 4, in load\n    raise KeyError'
    failed = a_failed_task("load-1", "KeyError", "'lon'", at=5.0, traceback=trace)
    tests = [
        an_event(
            "test-failed", "driver", at=at, pid=7, test=f"test_it.py::test_{name}",
            when="call", exception=error, message=message, chain=[error], key=key,
        )
        for at, name, error, message, key in (
            (6.0, "lon", "KeyError", "'lon'", "load-1"),
            (9.0, "lat", "ValueError", "no 'lat'", None),
        )
    ]  # fmt: skip
    found = the_verdict(
        a_run(a_worker(), failed, *tests, failed_with(None, exit_code=1))
    )

    assert found.rule == "task-exception"
    assert (
        "1 other test failed, 'test_it.py::test_lat' with ValueError: no 'lat'"
        in found.cause
    )


@pytest.mark.parametrize(
    ("error", "rule"),
    [("connection lost", "task-exception"), (None, "driver-exception")],
)
def test_what_only_the_driver_reports_of_a_task_counts_if_its_scheduler_was_lost(
    error: str | None, rule: str
) -> None:
    call = an_event(
        "driver-call-failed", "driver", at=9.0, pid=1, call="Future.result",
        exception="ValueError", message="could not convert '12,50'", identity="7",
        id="1.1", key="price_lines-8a", bases=["Exception", "BaseException"],
    )  # fmt: skip
    left = an_event(
        "driver-exit", "driver", at=10.0, pid=1, code=1, related_errors=["1.1"]
    )
    sources = {"scheduler tcp://s": SourceAccount(batches=2, error=error)}
    ended = failed_with(None, exit_code=1, sources=sources)

    found = the_verdict(a_run(a_worker(), a_graph(), call, left, ended))

    assert (found.rule, found.confidence) == (rule, "medium")
    assert "could not convert '12,50'" in found.title
    assert found.title.endswith("; then the command exited with code 1")
