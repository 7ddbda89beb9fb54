"""A verdict on a symptom is not sure while failures before it are not explained."""

from __future__ import annotations

import json

import msgspec
import pytest
from dask_blackbox.analyse import Case, findings_in, verdict_in, verdict_of
from dask_blackbox.analyse.causes.incidents import facts_of
from dask_blackbox.analyse.causes.kinds import NO_WORKERS
from dask_blackbox.analyse.symptoms import reported_symptom
from dask_blackbox.finding import Finding
from runs_from_rows import (
    START,
    Piece,
    a_death,
    a_departure,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    the_verdict,
)

WORKER = a_worker("tcp://w1")
EARLIER = a_failed_task("publish-7", "ValueError", "bad price 'n/a'", at=5.0)
RECEIVED = an_event(
    "driver-call-failed", "driver", at=6.0, call="Future.result", exception="ValueError",
    message="bad price 'n/a'", key="publish-7", identity="1", pid=1,
)  # fmt: skip


def verdict(
    *pieces: Piece, exception: str = "TimeoutError", at: float = 10.0
) -> Finding:
    """Return the verdict on a run whose driver got an exception of the task 'relabel'."""
    run = a_run(
        WORKER,
        *pieces,
        raised_in("relabel-9", an_exception(exception, "no list"), at=at),
    )
    found = the_verdict(run)
    assert found.subject.prefix == "relabel"
    return found


def test_a_symptom_with_nothing_before_it_is_proved() -> None:
    assert verdict().confidence == "high"


@pytest.mark.parametrize(
    ("exception", "message", "reported"),
    [
        ("KeyError", "'pageviews'", "what was missing"),
        ("builtins.FileNotFoundError", "/data/1.csv", "what was missing"),
        ("ValueError", "max() arg is an empty sequence", "what was missing"),
        ("RuntimeError", "Cannot log in as etl", "what failed"),
        ("AssertionError", "totals differ", "what failed"),
        ("RuntimeError", "gave up after 30 s", "what did not happen in time"),
        ("queue.Empty", "", "what did not happen in time"),
        (
            "pyarrow.lib.ArrowInvalid",
            "Parquet magic bytes not found",
            "what was missing",
        ),
        ("ConnectionRefusedError", "[Errno 111]", "that a service did not answer"),
    ],
)
def test_a_verdict_that_is_less_sure_says_what_the_exception_reports(
    exception: str, message: str, reported: str
) -> None:
    assert reported_symptom(exception, message) == reported


def test_what_other_tasks_were_to_deliver_makes_a_symptom_less_sure() -> None:
    made = a_task("relabel-9", outcome="erred", last_input="load-3")

    assert verdict(a_task("load-3")).confidence == "high"  # not an input
    found = verdict(a_task("load-3"), made)
    assert found.confidence == "medium"
    assert "the reason may be in 'load', which produced its input" in found.cause
    assert (
        verdict(a_task("load-3"), made, exception="ZeroDivisionError").confidence
        == "high"
    )
    assert (
        verdict(a_task("load-3"), made, exception="ModuleNotFoundError").confidence
        == "high"
    )


def driver_verdict(*pieces: Piece) -> Finding:
    """Return the verdict on a run whose driver raised at a line of its own, as tasks had finished."""
    trace = 'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 6, in total\n    rows["price"]\nKeyError: \'price\''
    raised = an_exception("KeyError", "'price'", traceback=trace)
    return the_verdict(a_run(WORKER, a_task("load-3"), *pieces, failed_with(raised)))


def test_a_key_that_the_driver_lacks_is_proved_by_its_line() -> None:
    found = driver_verdict()

    assert found.confidence == "high"
    assert "not why" not in found.cause


@pytest.mark.parametrize(
    "lead",
    [
        pytest.param(
            a_failed_task("load-4", "ValueError", "bad row", outcome="retried"),
            id="a task failed at first",
        ),
        pytest.param(a_task("load-5", typename="NoneType"), id="a task returned None"),
    ],
)
def test_a_task_that_may_not_have_delivered_makes_a_missing_key_less_sure(
    lead: Piece,
) -> None:
    found = driver_verdict(lead)

    assert found.confidence == "medium"
    assert "not why" in found.cause


@pytest.mark.parametrize(
    ("frame", "confidence"),
    [
        ('File "/jobs/nightly.py", line 1, in <module>', "high"),
        ('File "/lib/site-packages/distributed/client.py", line 9, in gather', "low"),
    ],
    ids=["outside Dask", "in a call of Dask"],
)
def test_an_error_outside_dask_is_the_drivers_also_without_a_cluster(
    frame: str, confidence: str
) -> None:
    trace = f"Traceback (most recent call last):\n  {frame}\n    import a\nModuleNotFoundError: No module named 'a'"
    raised = an_exception("ModuleNotFoundError", "No module named 'a'", traceback=trace)

    found = the_verdict(a_run(failed_with(raised), recorded=False))

    assert (found.rule, found.confidence) == ("driver-exception", confidence)


@pytest.mark.parametrize("level", ["INFO:shop:", "[INFO] ", "DEBUG "])
def test_what_the_job_calls_information_begins_no_headline(level: str) -> None:
    line = a_log_line(
        f"{level}mirror is not usable: Connection refused", at=5.0, role="driver",
        source="driver", logger="stderr",
    )  # fmt: skip

    found = verdict(line)
    assert found.title.startswith("TimeoutError in 'relabel'")
    assert found.confidence == "medium"
    assert "mirror is not usable" in found.evidence[-1].text


