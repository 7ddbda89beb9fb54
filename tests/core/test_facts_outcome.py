"""What ended the driver's work, when that was decided, and what is teardown after it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.outcome import Outcome, outcome_of
from dask_blackbox.analyse.facts.teardown import teardown_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    START,
    Piece,
    a_departure,
    a_graph,
    a_log_line,
    a_run,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    stopped_by,
    succeeded,
)

SCHEDULER = "tcp://s"
HERE = [
    an_event("driver-attached", "driver", at=0.1, pid=1, boot="b"),
    an_event(
        "scheduler-info", SCHEDULER, at=0.2, pid=10, boot="b", ancestors=[[1, "0"]]
    ),
    an_event(
        "process-ancestors",
        "tcp://w1",
        at=1.1,
        pid=100,
        boot="b",
        ancestors=[[11, "0"], [1, "0"]],
    ),
    a_worker("tcp://w1", pid=100),
]


def raised(identity: str, *, at: float, name: str = "ValueError") -> Piece:
    """Return that a call to Dask raised in the driver."""
    detail = {"call": "Future.result", "exception": name, "message": "no", "pid": 1}
    return an_event("driver-call-failed", "driver", at=at, identity=identity, **detail)


def failed(*identities: str, at: float = 60.0) -> Piece:
    error = msgspec.structs.replace(
        an_exception("ValueError", "no"), chain_ids=identities
    )
    return failed_with(error, at=at)


def signalled(target: int, *, at: float, handling: str | None = None) -> Piece:
    detail: dict[str, Any] = {"target": target, "signal": "SIGTERM"}
    return an_event("driver-signalled", "driver", at=at, handling=handling, **detail)


def outcome(run: RunTables) -> Outcome:
    return outcome_of(run)


def test_it_is_decided_when_the_call_to_dask_raised() -> None:
    found = outcome(a_run(HERE, raised("7", at=20), failed("7", at=60)))

    assert (found.kind, found.source) == ("exception", "dask-call")
    assert found.decided_at == START + 20
    assert found.call == "Future.result"
    assert found.survived == ()
    assert found.is_after(START + 20.1)
    assert not found.is_after(START + 19.9)


def test_an_exception_that_was_handled_is_survived() -> None:
    found = outcome(
        a_run(HERE, raised("5", at=5), raised("7", at=20), failed("7", at=60))
    )

    assert [each.identity for each in found.survived] == ["5"]
    assert found.has_survived("builtins.ValueError", "no")
    assert not found.has_survived("builtins.KeyError", "no")


def test_the_last_call_that_raised_decides_in_a_chain() -> None:
    found = outcome(
        a_run(HERE, raised("5", at=5), raised("7", at=20), failed("9", "7", "5"))
    )

    assert found.decided_at == START + 20
    assert found.survived == ()


def test_a_signal_that_is_sent_while_the_exception_is_handled_shows_that_it_came_before() -> (
    None
):
    hook = an_event("driver-exception", "driver", at=50, exception="ValueError")
    found = outcome(
        a_run(HERE, signalled(10, at=30, handling="7"), hook, failed("7", at=60))
    )

    assert (found.decided_at, found.source) == (START + 30, "handler")


def test_without_anything_better_the_hook_reports_and_then_the_end_of_the_process() -> (
    None
):
    hook = an_event("driver-exception", "driver", at=50, exception="ValueError")

    assert outcome(a_run(hook, failed(at=60))).decided_at == START + 50
    assert outcome(a_run(failed(at=60))).source == "process-end"
    assert outcome(a_run(failed(at=60))).decided_at == START + 60


def test_what_a_child_process_raised_does_not_decide_what_a_signal_ended() -> None:
    hook = an_event("driver-exception", "driver", at=50, exception="ValueError")
    asked = an_event("driver-got-signal", "driver", at=80, signal="SIGTERM")
    found = outcome(a_run(hook, asked, aborted(exit_code=-15, at=90)))

    assert (found.kind, found.decided_at) == ("signal", START + 80)


def test_clocks_of_several_machines_are_given_a_second() -> None:
    elsewhere = an_event("scheduler-info", SCHEDULER, at=0.2, pid=10, boot="other")
    found = outcome(a_run(HERE[0], elsewhere, raised("7", at=20), failed("7")))

    assert not found.is_after(START + 20.9)
    assert found.is_after(START + 21.1)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (succeeded(), "none"),
        (failed(), "exception"),
        (failed_with(an_exception("KeyboardInterrupt", "")), "interrupted"),
        (failed_with(None, exit_code=4), "exit-code"),
        (aborted(exit_code=-2), "interrupted"),
        (aborted(exit_code=-15), "signal"),
        (aborted(), "vanished"),
    ],
)
def test_kinds_of_endings(ending: Piece, kind: str) -> None:
    assert outcome(a_run(HERE, ending)).kind == kind


def test_a_driver_that_is_stopped_in_its_teardown_had_failed_before() -> None:
    ended = (raised("7", at=20), signalled(10, at=20.1, handling="7"))
    found = outcome(a_run(HERE, ended, aborted(exit_code=-15, at=90)))

    assert found.stopped_after
    assert (found.kind, found.decided_at) == ("exception", START + 20)
    assert found.exception is not None
    assert found.exception.exception == "ValueError"


def test_a_driver_that_went_on_after_it_closed_a_cluster_was_stopped_at_its_work() -> (
    None
):
    ended = (raised("7", at=20), signalled(10, at=20.1, handling="7"))
    again = a_graph(3, at=40)
    found = outcome(a_run(HERE, ended, again, aborted(exit_code=-15, at=90)))

    assert not found.stopped_after
    assert (found.kind, found.exception) == ("signal", None)


def closed(*, at: float, handling: str | None = None) -> Piece:
    """Return that the driver began to close its cluster."""
    detail = {"what": "SpecCluster.close", "pid": 1, "handling": handling}
    return an_event("driver-closing", "driver", at=at, **detail)


def close_raised(identity: str, *, at: float) -> Piece:
    """Return that closing the cluster raised."""
    detail = {"call": "SpecCluster.close", "exception": "OSError", "pid": 1}
    return an_event(
        "driver-call-failed", "driver", at=at, identity=identity, message="no", **detail
    )


@pytest.mark.parametrize("again", [False, True], ids=["", "and again at exit"])
@pytest.mark.parametrize(
    ("handling", "exception", "decided"),
    [("7", "ValueError", 20), (None, "OSError", 30)],
)
def test_what_closing_the_cluster_raises_follows_from_what_was_handled_then(
    handling: str | None,
    exception: str,
    decided: float,
    again: bool,  # noqa: FBT001
) -> None:
    error = msgspec.structs.replace(an_exception("OSError", "no"), chain_ids=("9",))
    closing = [closed(at=20.1, handling=handling), close_raised("9", at=30)]
    if again:
        closing += [closed(at=31), close_raised("11", at=41)]
    found = outcome(
        a_run(HERE, raised("7", at=20), *closing, failed_with(error, at=60))
    )

    assert found.exception is not None
    assert found.exception.exception == exception
    assert (found.kind, found.decided_at) == ("exception", START + decided)
    assert not found.stopped_after


def test_what_the_script_ends_after_its_failure_is_teardown() -> None:
    run = a_run(
        HERE,
        raised("7", at=20),
        signalled(10, at=20.1, handling="7"),
        signalled(11, at=20.1, handling="7"),
        a_departure("tcp://w1", at=20.3, closing="signal-15", processing=["a-1"]),
        failed("7", at=60),
    )
    teardown = teardown_of(run, outcome_of(run))

    assert teardown.since == START + 20.1
    assert teardown.includes("tcp://w1", START + 20.3)
    assert teardown.includes(SCHEDULER, START + 20.3)
    action = teardown.action_on("tcp://w1", START + 20.3)
    assert action is not None
    assert action.signal == "SIGTERM"
    assert Case(run).deaths == ()


def test_what_the_script_ends_before_its_failure_is_none() -> None:
    run = a_run(
        HERE,
        signalled(11, at=10),
        a_departure("tcp://w1", at=10.3, closing="signal-15", processing=["a-1"]),
        raised("7", at=20),
        failed("7", at=60),
    )
    teardown = teardown_of(run, outcome_of(run))

    assert not teardown.includes("tcp://w1", START + 10.3)
    assert teardown.action_on("tcp://w1", START + 10.3) is not None
    assert len(Case(run).deaths) == 1


def test_a_cluster_that_is_ended_after_good_work_has_no_deaths() -> None:
    run = a_run(
        HERE,
        signalled(10, at=30),
        signalled(11, at=30),
        a_departure("tcp://w1", at=30.3, closing="signal-15", processing=["a-1"]),
        succeeded(at=60),
    )

    assert teardown_of(run, outcome_of(run)).since == START + 30
    assert Case(run).deaths == ()


@pytest.mark.parametrize(
    ("handling", "at"), [("9", 20), ("7", 60), (None, 60)], ids=["its", "other", "none"]
)
def test_a_host_stopped_the_run_before_a_cluster_was_closed_for_it(
    handling: str | None, at: float
) -> None:
    error = msgspec.structs.replace(
        an_exception("TerminationSignal", ""), chain_ids=("9", "7")
    )

    found = outcome(
        a_run(
            HERE,
            raised("7", at=5),
            closed(at=20, handling=handling),
            stopped_by("prefect", "evicted", at=60, exception=error),
        )
    )

    assert (found.kind, found.source) == ("host-stopped", "host")
    assert found.decided_at == START + at


def test_what_a_driver_was_handling_as_it_exited_keeps_its_place() -> None:
    call = an_event(
        "driver-call-failed", "driver", at=5.0, identity="7", pid=1, call="Future.result",
        exception="ValueError", message="no", file="/jobs/etl.py", line=9, function="load",
    )  # fmt: skip
    closing = an_event("driver-closing", "driver", at=5.1, pid=1, exiting=["7"])

    found = outcome_of(a_run(*HERE, call, closing, failed_with(None, exit_code=3)))

    assert found.exception is not None
    place = (found.exception.file, found.exception.line, found.exception.function)
    assert place == ("/jobs/etl.py", 9, "load")


CLEANS_UP = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 60, in trial_rate\n    a / b\n'
    "ZeroDivisionError: division by zero\n\n"
    "During handling of the above exception, another exception occurred:\n\n"
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 69, in staging\n    os.rmdir(folder)\n'
    "OSError: Directory not empty\n"
)


@pytest.mark.parametrize(
    ("cleanup", "ended_with"), [(True, "ZeroDivisionError"), (False, "OSError")]
)
def test_what_a_finally_raised_did_not_end_the_work(
    ended_with: str, *, cleanup: bool
) -> None:
    error = msgspec.structs.replace(
        an_exception(
            "OSError",
            "Directory not empty",
            chain=["ZeroDivisionError"],
            traceback=CLEANS_UP,
        ),
        cleanup=cleanup,
    )
    found = outcome(a_run(HERE, failed_with(error)))

    assert found.exception is not None
    assert found.exception.exception == ended_with
    assert (found.then is not None) == cleanup
    if cleanup:
        assert (found.exception.line, found.exception.message) == (
            60,
            "division by zero",
        )


def a_printed_traceback(name: str, message: str, *, at: float) -> list[Piece]:
    lines = (
        "Traceback (most recent call last):",
        '  File "/jobs/nightly.py", line 80, in payments',
        "    client.gather(paid)",
        f"{name}: {message}",
    )
    return [
        a_log_line(
            line, at=at + n / 1000, seq=n, role="driver", source="driver", pid=1,
            logger="stderr", level=20,
        )
        for n, line in enumerate(lines)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("printed_at", "more", "is_it"),
    [
        (20.1, [], True),
        (20.1, [a_graph(at=21)], False),
        (25.0, [], False),
    ],
    ids=["as it exited", "it continued", "much later"],
)
def test_what_the_driver_prints_of_a_call_as_it_exits_ended_its_work(
    printed_at: float, more: list[Piece], *, is_it: bool
) -> None:
    found = outcome(
        a_run(
            HERE, raised("7", at=20), *a_printed_traceback("ValueError", "no", at=printed_at),
            a_log_line(
                "stopped in 'payments'", at=25.1, seq=9, role="driver", source="driver",
                pid=1, logger="stderr", level=20,
            ),
            *more, failed_with(None, exit_code=1, at=26),
        )
    )  # fmt: skip

    assert (found.exception is not None) == is_it
    assert (found.kind == "exception") == is_it


def test_what_is_printed_last_before_an_exit_code_of_its_own_ended_the_work() -> None:
    found = outcome(
        a_run(
            HERE,
            *a_printed_traceback("TypeError", "Can only repartition", at=20.0),
            an_event("driver-exit", "driver", at=20.1, pid=1, code=3),
            failed_with(None, exit_code=3, at=20.2),
        )
    )

    assert found.exception is not None
    assert found.exception.exception == "TypeError"


def received(error: str, *, at: float, name: str, key: str | None = None) -> Piece:
    """Return that a call to Dask raised an error with an id; identities are used again."""
    return an_event(
        "driver-call-failed", "driver", at=at, pid=1, call="Future.result",
        exception=name, message="no", identity="7", id=error, key=key,
    )  # fmt: skip


@pytest.mark.parametrize(
    "end",
    [
        an_event("driver-exit", "driver", at=30, pid=1, code=2, related_errors=["1.2"]),
        an_event(
            "possible-exit", "driver", at=30, pid=1, code=2, related_errors=["1.2"]
        ),
    ],
    ids=["sys.exit", "raise SystemExit"],
)
def test_an_error_whose_handler_led_to_the_exit_ended_the_work(end: Piece) -> None:
    found = outcome(
        a_run(
            HERE,
            received("1.1", at=10, name="KeyError"),
            received("1.2", at=20, name="OSError"),
            end,
            an_event(
                "possible-exit", "driver", at=30, pid=1, code=3, related_errors=["1.1"]
            ),
            failed_with(None, exit_code=2, at=31),
        )
    )

    assert found.reason is not None
    assert found.exception is not None
    assert found.exception.exception == "OSError"
    assert [each.exception for each in found.survived] == ["KeyError"]
    # It was handled: the work went on until the exit.
    assert found.decided_at is not None
    assert found.decided_at >= START + 30


@pytest.mark.parametrize("related", ["1.1", "1.2"])
def test_an_error_that_the_driver_had_logged_ended_the_work_if_its_code_shows_that(
    related: str,
) -> None:
    logged = an_event(
        "driver-error-logged", "driver", at=20, pid=1, exception="ZeroDivisionError",
        message="division by zero", identity="8", id="1.1", file="/jobs/nightly.py", line=60,
    )  # fmt: skip
    exit_call = an_event(
        "driver-exit", "driver", at=30, pid=1, code=3, related_errors=[related]
    )
    found = outcome(
        a_run(HERE, logged, exit_call, failed_with(None, exit_code=3, at=31))
    )

    led = related == "1.1"
    assert found.kind == ("exception" if led else "exit-code")
    assert (found.reason is not None) == led
    assert (found.exception is not None) == led
    if found.exception is not None:
        assert (found.exception.exception, found.exception.line) == (
            "ZeroDivisionError",
            60,
        )


def test_of_several_errors_that_led_to_the_end_the_most_frequent_kind_stands_for_it() -> (
    None
):
    errors = [("1.1", "CancelledError"), ("1.2", "OSError"), ("1.3", "CancelledError")]
    errors += [("1.4", "KeyError"), ("1.5", "KeyError"), ("1.6", "CancelledError")]
    found = outcome(
        a_run(
            HERE,
            *(received(e, at=10 + n, name=name) for n, (e, name) in enumerate(errors)),
            an_event(
                "driver-exit", "driver", at=30, pid=1, code=2,
                related_errors=[each for each, _ in errors],
            ),
            failed_with(None, exit_code=2, at=31),
        )
    )  # fmt: skip

    assert found.reason is not None
    assert found.reason.id == "1.4"


@pytest.mark.parametrize(
    ("code", "is_it"),
    [("raise ReportError(f'{n} failed')", True), ("return totals['north']", False)],
)
def test_an_exception_that_is_raised_on_purpose_stands_for_what_was_handled(
    code: str, *, is_it: bool
) -> None:
    raised_last = msgspec.structs.replace(
        an_exception("ReportError", "incomplete"),
        traceback=f'  File "/jobs/nightly.py", line 80, in main\n    {code}\n',
        related_errors=("1.1",),
    )
    found = outcome(
        a_run(
            HERE,
            received("1.1", at=10, name="OSError"),
            failed_with(raised_last, at=31),
        )
    )

    assert (found.reason is not None) == is_it
    assert (found.then is not None) == is_it
    assert found.exception is not None
    assert found.exception.exception == ("OSError" if is_it else "ReportError")


def test_a_result_that_was_not_set_promotes_no_error() -> None:
    found = outcome(
        a_run(
            HERE,
            received("1.1", at=10, name="LookupError"),
            an_event(
                "driver-exit", "driver", at=30, pid=1, code=4, missed_results=["1.1"]
            ),
            failed_with(None, exit_code=4, at=31),
        )
    )

    assert found.reason is None
    assert found.exception is None
    assert [each.id for each in found.missed] == ["1.1"]


def to_itself(number: str, received: str | None, *, at: float = 30.0) -> Piece:
    """Return that the driver's own code sent a signal to its process."""
    return an_event(
        "driver-signalled", "driver", at=at, pid=1, target=1, signal=number,
        received=received,
    )  # fmt: skip


