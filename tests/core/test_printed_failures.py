"""What threads and programs of the driver printed of their own ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from dask_blackbox.analyse.driver_output import printed_failures
from dask_blackbox.analyse.frames import raised_in_a_wait_for_dask
from runs_from_rows import (
    Piece,
    a_failed_task,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    the_verdict_on,
)

SITE = "/venv/lib/python3.12/site-packages"
OF_THREAD = (
    "Exception in thread print-queue:",
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3.12/threading.py", line 1075, in _bootstrap_inner',
    "    self.run()",
    '  File "/jobs/labels.py", line 19, in run',
    '    line = f"{weight:.1f}"',
    "TypeError: unsupported format string passed to NoneType.__format__",
)
OF_PRELOAD = (
    "2026-11-23 22:54:37,001 - distributed.preloading - INFO - Import preload module: units.py",
    "Traceback (most recent call last):",
    f'  File "{SITE}/dask/__main__.py", line 7, in main',
    "    run_cli()",
    f'  File "{SITE}/distributed/cli/dask_worker.py", line 451, in main',
    "    asyncio_run(run())",
    '  File "/jobs/units.py", line 5, in <module>',
    '    TABLE = os.environ["UNITS"]',
    "KeyError: 'UNITS'",
)
OF_OPTION = (
    "Usage: python -m dask scheduler [OPTIONS] [PRELOAD_ARGV]...",
    "Try 'python -m dask scheduler --help' for help.",
    "",
    "Error: No such option '--idle-limit'. Did you mean --idle-timeout?",
)


def printed(lines: Sequence[str], *, at: float = 5.0) -> list[Piece]:
    """Return what the driver's standard error shows."""
    return [
        a_log_line(
            line,
            at=at,
            role="driver",
            source="driver",
            seq=n,
            logger="stderr",
            level=20,
        )
        for n, line in enumerate(lines)
    ]


def test_a_traceback_that_dask_logged_is_not_a_programs_end() -> None:
    logged = [OF_PRELOAD[0].replace("INFO", "ERROR"), *OF_PRELOAD[1:]]

    assert printed_failures(a_run(printed(logged))) == ()


LINK = "The above exception was the direct cause of the following exception:"
OF_WORKER = (
    "Traceback (most recent call last):",
    f'  File "{SITE}/tornado/netutil.py", line 181, in bind_sockets',
    "    sock.bind(sockaddr)",
    "OSError: [Errno 98] Address already in use",
    "",
    LINK,
    "",
    "Traceback (most recent call last):",
    f'  File "{SITE}/distributed/cli/dask_worker.py", line 542, in <module>',
    "    main()",
    "RuntimeError: Worker failed to start.",
)


def test_a_chain_of_exceptions_ends_with_its_last_and_keeps_its_first() -> None:
    *_, found = printed_failures(a_run(printed(OF_WORKER)))

    assert (found.text, found.root) == (OF_WORKER[-1], OF_WORKER[3])
    assert LINK in found.traceback
    logged = ["2026-11-23 22:54:37,001 - distributed.worker - ERROR - Failed"]
    assert printed_failures(a_run(printed([*logged, *OF_WORKER]))) == ()


def test_markers_in_the_first_column_do_not_end_a_traceback() -> None:
    lines = [*OF_WORKER[:3], "^^^^^^^^^^^", *OF_WORKER[3:]]
    [found] = printed_failures(a_run(printed(lines)))[1:]

    assert (found.text, found.root) == (OF_WORKER[-1], OF_WORKER[3])


def test_the_end_of_a_dask_command_is_why_the_driver_reports_its_exit_code() -> None:
    message = "the worker ended with code 1"
    found = the_verdict_on(
        printed(OF_WORKER),
        an_event(
            "program-failed", "driver", at=6, program_pid=7, code=1,
            command="python -m distributed.cli.dask_worker tcp://s",
        ),
        failed_with(an_exception("RuntimeError", message), at=7),
    )  # fmt: skip

    assert (found.rule, found.confidence) == ("worker-start-failed", "high")
    assert found.title.endswith(": OSError: [Errno 98] Address already in use")
    assert "another port" in (found.remedy or "")


UNCAUGHT = (
    "Traceback (most recent call last):",
    '  File "/jobs/nightly.py", line 3, in <module>',
    "    import tariffs",
    "ModuleNotFoundError: No module named 'tariffs'",
)


@pytest.mark.parametrize("code", [1, 3])
def test_a_traceback_that_ends_the_output_is_what_ended_the_command(code: int) -> None:
    ended = failed_with(at=6, exit_code=code)

    found = the_verdict_on(printed(UNCAUGHT), ended, recorded=False)
    assert found.title.startswith("ModuleNotFoundError in the driver: No module named")
    assert "/jobs/nightly.py:3" in (found.remedy or "")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((*UNCAUGHT, "going on without tariffs"), id="not the end"),
        pytest.param(OF_THREAD, id="of a thread"),
    ],
)
def test_other_tracebacks_in_the_output_are_not(lines: tuple[str, ...]) -> None:
    found = the_verdict_on(
        printed(lines), failed_with(at=6, exit_code=1), recorded=False
    )

    assert "exited with code 1" in found.title