def test_our_own_lines_are_not_the_jobs() -> None:
    ours = a_log_line(
        "dask-blackbox continued without the driver's exception: MemoryError: ", at=5.0,
        role="driver", source="driver", logger="stderr",
    )  # fmt: skip

    assert verdict(ours).confidence == "high"


@pytest.mark.parametrize("exception", ["ZeroDivisionError", "UnicodeDecodeError"])
def test_what_is_no_symptom_stays_proved(exception: str) -> None:
    assert verdict(EARLIER, exception=exception).confidence == "high"


def test_what_failed_later_is_no_reason() -> None:
    assert verdict(EARLIER, at=3.0).confidence == "high"


def test_a_failure_of_the_same_kind_is_explained() -> None:
    same = a_failed_task("relabel-3", "TimeoutError", "no list", at=5.0)

    assert verdict(same).confidence == "high"


def test_what_the_job_itself_logged_is_shown() -> None:
    logged = a_log_line("price list is incomplete", level=30, logger="shop.prices")
    of_dask = a_log_line("Event loop was blocked", level=30, logger="distributed.core")

    assert verdict(of_dask).confidence == "high"
    found = verdict(logged)
    assert found.confidence == "medium"
    assert found.evidence[-1].text == "shop.prices had logged: price list is incomplete"


def test_the_first_of_a_flood_of_errors_are_shown() -> None:
    flood = [
        a_log_line(
            f"try {n} failed", at=1 + n / 10_000, seq=n, logger="stdout", level=20
        )
        for n in range(20_000)
    ]
    shown = [each.text for each in verdict(*flood).evidence[-3:]]

    assert shown == [f"A worker had printed: try {n} failed" for n in range(3)]


@pytest.mark.parametrize(
    "line",
    [
        "Task run failed with exception: TimeoutError('no list') - Retries are exhausted",
        "giving up: TimeoutError: no list",
    ],
)
def test_a_line_that_reports_the_verdicts_own_error_is_no_doubt(line: str) -> None:
    printed = a_log_line(line, logger="stderr", role="worker", at=5.0)

    assert verdict(printed).confidence == "high"


def test_a_line_with_another_error_of_that_class_is_a_doubt() -> None:
    printed = a_log_line(
        "failed with TimeoutError('no prices')", logger="stderr", role="worker", at=5.0
    )

    assert verdict(printed).confidence == "medium"


def test_a_queue_that_a_dead_thread_was_to_fill_follows_from_the_task_that_ended_it() -> (
    None
):
    printed = [
        "Exception in thread grader:",
        "Traceback (most recent call last):",
        '  File "/jobs/grade.py", line 12, in run',
        "    outbox.put(future.result())",
        "ValueError: bad price 'n/a'",
    ]
    lines = [
        a_log_line(
            line, at=6.1, role="driver", source="driver", logger="stderr", seq=seq
        )
        for seq, line in enumerate(printed, start=1)
    ]
    run = a_run(
        WORKER, EARLIER, RECEIVED, *lines, failed_with(an_exception("_queue.Empty", ""))
    )
    found = the_verdict(run)
    assert found.rule == "task-exception"
    assert (
        found.title
        == "ValueError in 'publish': bad price 'n/a'; then Empty in the driver"
    )


def test_a_line_about_no_failures_is_no_error() -> None:
    line = a_log_line("12 read, 0 errors", logger="stdout", level=20)

    assert verdict(line).confidence == "high"


@pytest.mark.parametrize(
    "line",
    [
        "attempt 1 of 2: no price list of the day was found",
        "12:00 [WARNING] dask-blackbox continued without a client: ImportError: no error",
    ],
    ids=["the same error", "our own line"],
)
def test_what_is_no_error_before_that_of_the_verdict_does_not_begin_the_headline(
    line: str,
) -> None:
    printed = a_log_line(line, at=1.0, logger="stdout", level=20)
    error = an_exception("KeyError", "no price list of the day was found")
    run = a_run(WORKER, printed, raised_in("relabel-9", error, at=10.0))

    found = the_verdict(run)
    assert found.title.startswith("KeyError in 'relabel'")
    assert found.confidence == "high"


def test_what_a_driver_handled_is_counted_in_the_evidence() -> None:
    other = a_failed_task("publish-8", "KeyError", "'EUR'", at=5.5)
    received = an_event(
        "driver-call-failed", "driver", at=6.5, call="Future.result", key="publish-8",
        exception="KeyError", message="'EUR'", identity="2", pid=1,
    )  # fmt: skip
    run = a_run(
        WORKER, EARLIER, RECEIVED, other, received,
        failed_with(an_exception("AssertionError", "row counts differ")),
    )  # fmt: skip

    found = the_verdict(run)
    assert found.rule == "driver-exception"
    handled = "1 with ValueError in 'publish' and 1 with KeyError in 'publish'."
    assert any(each.text.endswith(handled) for each in found.evidence)
    assert "KeyError" not in found.cause


@pytest.mark.parametrize(
    "prefix", ["WARNING:shop:", "2026-03-29 02:00:00,123 WARNING "]
)
def test_an_error_that_the_job_printed_begins_the_headline(prefix: str) -> None:
    line = a_log_line(f"{prefix}no rates: KeyError('EUR')", logger="stdout", level=20)
    found = verdict(line, exception="KeyError")

    assert found.title.startswith(
        "A worker printed “no rates: KeyError('EUR')”; then KeyError in 'relabel'"
    )
    assert f"Before that, a worker had printed: {prefix}no rates" in found.cause


