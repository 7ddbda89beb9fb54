"""What was raised, where the driver got something else in its place."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import traceback
from collections.abc import Callable

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.frames import untangled
from dask_blackbox.capture.driver.driver import describe_exception
from dask_blackbox.capture.exceptions import message_of
from dask_blackbox.error_flow import raised_in_cleanup
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import DriverException
from distributed.utils import truncate_exception
from runs_from_rows import (
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    the_verdict,
)

IN_A_TASK = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 53, in divide\n    assert number\n'
)
IN_SYNC = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 80, in main\n    future.result()\n'
    '  File "/v/site-packages/distributed/client.py", line 431, in result\n'
    '  File "/v/site-packages/distributed/utils.py", line 457, in sync\n'
    "    return result\n"
    "UnboundLocalError: cannot access local variable 'result'\n"
)
UNBOUND = an_exception(
    "UnboundLocalError", "cannot access local variable 'result'", traceback=IN_SYNC
)


class PickyError(Exception):
    """It wants more than a text."""

    def __init__(self, row: int, text: str, column: str) -> None:
        super().__init__(column)


@pytest.mark.parametrize("kind", [ValueError, PickyError])
def test_the_beginning_of_a_long_message_that_dask_cut_is_reported(
    kind: type[Exception],
) -> None:
    more = (3, "x") if kind is PickyError else ()
    error = kind(*more, "column 'price'\nis \"empty\" " * 900)
    arrived = truncate_exception(error, 1000)
    name = "builtins" if type(arrived) is Exception else "job"
    raised = untangled(f"{name}.{type(arrived).__name__}", str(arrived))

    assert (raised.name, raised.how) == (kind.__name__, "cut")
    assert "column 'price'\nis \"empty\" column" in raised.message.replace("\\n", "\n")
    assert "Long error message" not in raised.message


def test_a_message_that_dask_cut_names_its_class_in_the_title() -> None:
    shown = "('Long error message', <class 'job.SchemaErrors'>, '2 rows\\nare wrong')"
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("check-1", "Exception", shown),
        failed_with(an_exception("Exception", shown)),
    )
    found = the_verdict(run)

    assert found.title == "SchemaErrors in 'check': 2 rows are wrong"
    assert "the driver could not catch SchemaErrors" in found.cause
    assert found.evidence[-1].text.startswith(
        "The driver raised Exception instead of S"
    )


def test_who_raises_without_a_word_is_reported_by_its_line() -> None:
    error = an_exception("AssertionError", "", traceback=IN_A_TASK)
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("overlap-1", "AssertionError", "", traceback=IN_A_TASK),
        failed_with(error),
    )

    assert (
        the_verdict(run).title
        == "AssertionError in 'divide': `assert number` in divide"
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "return Queue(name).get(timeout=2)",
            "`return Queue(name).get(timeout=2)` exceeded its timeout",
        ),
        ("raise TimeoutError", "`raise TimeoutError` in take"),
    ],
)
def test_a_timeout_without_a_message_is_called_one(line: str, shown: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "/jobs/nightly.py", line 7, in take\n    {line}\n'
        "TimeoutError\n"
    )
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("take-1", "TimeoutError", "", traceback=text),
        failed_with(an_exception("TimeoutError", "", traceback=text)),
    )

    assert the_verdict(run).title == f"TimeoutError in 'take': {shown}"


CUT_OFF = "Compressed file ended before the end-of-stream marker was reached"


@pytest.mark.parametrize(
    ("files", "keys", "message", "shown"),
    [
        ({"reads": ["/in/log-6.gz"]}, 1, CUT_OFF, f"{CUT_OFF} (reading log-6.gz)"),
        ({"inputs": ["/in/log-6.gz"]}, 1, CUT_OFF, f"{CUT_OFF} (data from log-6.gz)"),
        ({"reads": ["/in/a.gz", "/in/b.gz"]}, 1, CUT_OFF, CUT_OFF),
        ({"reads": ["/in/log-6.gz"]}, 1, "log-6.gz is cut off", "log-6.gz is cut off"),
        # Of several, the file of one says nothing of the others.
        (
            {"reads": ["/in/log-6.gz"]},
            2,
            "bad",
            "bad (2 of 2 tasks failed in the same way)",
        ),
    ],
)
def test_the_title_names_the_file_that_the_task_read(
    files: dict[str, list[str]], keys: int, message: str, shown: str
) -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("task-files", "count-0", at=8.0, **files),
        *(a_failed_task(f"count-{n}", "EOFError", message) for n in range(keys)),
        failed_with(an_exception("EOFError", message)),
    )

    assert the_verdict(run).title == f"EOFError in 'count': {shown}"


def test_a_long_message_is_cut_before_the_file() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("task-files", "count-0", at=8.0, reads=["/in/access-6.log.gz"]),
        a_failed_task("count-0", "EOFError", "far too long " * 20),
        failed_with(an_exception("EOFError", "far too long " * 20)),
    )
    title = the_verdict(run).title

    assert title.endswith("… (reading access-6.log.gz)")
    assert len(title) <= 120


def test_a_group_in_the_driver_leads_to_the_task_that_raised_one_of_it() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_raises())

    try:
        asyncio.run(main())
    except BaseExceptionGroup as error:
        text = "".join(traceback.format_exception(error))
    group = "unhandled errors in a TaskGroup (1 sub-exception)"
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("draw-3", "ValueError", "tile sea-3 has no land"),
        failed_with(an_exception("ExceptionGroup", group, traceback=text)),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-exception", "high")
    assert found.title == "ValueError in 'draw': tile sea-3 has no land"


async def _raises() -> None:
    raise ValueError("tile sea-3 has no land")


def test_what_is_no_exception_is_lost_by_the_client_and_found_in_its_task() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("draw-2", "ValueError", "caught", at=5),
        a_failed_task("poll-4", "asyncio.exceptions.CancelledError", "", at=8),
        failed_with(UNBOUND),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-exception", "high")
    assert found.subject.key == "poll-4"
    assert "CancelledError is not a subclass of `Exception`" in found.cause


def test_a_class_of_the_users_that_the_client_lost_is_only_presumed() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("poll-4", "job.Stop", "enough", at=8),
        failed_with(UNBOUND),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-exception", "medium")


def test_an_exception_whose_text_raises_is_named_itself() -> None:
    trace = (
        'Traceback:\n  File "/jobs/nightly.py", line 20, in validate\n    raise Bad(s)\n'
        "Bad: <exception str() failed>\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback:\n  File "/v/site-packages/distributed/core.py", line 16, in error_message\n'
        '  File "/jobs/nightly.py", line 12, in __str__\n    return "%d" % self.station\n'
        "TypeError: %d format: a real number is required, not str"
    )
    shown = ("TypeError", "%d format: a real number is required, not str")
    found = the_verdict(
        a_run(
            a_worker(),
            a_graph(),
            a_failed_task("validate-1", *shown, traceback=trace),
            failed_with(an_exception(*shown, key="validate-1")),
        )
    )

    assert found.title == f"Bad in 'validate': its text raises TypeError: {shown[1]}"
    assert "/jobs/nightly.py:20" in found.remedy


def test_who_waits_for_what_the_client_lost_waits_until_it_is_stopped() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("solve-7", "job.GaveUp", "700", at=8, bases="BaseException"),
        aborted(at=60.0, exit_code=-15),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert "the driver waited for the task until it was stopped" in found.cause


@pytest.mark.parametrize(
    ("name", "bases"),
    [("job.Bad", "Exception, BaseException"), ("Exception", "BaseException")],
)
def test_a_task_that_failed_before_the_driver_was_stopped_is_not_the_reason(
    name: str, bases: str
) -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("solve-7", name, "7", at=8, bases=bases),
        aborted(at=60.0, exit_code=-15),
    )

    assert the_verdict(run).rule == "driver-killed"


def test_what_ends_a_thread_of_the_driver_was_handled_by_nobody() -> None:
    def ended(printed: str) -> Finding:
        call = an_event(
            "driver-call-failed", "driver", at=8.1, call="Client.gather",
            exception="KeyError", message="'JPY'", key="convert-1", identity="7f0", main=False,
        )  # fmt: skip
        return the_verdict(
            a_run(
                a_worker(),
                a_graph(),
                a_failed_task("convert-1", "KeyError", "'JPY'", at=8),
                call,
                a_log_line(printed, source="driver", role="driver", at=8.2),
                failed_with(exit_code=1),
            )
        )

    assert ended("Exception in thread Thread-3 (collect):").rule == "task-exception"
    assert ended("3 rates are missing").rule == "driver-exception"


def test_the_drivers_own_unbound_variable_is_its_own() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("poll-4", "asyncio.exceptions.CancelledError", "", at=8),
        failed_with(
            an_exception(
                "UnboundLocalError",
                "cannot access local variable 'result'",
                traceback='  File "/jobs/nightly.py", line 80, in sync\n    result\n',
            )
        ),
    )

    assert the_verdict(run).rule == "driver-exception"


@pytest.mark.parametrize(
    ("name", "message", "size"),
    [
        ("pyarrow.lib.ArrowMemoryError", "malloc of size 1099511627776 failed", "TiB"),
        ("torch.OutOfMemoryError", "Tried to allocate 20.00 GiB. GPU 0", "20.00 GiB"),
        ("numpy._ArrayMemoryError", "Unable to allocate 1.5 TiB for an", "1.5 TiB"),
    ],
)
def test_what_could_not_be_allocated_is_reported_as_libraries_say_it(
    name: str, message: str, size: str
) -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("load-1", name, message),
        failed_with(an_exception(name, message)),
    )
    found = the_verdict(run)

    assert found.rule == "task-memory-error"
    assert size in found.title
    assert "pieces" in found.remedy


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ('rates["2026-11-20"]', "driver-exception"),
        ("raise errors[0]", "task-exception"),
    ],
)
def test_an_error_of_the_drivers_that_a_task_had_too_is_the_drivers(
    code: str, rule: str
) -> None:
    text = f'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n    {code}\n'
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("rate-1", "KeyError", "'2026-11-20'", traceback=IN_A_TASK),
        failed_with(an_exception("KeyError", "'2026-11-20'", traceback=text)),
    )

    assert the_verdict(run).rule == rule


def test_what_a_callback_raised_is_reported_beside_what_came_of_it() -> None:
    shown = (
        "Error in callback <function put at 0x7f> of <Future: finished>:\n"
        "Traceback (most recent call last):\n"
        "ValueError: shop-7: a negative number of customers"
    )
    noise = "Connection closed before a request was finished"
    run = a_run(
        a_worker(),
        a_graph(),
        a_log_line(shown, role="driver"),
        a_log_line(noise, role="driver", at=6.0, seq=2),
        failed_with(an_exception("KeyError", "'shop-7'")),
    )
    found = the_verdict(run)

    assert found.rule == "driver-exception"
    assert found.evidence[-1].text.endswith(
        "… ValueError: shop-7: a negative number of customers"
    )


def test_a_log_line_with_the_error_that_ended_the_driver_is_nothing_before_it() -> None:
    # As hosts log what a task, or a part, of a run raised, while it goes up to the driver.
    logged = (
        "Encountered exception during execution: KeyError('shop-7')\n"
        "Traceback (most recent call last):\n"
        "KeyError: 'shop-7'"
    )
    run = a_run(
        a_worker(),
        a_graph(),
        a_log_line(logged, role="driver"),
        failed_with(an_exception("KeyError", "'shop-7'")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("driver-exception", "high")
    assert "logged" not in found.cause
    assert not any("had logged" in each.text for each in found.evidence)


@pytest.mark.parametrize(
    ("message", "title", "remedy"),
    [
        (
            "Metadata inference failed in `apply`.\n\nYou have supplied a custom",
            "Metadata inference failed in `apply`: TypeError: no such",
            "Pass `meta=` to `apply`",
        ),
        ("IOLoop is closed", "IOLoop is closed", "while the client is open"),
        ("Dataset 'rates' not found", "Dataset 'rates' not", "list_datasets"),
        (
            "You are trying to merge on int64 and string columns for key 'shop'.",
            "merge key 'shop' is int64 on one side, string on the other",
            "`df['shop'].astype('int64')`",
        ),
    ],
)
def test_an_error_that_is_known_by_its_words_includes_what_to_do(
    message: str, title: str, remedy: str
) -> None:
    text = (
        "Traceback (most recent call last):\nTypeError: no such\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n'
        f"ValueError: {message}\n"
    )
    run = a_run(
        a_worker(),
        a_graph(),
        failed_with(an_exception("ValueError", message, traceback=text)),
    )
    found = the_verdict(run)

    assert found.title.startswith(f"ValueError in the driver: {title}")
    assert remedy in found.remedy


def test_what_was_handled_when_the_driver_raised_from_none_is_what_ended_it() -> None:
    try:
        try:
            int("no curve")
        except ValueError:
            raise RuntimeError("no price") from None
    except RuntimeError as error:
        reported = msgspec.convert(describe_exception(error), DriverException)
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("load-1", "OSError", "handled"),
        a_failed_task(
            "price-1",
            "ValueError",
            "invalid literal for int() with base 10: 'no curve'",
        ),
        failed_with(reported),
    )
    found = the_verdict(run)

    assert reported.chain == ("RuntimeError",)
    assert (found.rule, found.confidence) == ("task-exception", "high")
    assert found.subject.key == "price-1"


def test_without_a_line_of_the_users_the_way_and_who_asked_are_reported() -> None:
    steps = ("operation", "partitioning_index", "hash_it", "hash_array", "factorize")
    text = "Traceback (most recent call last):\n" + "".join(
        f'  File "/v/site-packages/dask/{name}.py", line 9, in {name}\n    go()\n'
        for name in steps
    )
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("('shuffle-1', 4)", "TypeError", "unhashable", traceback=text),
        failed_with(an_exception("TypeError", "unhashable")),
    )
    found = the_verdict(run)

    assert (
        "`operation` → `partitioning_index` → `hash_it` → `…` → `factor" in found.cause
    )
    assert "The driver requested it at /jobs/nightly.py:12" in found.cause
    assert "partition 4 (counting from 0)" in found.remedy


def test_a_unicode_error_keeps_its_text_through_pickle() -> None:
    try:
        b"caf\xe9".decode("utf-8")
    except UnicodeDecodeError as error:
        arrived = pickle.loads(pickle.dumps(error))

    assert "can't decode byte 0xe9 in position 3" in message_of(arrived)


def test_a_program_that_failed_keeps_its_stderr_through_pickle() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        subprocess.run(["ls", "/no/such"], check=True, capture_output=True)
    arrived = pickle.loads(pickle.dumps(failed.value))

    _, _, printed = message_of(arrived).partition("\nstderr: ")
    assert printed == failed.value.stderr.decode().strip()


COMMAND = "Command '['gdalwarp', '-t_srs', 'EPSG:0']' returned non-zero exit status 3."


@pytest.mark.parametrize(
    ("message", "printed_at", "says"),
    [
        (f"{COMMAND}\nstderr: warming up\nno EPSG:0", None, "3: no EPSG:0"),
        (COMMAND, 7.5, "3: projection unknown"),
        (COMMAND, 4.0, "3: ['gdalwarp', '-t_srs', 'EPSG:0']"),
    ],
    ids=["captured", "printed just before", "printed earlier"],
)
def test_a_program_that_failed_is_quoted(
    message: str, printed_at: float | None, says: str
) -> None:
    printed = [
        a_log_line("projection unknown", at=at, role="driver", logger="stderr")
        for at in ([printed_at] if printed_at else [])
    ]
    raised = an_exception("subprocess.CalledProcessError", message, key="warp-0")
    found = the_verdict(
        a_run(
            a_worker(),
            a_graph(),
            a_failed_task("warp-0", "subprocess.CalledProcessError", message),
            *printed,
            failed_with(raised),
        )
    )

    assert found.title == (
        f"CalledProcessError in 'warp': gdalwarp returned exit status {says}"
    )


@pytest.mark.parametrize(
    ("raised", "message", "root", "advice"),
    [
        ("job.QuotaExceededError", "page 31: 429, no more today", "", "unknown"),
        ("job.PricingError", "no curve", "", "unknown"),
        ("subprocess.CalledProcessError", "died with SIGKILL", "", "unknown"),
        ("RuntimeError", "no part 0", "PermissionError: 403 on lake", "environment"),
        ("RuntimeError", "no part 0", "ConnectionResetError: gone", "transient"),
        ("RuntimeError", "no part 0", "RuntimeError: inner", "unknown"),
        ("RuntimeError", "no part 0", "TypeError: inner", "code"),
    ],
)
def test_whether_trying_again_helps_follows_what_it_began_with_and_what_it_says(
    raised: str, message: str, root: str, advice: str
) -> None:
    link = (
        "\n\nThe above exception was the direct cause of the following exception:\n\n"
    )
    text = f"{IN_A_TASK}{root}{link if root else ''}{IN_A_TASK}{raised}: {message}\n"
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("publish-1", raised, message, traceback=text),
        failed_with(an_exception(raised, message)),
    )

    assert the_verdict(run).retry_advice == advice


def test_what_the_jobs_own_code_checks_may_be_otherwise_the_next_time() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n'
        '    raise ValueError("only 3 rows: upstream is late")\n'
    )
    error = an_exception("ValueError", "only 3 rows: upstream is late", traceback=text)
    found = the_verdict(a_run(a_worker(), a_graph(), failed_with(error)))

    assert (found.rule, found.retry_advice) == ("driver-exception", "unknown")
    assert "depends on its input" in found.remedy

    # A mistake is one, also if it is raised by hand.
    mistake = text.replace("ValueError", "TypeError")
    error = an_exception(
        "TypeError", "only 3 rows: upstream is late", traceback=mistake
    )
    found = the_verdict(a_run(a_worker(), a_graph(), failed_with(error)))

    assert found.retry_advice == "code"
    assert "depends" not in found.remedy


@pytest.mark.parametrize(
    ("message", "at", "rule"),
    [
        ("the upload failed: 403", 8.0, "driver-exception"),
        ("the upload failed: 403", 19.0, "task-exception"),
        ("2 tiles failed", 8.0, "task-exception"),
        ("some of 'draw' failed", 8.0, "task-exception"),
    ],
)
def test_other_things_fail_than_tasks(message: str, at: float, rule: str) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/jobs/a.py", line 9, in main\n'
        "    raise RuntimeError(message)\n"
    )
    error = an_exception("RuntimeError", message, traceback=text)
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("draw-1", "TileError", "sea", at=at - 1),
        a_failed_task("draw-2", "TileError", "sea", at=at),
        failed_with(error, at=20),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == (rule, "medium")


@pytest.mark.parametrize("key", [None, "totals-1"])
def test_a_task_that_asked_others_is_not_the_one_that_raised(key: str | None) -> None:
    leaf = '  File "/jobs/a.py", line 3, in leaf\n    1 / price\n'
    asked = (
        '  File "/jobs/a.py", line 9, in totals\n    client.gather(leaves)\n'
        '  File "/v/site-packages/distributed/client.py", line 25, in gather\n'
    )
    shown = ("ZeroDivisionError", "float division by zero")
    head = "Traceback (most recent call last):\n"
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("totals-1", *shown, at=8.0, traceback=head + asked + leaf),
        a_failed_task("leaf-1", *shown, at=8.2, traceback=head + leaf),
        failed_with(an_exception(*shown, key=key)),
    )

    findings = findings_in(run)
    assert [each.subject.key for each in findings] == ["leaf-1"]


def test_a_command_that_the_shell_did_not_find_is_what_to_install() -> None:
    call = "Command 'labelpress --dpi 300' returned non-zero exit status 127."
    text = (
        f'Traceback (most recent call last):\n  File "/jobs/n.py", line 9, in press\n'
        f"    run()\nsubprocess.CalledProcessError: {call}\n\nThe above exception was the "
        "direct cause of the following exception:\n\nTraceback (most recent call last):\n"
        '  File "/jobs/n.py", line 11, in press\n    raise SheetFailed() from error\n'
        "jobs.SheetFailed: no sheet"
    )
    error = an_exception("jobs.SheetFailed", "no sheet", key="press-1")
    failed = a_failed_task("press-1", "jobs.SheetFailed", "no sheet", traceback=text)
    found = the_verdict(a_run(a_worker(), a_graph(), failed, failed_with(error)))

    assert found.rule == "task-exception"
    assert "The shell did not find 'labelpress' (exit status 127)" in found.remedy


def test_the_column_is_named_where_only_the_first_of_two_equal_errors_has_it() -> None:
    message = "Expected bytes, got a 'int' object"
    text = (
        'Traceback (most recent call last):\n  File "/v/pandas_compat.py", line 1, in f\n'
        f'pyarrow.lib.ArrowTypeError: ("{message}", \'Conversion failed for column ref '
        "with type object')\n\nDuring handling of the above exception, another exception "
        'occurred:\n\nTraceback (most recent call last):\n  File "/v/arrow.py", line 2, in g\n'
        f"pyarrow.lib.ArrowTypeError: {message}"
    )
    name = "pyarrow.lib.ArrowTypeError"
    failed = a_failed_task("write-1", name, message, traceback=text)
    error = an_exception(name, message, key="write-1")
    found = the_verdict(a_run(a_worker(), a_graph(), failed, failed_with(error)))

    assert "column 'ref' holds int values" in found.title
    assert "df.astype({'ref': 'string'})" in found.remedy


def test_an_exception_without_a_message_has_its_line_in_the_title() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/jobs/n.py", line 52, in main\n'
        "    order = np.argsort(points)\nMemoryError"
    )
    found = the_verdict(
        a_run(failed_with(an_exception("MemoryError", "", traceback=text)))
    )

    assert found.title == (
        "MemoryError in the driver: `order = np.argsort(points)` at n.py:52"
    )


def fail(message: str) -> None:
    raise OSError(message)


def clean_up_in_a_finally() -> None:
    try:
        int("no curve")
    finally:
        fail("Directory not empty")


def fall_back_in_an_except() -> None:
    try:
        int("no curve")
    except ValueError:
        fail("no file of yesterday")


class Report:
    """What is published at the end of a `with`, or says on purpose that it is not."""

    def __init__(self, *, on_purpose: bool) -> None:
        self.on_purpose = on_purpose

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> None:
        if self.on_purpose:
            raise OSError("no report of yesterday")
        fail("no report in Directory")


def publish_at_the_end_of_a_with() -> None:
    with Report(on_purpose=False):
        int("no curve")


def raise_at_the_end_of_a_with() -> None:
    with Report(on_purpose=True):
        int("no curve")


@pytest.mark.parametrize(
    ("job", "cleanup"),
    [
        (clean_up_in_a_finally, True),
        (publish_at_the_end_of_a_with, True),
        (fall_back_in_an_except, False),
        (raise_at_the_end_of_a_with, False),
    ],
)
def test_whether_clean_up_raised_is_recorded(
    job: Callable[[], None], *, cleanup: bool
) -> None:
    with pytest.raises(OSError, match=r"Directory|yesterday") as raised:
        job()

    assert raised_in_cleanup(raised.value) == cleanup