@pytest.mark.parametrize(
    ("lines", "program", "text"),
    [
        (OF_OPTION, "python -m dask scheduler", OF_OPTION[-1].removeprefix("Error: ")),
        (
            [
                "usage: rates.py [-h] --period PERIOD",
                "rates.py: error: argument --period: invalid period value: '2026-13'",
            ],
            "rates.py",
            "argument --period: invalid period value: '2026-13'",
        ),
    ],
)
def test_options_that_a_program_does_not_accept_are_read(
    lines: Sequence[str], program: str, text: str
) -> None:
    [found] = printed_failures(a_run(printed(lines)))

    assert (found.program, found.exception, found.text) == (program, "", text)


def test_an_error_without_a_usage_before_it_is_no_refused_option() -> None:
    assert printed_failures(a_run(printed(OF_OPTION[2:]))) == ()


# Verdicts


MISSING = an_exception(
    "FileNotFoundError", "[Errno 2] No such file or directory: '/jobs/labels.txt'"
)
NOT_ARRIVED = an_exception(
    "distributed.exceptions.WorkerStartTimeoutError",
    "Only 0/2 workers arrived after 12",
)


def test_a_thread_that_ended_later_is_not_the_cause() -> None:
    found = the_verdict_on(
        a_worker(), a_task(), printed(OF_THREAD, at=25), failed_with(MISSING, at=20)
    )

    assert found.title.startswith("FileNotFoundError in the driver")
    assert "print-queue" not in found.cause


def test_a_preload_that_raised_in_the_runs_own_worker_is_why_none_arrived() -> None:
    found = the_verdict_on(printed(OF_PRELOAD), failed_with(NOT_ARRIVED))

    assert found.rule == "worker-start-failed"
    assert found.title == "A worker failed to start: KeyError: 'UNITS'"
    assert "/jobs/units.py:5" in found.remedy


def test_an_option_that_the_scheduler_does_not_have_is_why_nothing_listens() -> None:
    refused = an_exception(
        "OSError", "Timed out trying to connect to tcp://127.0.0.1:60245 after 8 s"
    )
    found = the_verdict_on(printed(OF_OPTION), failed_with(refused), recorded=False)

    assert found.rule == "worker-start-failed"
    assert found.title.startswith("A scheduler failed to start: No such option")


def test_dasks_own_message_of_a_failed_start_is_no_reason() -> None:
    vague = [
        "Traceback (most recent call last):",
        f'  File "{SITE}/distributed/cli/dask_worker.py", line 451, in main',
        "    asyncio_run(run())",
        "RuntimeError: Nanny failed to start.",
    ]
    found = the_verdict_on(printed(vague), failed_with(NOT_ARRIVED))

    assert found.rule == "workers-never-arrived"


def test_a_task_that_failed_unnoticed_comes_before_one_that_gave_up_waiting() -> None:
    purpose = 'Traceback:\n  File "/jobs/shops.py", line 18, in relabel\n    raise TimeoutError(text)\n'
    text = "shop 0: no price list"
    own = f"{purpose}TimeoutError: {text}"
    found = the_verdict_on(
        a_worker(),
        a_failed_task("publish-1", "ValueError", "could not convert 'n/a'", at=4),
        a_failed_task("relabel-1", "TimeoutError", text, at=12, traceback=own),
        failed_with(an_exception("TimeoutError", text, traceback=own), at=13),
    )

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert found.title.startswith(
        "ValueError in 'publish': could not convert 'n/a'; then"
    )


IN_A_WAIT = f"""Traceback (most recent call last):
  File "/jobs/seats.py", line 30, in main
    print(dict(client.gather(futures)))
  File "{SITE}/distributed/client.py", line 2565, in gather
    return self.sync(
  File "{SITE}/distributed/utils.py", line 428, in sync
    wait(10)
  File "/usr/lib/python3.12/threading.py", line 359, in wait
    gotit = waiter.acquire(True, timeout)
  File "/jobs/seats.py", line 16, in on_alarm
    raise SlotOver("slot of 12 s is over")
SlotOver: slot of 12 s is over
"""


def test_what_the_driver_raised_after_a_call_of_dask_did_not_end_a_wait() -> None:
    own = [
        line
        for line in IN_A_WAIT.splitlines()
        if "distributed" not in line and "sync" not in line and "wait(10)" not in line
    ]

    assert not raised_in_a_wait_for_dask("\n".join(own))