# What what was missing follows from


def test_a_program_that_ended_before_its_service_was_refused_begins_the_headline() -> (
    None
):
    lines = (
        "Traceback (most recent call last):",
        '  File "<string>", line 6, in <module>',
        "ZeroDivisionError: float division by zero",
    )
    printed = [
        a_log_line(line, role="driver", source="driver", logger="stderr", at=4.0, seq=n)
        for n, line in enumerate(lines)
    ]
    run = a_run(
        WORKER,
        printed,
        raised_in("ask-9", an_exception("URLError", "[Errno 111] Connection refused")),
    )
    found = the_verdict(run)
    assert found.title.startswith(
        "ZeroDivisionError: float division by zero in a program of the driver; then URLErr"
    )


@pytest.mark.parametrize(
    ("file", "first"),
    [("/v/site-packages/distributed/cli/dask_worker.py", False), ("/jobs/step_1.py", True)],
)  # fmt: skip
def test_a_workers_command_that_did_not_start_is_no_earlier_step(
    file: str, *, first: bool
) -> None:
    message = "Worker failed to start."
    trace = f'Traceback:\n  File "{file}", line 9, in run\nRuntimeError: {message}'
    earlier = an_event(
        "driver-exception", "driver", at=4.0, pid=7, exception="RuntimeError",
        message=message, traceback=trace,
    )  # fmt: skip
    name = "distributed.exceptions.WorkerStartTimeoutError"
    last = an_event(
        "driver-exception", "driver", at=19.0, pid=8, exception=name,
        message="Only 1/2 workers arrived after 15",
    )  # fmt: skip
    line = a_log_line(
        "Failed to start process\nOSError: [Errno 98] Address already in use",
        at=9.0, role="nanny", source="tcp://n2",
    )  # fmt: skip
    ended = an_exception(name, "Only 1/2 workers arrived after 15")
    run = a_run(WORKER, line, earlier, last, failed_with(ended, exit_code=1))
    found = the_verdict(run)
    assert found.rule == "worker-start-failed"
    assert found.title.startswith("RuntimeError: Worker failed to start.") == first
    assert "OSError: [Errno 98] Address already in use" in found.title


def test_the_process_that_started_the_one_that_failed_is_no_earlier_one() -> None:
    child = an_event(
        "driver-exception", "driver", at=9.0, pid=7, parents=[1], exception="KeyError",
        message="'lb'",
    )  # fmt: skip
    parent = an_event(
        "driver-exception", "driver", at=19.0, pid=1,
        exception="FileNotFoundError", message="no rates.parquet",
    )  # fmt: skip
    run = a_run(
        WORKER,
        child,
        parent,
        failed_with(an_exception("FileNotFoundError", "no rates.parquet"), exit_code=1),
    )
    found = the_verdict(run)
    assert found.title.startswith("FileNotFoundError in the driver")


def test_what_the_first_attempt_raised_begins_the_headline_of_what_it_left() -> None:
    trace = 'Traceback:\n  File "/jobs/weigh.py", line 31, in weigh\n    float(text)\n'
    first = a_failed_task(
        "weigh-9", "ValueError", "bad weight 'n/a'", at=5.0, outcome="retried",
        traceback=f"{trace}ValueError: bad weight 'n/a'",
    )  # fmt: skip
    run = a_run(
        WORKER,
        first,
        raised_in("weigh-9", an_exception("FileExistsError", "File exists: '/out/9'")),
    )
    found = the_verdict(run)
    assert found.title.startswith(
        "ValueError in 'weigh': bad weight 'n/a'; then FileExistsError in 'weigh'"
    )
    assert "bad weight 'n/a' at /jobs/weigh.py:31. What then ended" in found.remedy


def test_the_first_attempt_of_a_task_that_the_driver_handled_begins_the_headline() -> (
    None
):
    attempt = a_failed_task("book-7", "KeyError", "'SEK'", at=5.0, outcome="retried")
    renamed = an_event(
        "file-removed", "book-7", at=4.0, path="/inbox/lot-7.json", action="renamed",
        file="/jobs/book.py", line=59, function="claim",
    )  # fmt: skip
    missing = "[Errno 2] No such file or directory: '/inbox/lot-7.json'"
    failed = a_failed_task("book-7", "FileNotFoundError", missing, at=6.0)
    handled = an_event(
        "driver-call-failed", "driver", at=6.1, call="Future.result", key="book-7",
        exception="FileNotFoundError", message=missing, identity="1", pid=1,
    )  # fmt: skip
    ended = an_exception(
        "SystemExit", "1 lot not in the inbox: failed", traceback=f"{RAISES}SystemExit"
    )
    run = a_run(WORKER, attempt, renamed, failed, handled, failed_with(ended))
    found = the_verdict(run)
    assert found.title.startswith("KeyError in 'book': 'SEK'; then SystemExit")


@pytest.mark.parametrize(("by", "first"), [("book-7", True), ("purge-1", False)])
def test_an_attempt_that_had_renamed_its_file_begins_the_headline(
    by: str, *, first: bool
) -> None:
    attempt = a_failed_task("book-7", "KeyError", "'SEK'", at=5.0, outcome="retried")
    renamed = an_event(
        "file-removed", by, at=4.0, path="/inbox/lot-7.json", action="renamed",
        file="/jobs/book.py", line=59, function="claim",
    )  # fmt: skip
    missing = "[Errno 2] No such file or directory: '/inbox/lot-7.json'"
    failed = raised_in("book-7", an_exception("FileNotFoundError", missing))
    run = a_run(WORKER, attempt, renamed, failed)
    found = the_verdict(run)
    begins = "KeyError in 'book': 'SEK'; then" if first else "Task 'purge' renamed"
    assert found.title.startswith(begins)
    assert ("Make this task depend on them" in found.remedy) == (not first)