ASKED_BY_A_CALLBACK = an_event(
    "driver-call-failed", "driver", at=29, pid=1, call="Future.status",
    exception="builtins.ValueError", message="no rows", key="read-7", id="1.4",
)  # fmt: skip
INTERRUPTED = failed_with(an_exception("KeyboardInterrupt", ""), at=31)


@pytest.mark.parametrize(
    ("number", "end"),
    [
        ("SIGTERM", aborted(exit_code=-15, at=31)),
        ("SIGKILL", aborted(exit_code=-9, at=31)),
        ("SIGINT", INTERRUPTED),
    ],
)
def test_a_driver_that_signals_itself_for_an_error_ended_of_that_error(
    number: str, end: Piece
) -> None:
    found = outcome(a_run(HERE, ASKED_BY_A_CALLBACK, to_itself(number, "1.4"), end))

    assert found.exception is not None
    assert (found.kind, found.exception.message) == ("exception", "no rows")
    assert not found.stopped_after


@pytest.mark.parametrize(
    "pieces",
    [
        [to_itself("SIGTERM", None)],
        [to_itself("SIGTERM", "1.4"), a_graph(at=40)],
        [to_itself("SIGUSR1", "1.4")],
        [to_itself("SIGTERM", "1.4"), to_itself("SIGTERM", None, at=40)],
    ],
    ids=["another function", "went on", "another signal", "another reason"],
)
def test_a_signal_that_was_not_sent_for_an_error_hides_none(
    pieces: list[Piece],
) -> None:
    end = aborted(exit_code=-15, at=60)

    assert outcome(a_run(HERE, ASKED_BY_A_CALLBACK, *pieces, end)).kind == "signal"