@pytest.mark.parametrize(
    ("stimulus", "logged", "how"),
    [
        (
            "retire-workers-9.0",
            "Retiring workers [1]",
            "retired as adaptive scaling scaled the cluster down",
        ),
        ("retire-workers-9.0", "", "retired"),
        ("worker-close-gracefully-9.0", "", "closed on request"),
        ("handle-worker-cleanup-9.0", "", None),
    ],
)
def test_a_file_in_the_directory_of_a_worker_that_had_left_went_with_it(
    stimulus: str, logged: str, how: str | None
) -> None:
    kind, (at, name, subject, fields) = a_worker("tcp://w2", pid=101)
    folder = {"local_directory": "/scratch/worker-x1"}
    owner = kind, (at, name, subject, json.dumps(json.loads(fields) | folder))
    left = a_departure("tcp://w2", at=9.0, expected=how is not None, stimulus=stimulus)
    missing = "[Errno 2] No such file or directory: '/scratch/worker-x1/strip_0.npy'"
    run = a_run(
        WORKER, owner, left,
        a_log_line(
            logged, at=8.9, role="scheduler", logger="distributed.deploy.adaptive"
        ),
        raised_in("blend-1", an_exception("FileNotFoundError", missing), at=20.0),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.rule == "task-exception"
    begins = f"Worker 2 was {how}, and its local directory was removed; then FileNot"
    assert found.title.startswith(begins) == (how is not None)
    assert ("only as long as the worker" in found.remedy) == (how is not None)


LACKED = "module 'builtins' has no attribute 'model'"
DIED = a_death(exit_code=-11, at=5.0, executing=["shade-1"])
SUCCESSOR = a_worker("tcp://w2", at=6.0, pid=101)


HELD = "the index is locked by another writer"


def test_a_failure_on_an_unknown_worker_is_explained() -> None:
    failed = a_failed_task("relabel-9", "KeyError", "'tue'", worker="")
    found = verdict_of(findings_in(run := a_run(WORKER, failed, failed_with())), run)

    assert found is not None
    assert found.title == "KeyError in 'relabel': 'tue'"


@pytest.mark.parametrize(
    ("killed", "message", "title"),
    [
        ("pack-1", HELD, "A worker died because of a crash in native code while running 'pack'; then"),
        ("pack-1", "the index has no page 9", "RuntimeError in 'pack'"),
        ("shade-1", HELD, "RuntimeError in 'pack'"),
    ],
    ids=["what it held", "something else", "another task's"],
)  # fmt: skip
def test_what_a_killed_task_held_is_met_by_others_of_its_kind(
    killed: str, message: str, title: str
) -> None:
    other = a_worker("tcp://w2", at=1.0, pid=101)
    death = a_death(exit_code=-11, at=5.0, executing=[killed])
    failed = raised_in(
        "pack-9", an_exception("RuntimeError", message), worker="tcp://w2"
    )
    run = a_run(WORKER, other, death, failed)
    found = the_verdict(run)
    assert found.title.startswith(title)


def test_results_that_the_driver_left_out_come_before_what_then_failed() -> None:
    left_out = an_event(
        "driver-skipped", "driver", at=6.0, pid=1, futures=12, skipped=1, keys=["read-3"],
        file="/jobs/nightly.py", line=77, function="collect",
    )  # fmt: skip
    zone = a_failed_task("read-3", "KeyError", "'lon'", at=5.0)
    failed = raised_in("score-9", an_exception("ZeroDivisionError", "by zero"))
    run = a_run(WORKER, zone, left_out, failed)
    found = the_verdict(run)
    assert found.title.startswith("KeyError in 'read': 'lon'; then ZeroDivisionError")
    assert 'nightly.py:77 (`errors="skip"`)' in found.cause


def test_results_that_were_left_out_since_they_needed_a_failed_one_follow_from_it() -> (
    None
):
    left_out = an_event(
        "driver-skipped",
        "driver",
        at=6.0,
        pid=1,
        futures=12,
        skipped=4,
        keys=["catch-3"],
    )
    factor = a_failed_task("factor-3", "TypeError", "None / 24", at=5.0)
    ended = an_exception("AssertionError", "assert 8 == 12")
    run = a_run(WORKER, factor, left_out, failed_with(ended))
    found = the_verdict(run)
    assert found.title.startswith(
        "TypeError in 'factor': None / 24; then AssertionError"
    )
    assert "4 tasks of 12 had no result, since 'factor' had failed" in found.cause


def test_results_that_are_left_out_after_a_failure_are_no_reason_of_it() -> None:
    left_out = an_event(
        "driver-skipped",
        "driver",
        at=15.0,
        pid=1,
        futures=12,
        skipped=1,
        keys=["read-3"],
    )
    zone = a_failed_task("read-3", "KeyError", "'lon'", at=5.0)
    failed = raised_in("score-9", an_exception("ZeroDivisionError", "by zero"), at=10.0)
    run = a_run(WORKER, zone, left_out, failed)
    found = the_verdict(run)
    assert found.title.startswith("ZeroDivisionError in 'score'")


def test_results_that_the_driver_left_out_are_no_reason_of_a_service() -> None:
    left_out = an_event(
        "driver-skipped",
        "driver",
        at=6.0,
        pid=1,
        futures=12,
        skipped=1,
        keys=["read-3"],
    )
    zone = a_failed_task("read-3", "KeyError", "'lon'", at=5.0)
    failed = raised_in("score-9", an_exception("PermissionError", "denied: /out"))
    run = a_run(WORKER, zone, left_out, failed)
    found = the_verdict(run)
    assert found.title.startswith("PermissionError in 'score'")


def test_a_task_that_succeeded_on_the_new_process_lacked_nothing_of_the_old_one() -> (
    None
):
    failed = raised_in(
        "predict-9", an_exception("AttributeError", LACKED), worker="tcp://w2"
    )
    fine = a_task("predict-1", worker="tcp://w2", start=7.0)
    run = a_run(WORKER, DIED, SUCCESSOR, fine, failed)
    found = the_verdict(run)
    assert found.title.startswith("AttributeError in 'predict'")


def test_a_service_that_ended_silently_is_named_though_nobody_waited_for_it() -> None:
    ended = an_event(
        "program-failed", "driver", at=10.4, pid=1, program_pid=77, code=3, started=1.0 + START,
        command="serve prices",
    )  # fmt: skip
    received = an_event(
        "driver-call-failed", "driver", at=10.5, call="Future.result", pid=1,
        exception="ConnectionRefusedError", message="[Errno 111] Connection refused",
        key="ask-9", identity="a",
    )  # fmt: skip
    refused = msgspec.structs.replace(
        an_exception("ConnectionRefusedError", "[Errno 111] Connection refused"),
        chain_ids=("a",),
    )
    run = a_run(WORKER, ended, received, raised_in("ask-9", refused))
    found = the_verdict(run)
    assert found.title.startswith(
        "Program “serve prices” of the driver exited with code 3; then ConnectionRefused"
    )


def test_a_cluster_that_was_closed_between_two_stages_did_not_end_the_second() -> None:
    exception = "distributed.client.FutureCancelledError"
    message = "season-2 cancelled for reason: unknown."
    run = a_run(
        WORKER,
        a_failed_task("audition-4", "KeyError", "'bass'", at=4.0),
        an_event("driver-closing", "driver", at=5.0, pid=1, what="LocalCluster.close"),
        a_graph(at=6.0),
        failed_with(an_exception(exception, message)),
    )
    found = the_verdict(run)
    assert found.rule == "cancelled"
    assert "audition" not in found.title


def test_a_cluster_that_the_driver_closed_after_a_task_failed_is_the_tasks_failure() -> (
    None
):
    closing = an_event(
        "driver-closing", "driver", at=11.0, pid=1, what="LocalCluster.close"
    )
    exception = "distributed.client.FutureCancelledError"
    message = "season-2 cancelled for reason: unknown."
    run = a_run(
        WORKER,
        a_failed_task("audition-4", "KeyError", "'bass'", at=10.0),
        closing,
        failed_with(an_exception(exception, message)),
    )
    found = the_verdict(run)
    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert found.title.startswith("KeyError in 'audition': 'bass'; then ")


RAISES = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 12, in main\n'
    '    raise Incomplete(f"{len(bad)} feeds bad")\n'
)


@pytest.mark.parametrize(
    ("exception", "message", "received", "rule"),
    [
        ("ValueError", "All arrays must be of the same length", False, "task"),
        ("ValueError", "All arrays must be of the same length", True, "driver"),
        ("OSError", "no mail could be sent: refused by smtp", False, "driver"),
        ("Incomplete", "1 feed rejected: invalid", True, "task"),
        ("Incomplete", "1 of 12 feeds not published", True, "task"),
        ("Incomplete", "1 feed of 12 is late", True, "driver"),
        ("Incomplete", "12 feeds rejected: invalid", True, "driver"),
        ("Incomplete", "1 of 12 feeds not published", False, "task"),
        ("Incomplete", "1 feed of 12 is late", False, "driver"),
    ],
)
def test_what_a_driver_met_or_counted_of_failed_tasks_is_their_failure(
    exception: str, message: str, *, received: bool, rule: str
) -> None:
    ended = an_exception(exception, message, traceback=f"{RAISES}{exception}")
    run = a_run(
        WORKER, a_task("publish-1"), EARLIER, *([RECEIVED] if received else []),
        failed_with(ended, at=20),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.rule == f"{rule}-exception"
    title = "ValueError in 'publish': bad price 'n/a'; then" if rule == "task" else ""
    assert found.title.startswith(title or f"{exception} in the driver")


def a_killed_task(*, received: float) -> list[Piece]:
    """Return a task that killed its worker, and that the driver received its exception."""
    message = "Attempted to run task 'melt-9' on 1 different workers"
    return [
        WORKER,
        *a_death(exit_code=74, at=5.0, executing=["melt-9"]),
        a_failed_task(
            "melt-9", "distributed.scheduler.KilledWorker", message, at=5.1, outcome="killed"
        ),
        an_event(
            "driver-call-failed", "driver", at=received, call="Future.result",
            exception="KilledWorker", message=message, key="melt-9", identity="1", pid=1,
        ),
    ]  # fmt: skip


AT_THE_END = pytest.mark.parametrize(
    ("received", "more", "exception", "first"),
    [
        (19.0, [], "KeyError", True),
        (19.0, [a_graph(at=19.5)], "KeyError", False),
        (9.0, [], "KeyError", False),
        (19.0, [], "ZeroDivisionError", False),
    ],
    ids=["at once", "it went on", "later", "nothing is lacking"],
)
"""When the driver received a failure, what it did then, and what ended it at 20 s."""


@AT_THE_END
def test_what_a_driver_lacks_at_once_after_a_worker_died_is_that_workers_task(
    received: float, more: list[Piece], exception: str, *, first: bool
) -> None:
    ended = an_exception(exception, "'summary'")
    run = a_run(*a_killed_task(received=received), *more, failed_with(ended, at=20))
    found = the_verdict(run)
    died = "because a task's code exited the process with code 74 while running 'melt'; then"
    assert (died in found.title) == first
    assert (
        "`dask blackbox rules worker-exit` says what to do" in found.remedy
    ) == first
    assert found.rule == ("worker-exit" if first else "driver-exception")


@AT_THE_END
def test_what_a_driver_lacks_at_once_after_a_task_failed_is_that_tasks_result(
    received: float, more: list[Piece], exception: str, *, first: bool
) -> None:
    bad = a_failed_task("melt-9", "ValueError", "slag ratio 1.7", at=5.0)
    call = an_event(
        "driver-call-failed", "driver", at=received, call="Future.result",
        exception="ValueError", message="slag ratio 1.7", key="melt-9", identity="1", pid=1,
    )  # fmt: skip
    ended = an_exception(exception, "'summary'")
    run = a_run(WORKER, bad, call, *more, failed_with(ended, at=20))
    found = the_verdict(run)
    title = "ValueError in 'melt': slag ratio 1.7; then KeyError in the driver"
    assert found.title.startswith(title) == first
    assert found.rule == ("task-exception" if first else "driver-exception")


def test_of_several_kinds_of_failures_the_most_frequent_begins_the_headline() -> None:
    missing = a_failed_task("publish-1", "FileNotFoundError", "farm-07.csv", at=4.9)
    bad = [
        a_failed_task(f"publish-{n}", "ValueError", "bad price 'n/a'", at=5.0 + n / 10)
        for n in (2, 3, 4)
    ]
    ended = an_exception(
        "ValueError",
        "mean requires at least one data point",
        traceback=f"{RAISES}ValueError",
    )
    run = a_run(WORKER, missing, *bad, failed_with(ended, at=20))
    found = the_verdict(run)
    assert found.title.startswith("ValueError in 'publish': bad price 'n/a'; then")


@pytest.mark.parametrize("closing", [True, False])
def test_workers_that_leave_as_the_driver_closes_are_no_step_to_its_end(
    *, closing: bool
) -> None:
    closes = an_event(
        "driver-closing", "driver", at=11.0, pid=1, what="LocalCluster.close"
    )
    run = a_run(
        a_worker(),
        *a_death(exit_code=17, at=5.0, executing=["solve-1"]),
        a_worker("tcp://w2", at=6.0, pid=101),
        *a_departure("tcp://w2", at=12.0, expected=True),
        *([closes] if closing else []),
        failed_with(an_exception("KeyError", "'S07'"), at=13),
    )
    kinds = {each.kind for each in facts_of(Case(run))}

    assert (NO_WORKERS in kinds) == (not closing)


@pytest.mark.parametrize(
    ("reason", "named"),
    [("lost dependencies.", True), ("scheduler-restart.", False)],
)
def test_scattered_data_that_was_lost_comes_before_a_count_of_what_is_left(
    reason: str, *, named: bool
) -> None:
    call = an_event(
        "driver-call-failed", "driver", at=11.0, call="Client.gather",
        exception="distributed.client.FutureCancelledError",
        message=f"match-1 cancelled for reason: {reason}", key="match-1", identity="1", pid=1,
    )  # fmt: skip
    died = a_death(
        exit_code=0,
        closing="worker-lifetime-reached",
        lost_scattered=["ndarray-1"],
    )
    ended = an_exception(
        "SystemExit", "6 of 14 have no counts", traceback=f"{RAISES}SystemExit"
    )
    run = a_run(WORKER, *died, call, failed_with(ended, at=20))
    found = the_verdict(run)
    lost = "Data that could not be recomputed was lost with its worker at the end of "
    assert found.title.startswith(lost) == named
    assert (found.rule == "data-lost") == named
    assert ("the only copy of 'ndarray-1', had died" in found.cause) == named


@pytest.mark.parametrize(
    ("line", "named"), [("assert spread > 0, 'all equal'", True), ("1 / spread", False)]
)
def test_equal_calls_that_were_one_task_come_before_what_the_job_finds_of_their_results(
    line: str, *, named: bool
) -> None:
    merged = [
        an_event(
            "calls-merged", "driver", at=5.0 + calls, key="draw-1", task="draw", pid=1,
            draws=["gauss", "random"], calls=calls, file="/jobs/ants.py", line=19,
        )
        for calls in (1, 2, 4, 8)
    ]  # fmt: skip
    trace = f'Traceback:\n  File "/jobs/ants.py", line 22, in main\n    {line}\nE'
    ended = an_exception("AssertionError", "all equal", traceback=trace)
    found = the_verdict(a_run(WORKER, *merged, failed_with(ended, at=20)))

    assert found.rule == "driver-exception"
    assert ("'draw', which draws random numbers" in found.title) == named
    assert ("8 more calls" in found.cause) == named
    assert ("`pure=False`" in (found.remedy or "")) == named


def test_a_line_with_a_short_text_of_a_failure_quotes_it_with_its_class() -> None:
    bad = a_failed_task("accrue-7", "KeyError", "'SEK'", at=5.0)
    handled = an_event(
        "driver-call-failed", "driver", at=5.1, call="Client.gather",
        exception="KeyError", message="'SEK'", key="accrue-7", identity="1", pid=1,
    )  # fmt: skip
    line = a_log_line(
        "month end stopped: KeyError: 'SEK'",
        at=5.2, role="driver", source="driver", logger="stderr", level=20,
    )  # fmt: skip
    ended = an_exception("SystemExit", "month end failed to end")
    run = a_run(WORKER, bad, handled, line, failed_with(ended, at=20))
    found = the_verdict(run)
    assert found.rule == "task-exception"
    assert found.title.startswith("KeyError in 'accrue': 'SEK'; then SystemExit")


@pytest.mark.parametrize(
    ("name", "failed", "first"),
    [("'airport'", 1, False), ("'VM-7'", 1, True), ("'airport'", 4, True)],
    ids=["another", "the same", "most failed"],
)
def test_a_name_that_no_failed_piece_of_many_has_is_not_lacking_for_it(
    name: str, failed: int, *, first: bool
) -> None:
    polled = [a_task(f"poll-{n}") for n in range(4)]
    bad = [
        a_failed_task(f"poll-9{n}", "Silent", f"no answer from VM-7 to {n}", at=5.0)
        for n in range(failed)
    ]
    received = [
        an_event(
            "driver-call-failed", "driver", at=19.0, call="Future.result", pid=1,
            exception="Silent", message=f"no answer from VM-7 to {n}", key=f"poll-9{n}",
            identity=str(n),
        )
        for n in range(failed)
    ]  # fmt: skip
    run = a_run(
        WORKER, *polled, *bad, *received,
        failed_with(an_exception("KeyError", name), at=20),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.title.startswith("Silent in 'poll'") == first


@pytest.mark.parametrize(
    ("code", "finished", "rule"),
    [(1, False, "worker-exit"), (1, True, "driver-exception"), (0, False, None)],
)
def test_an_exit_code_without_a_result_that_went_with_its_worker_is_that_workers_end(
    code: int, rule: str | None, *, finished: bool
) -> None:
    after = [a_task("melt-9", start=8.0)] if finished else []
    run = a_run(
        *a_killed_task(received=9.0), *after, a_task("pour-1", start=12.0),
        failed_with(None, exit_code=code, at=20) if code else a_graph(at=13),
    )  # fmt: skip
    found = verdict_in(run)

    assert (None if found is None else found.rule) == rule


def printed(*lines: str, at: float) -> list[Piece]:
    """Return lines of the driver's standard error."""
    return [
        a_log_line(
            line, at=at + n / 1000, seq=round(at * 1000) + n, role="driver",
            source="driver", pid=1, logger="stderr", level=20,
        )
        for n, line in enumerate(lines)
    ]  # fmt: skip


def test_a_driver_that_counts_the_errors_that_it_printed_is_not_blamed_on_a_task() -> (
    None
):
    own = [
        "ERROR by_gear could not be made",
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 55, in by_gear',
        "    table.groupby('gear_code')",
        "KeyError: 'gear_code'",
    ]
    second = [
        "ERROR front_page could not be made",
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 75, in front_page',
        "    read('by_gear.json')",
        "FileNotFoundError: by_gear.json",
    ]
    ended = an_exception(
        "SystemExit",
        "bulletin of 2026-02-16 failed: 2 of 5 parts are missing",
        traceback=f"{RAISES}SystemExit",
    )
    run = a_run(
        WORKER, a_task("publish-1"), EARLIER, RECEIVED, a_graph(at=7),
        *printed(*own, at=8.0), *printed(*second, at=9.0), failed_with(ended, at=10),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.rule == "driver-exception"
    assert "KeyError: 'gear_code'" in found.title


def test_of_several_kinds_a_driver_counts_the_one_that_is_as_frequent() -> None:
    handled = a_failed_task("rate-1", "KeyError", "no rate for 2019", at=3.0)
    bad = [
        a_failed_task(f"level-{n}", "ValueError", f"volume {n}", at=5.0 + n / 10)
        for n in range(4)
    ]
    ended = an_exception(
        "SystemExit", "4 of 8 tanks failed", traceback=f"{RAISES}SystemExit"
    )
    run = a_run(WORKER, handled, *bad, failed_with(ended, at=20))
    found = the_verdict(run)
    assert found.subject.prefix == "level"


def test_an_exception_that_the_driver_prints_of_a_task_is_that_tasks() -> None:
    bad = a_failed_task("parse-1", "InvalidOperation", "[ConversionSyntax]", at=5.0)
    received = an_event(
        "driver-call-failed", "driver", at=5.5, call="Future.result", pid=1,
        exception="InvalidOperation", message="[ConversionSyntax]", key="parse-1",
        identity="1",
    )  # fmt: skip
    lines = [
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 64, in parse',
        "    Decimal(text)",
        "InvalidOperation: [ConversionSyntax]",
    ]
    ended = an_exception(
        "SystemExit", "no price for nuit", traceback=f"{RAISES}SystemExit"
    )
    run = a_run(
        WORKER, bad, received, a_graph(at=6), *printed(*lines, at=7.0),
        failed_with(ended, at=20),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.title.startswith("InvalidOperation in 'parse'")
    assert not any("in a program" in each.text for each in found.evidence)


FALLS_BACK = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 70, in count_night\n    totals.compute()\n'
    '  File "/venv/lib/python3.12/gzip.py", line 518, in read\n    raise EOFError\n'
    "EOFError: Compressed file ended\n\n"
    "During handling of the above exception, another exception occurred:\n\n"
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 98, in main\n    publish_night_before()\n'
    '  File "/jobs/nightly.py", line 80, in publish_night_before\n    open(path)\n'
    "FileNotFoundError: tickets.json\n"
)


def test_a_task_that_failed_in_a_library_is_why_the_driver_came_to_what_failed_then() -> (
    None
):
    bad = a_failed_task(
        "read-9", "EOFError", "Compressed file ended", at=5.0,
        traceback='Traceback:\n  File "/venv/lib/python3.12/gzip.py", line 518, in read\n',
    )  # fmt: skip
    received = an_event(
        "driver-call-failed", "driver", at=5.5, call="Client.gather", pid=1,
        exception="EOFError", message="Compressed file ended", key="sum-1",
        identity="2", file="/jobs/nightly.py", line=70, function="count_night",
    )  # fmt: skip
    ended = msgspec.structs.replace(
        an_exception(
            "FileNotFoundError",
            "tickets.json",
            chain=["EOFError"],
            traceback=FALLS_BACK,
        ),
        chain_ids=("1", "2"),
    )
    run = a_run(WORKER, bad, received, failed_with(ended, at=6))
    found = the_verdict(run)
    assert (found.rule, found.subject.key) == ("task-exception", "read-9")
    assert "The driver requested it at /jobs/nightly.py:70" in found.cause


def test_of_kinds_with_their_own_prefixes_a_driver_counts_the_exception() -> None:
    busy = a_failed_task("download-1", "PortalBusy", "503", at=3.0)
    bad = [
        a_failed_task(f"assess{name}-1", "InvalidOperation", "[Conversion]", at=5.0)
        for name in ("law", "music", "trade")
    ]
    ended = an_exception("SystemExit", "3 of 8 failed", traceback=f"{RAISES}SystemExit")
    run = a_run(WORKER, busy, *bad, failed_with(ended, at=20))
    found = the_verdict(run)
    assert found.title.startswith("InvalidOperation in 'assesslaw'")


@pytest.mark.parametrize(
    ("done", "rule"), [(0, "task-exception"), (1, "driver-exception")]
)
def test_an_exit_after_all_tasks_of_a_kind_had_failed_is_their_failure(
    done: int, rule: str
) -> None:
    bad = [
        a_failed_task(f"upload-{n}", "UploadError", f"branch {n} refused", at=5.0)
        for n in range(3)
    ]
    received = [
        an_event(
            "driver-call-failed", "driver", at=6.0, call="Future.result", pid=1,
            exception="UploadError", message=f"branch {n} refused", key=f"upload-{n}",
            identity=str(n),
        )
        for n in range(3)
    ]  # fmt: skip
    finished = [a_task(f"upload-9{n}") for n in range(done)]
    run = a_run(
        WORKER, a_task("read-1"), *finished, *bad, *received,
        failed_with(None, exit_code=1, at=20),
    )  # fmt: skip
    found = the_verdict(run)
    assert found.rule == rule


@pytest.mark.parametrize(
    ("again", "first"), [(True, False), (False, True)], ids=["repeated", "only once"]
)
def test_a_stage_that_was_repeated_with_success_lacks_nothing(
    *, again: bool, first: bool
) -> None:
    parsed = [an_event("graph-updated", "c", at=2.0, graph=1, prefixes={"parse": 2})]
    bad = a_failed_task("parse-4", "ValueError", "3 claims without a number", at=5.0)
    received = an_event(
        "driver-call-failed", "driver", at=5.1, call="Future.result", pid=1,
        exception="ValueError", message="3 claims without a number", key="parse-4",
        identity="1",
    )  # fmt: skip
    line = a_log_line(
        "attempt 1 failed: 3 claims without a number",
        at=5.2, role="driver", source="driver", logger="stdout", level=20,
    )  # fmt: skip
    if again:
        parsed += [
            an_event("graph-updated", "c", at=6.0, graph=2, prefixes={"parse": 2}),
            a_task("parse-7", start=6.5), a_task("parse-8", start=6.6),
        ]  # fmt: skip
    ended = an_exception("SystemExit", "no totals", traceback=f"{RAISES}SystemExit")
    run = a_run(WORKER, *parsed, bad, received, line, failed_with(ended, at=20))
    found = the_verdict(run)
    assert found.title.startswith("ValueError in 'parse'") == first


def test_a_program_that_is_not_there_follows_from_no_task() -> None:
    cloudy = a_failed_task("mask-1", "ValueError", "cloud cover is 87 %", at=5.0)
    line = a_log_line(
        "scene left out: cloud cover is 87 %",
        at=5.2, role="driver", source="driver", logger="stdout", level=20,
    )  # fmt: skip
    raised = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/nightly.py", line 9, in warp\n    subprocess.run(["gdalwarp"])\n'
        '  File "/usr/lib/python3.12/subprocess.py", line 1955, in _execute_child\n'
        "    raise child_exception_type(errno_num, err_msg, err_filename)\n"
        "FileNotFoundError: [Errno 2] No such file or directory: 'gdalwarp'\n"
    )
    ended = an_exception(
        "FileNotFoundError",
        "[Errno 2] No such file or directory: 'gdalwarp'",
        traceback=raised,
    )
    run = a_run(WORKER, a_task("mask-2"), cloudy, line, failed_with(ended, at=20))
    found = the_verdict(run)
    assert not found.title.startswith("ValueError")
