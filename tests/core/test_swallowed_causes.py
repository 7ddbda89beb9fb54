"""Causes that a run had swallowed, and the exceptions that followed from them."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.driver_output import printed_failures
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_departure,
    a_failed_task,
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

NONE = "'NoneType' object is not subscriptable"


def verdict(*pieces: Piece | list[Piece]) -> Finding:
    run = a_run(a_worker(), *pieces)
    return the_verdict(run)


def fetched(number: int, typename: str) -> Piece:
    return a_task(f"fetch-{number}", typename=typename, start=1 + number)


def hedged(number: int, last_input: str) -> Piece:
    return a_task(f"hedge-{number}", outcome="erred", last_input=last_input, start=8)


# A task that returned None


def failed_on_none(*pieces: Piece, message: str = NONE) -> Finding:
    return verdict(*pieces, raised_in("hedge-9", an_exception("TypeError", message)))


def test_the_task_that_returned_none_is_named() -> None:
    found = failed_on_none(
        fetched(1, "dict"), fetched(2, "NoneType"), hedged(9, "fetch-2")
    )

    assert found.title == (
        "'fetch' returned None (1 of 2 tasks), and 'hedge' failed on it: TypeError"
    )
    assert found.subject.key == "hedge-9"
    assert found.retry_advice == "unknown"
    assert "'fetch-2'" in found.cause
    assert found.remedy is not None
    assert "why 'fetch' returns None" in found.remedy


@pytest.mark.parametrize(
    ("typename", "message"), [("dict", NONE), ("NoneType", "unhashable type: 'list'")]
)
def test_without_a_none_nobody_is_reported_to_have_returned_it(
    typename: str, message: str
) -> None:
    found = failed_on_none(fetched(2, typename), hedged(9, "fetch-2"), message=message)

    assert found.title.startswith("TypeError in 'hedge'")


# A task of whose failure nobody heard

SKIPPED = a_failed_task("sessions-5", "EOFError", "Compressed file ended", at=4)
OWN_CODE = """Traceback (most recent call last):
  File "/jobs/clicks.py", line 44, in main
    assert len(days) == 24, "incomplete day"
AssertionError: incomplete day
"""
OF_DASK = OWN_CODE.replace("/jobs/clicks.py", "/site-packages/distributed/client.py")


@pytest.mark.parametrize(
    ("exception", "traceback", "rule"),
    [
        ("AssertionError", OWN_CODE, "task-exception"),
        ("UnicodeDecodeError", OWN_CODE, "driver-exception"),
        ("AssertionError", OF_DASK, "driver-exception"),
    ],
)
def test_a_task_that_failed_unnoticed_comes_before_what_the_driver_then_missed(
    exception: str, traceback: str, rule: str
) -> None:
    error = an_exception(exception, "incomplete day", traceback=traceback)
    found = verdict(SKIPPED, failed_with(error, at=8))

    assert found.rule == rule
    assert found.confidence == "medium"


def test_one_that_the_driver_had_received_long_before_does_not() -> None:
    received = an_event(
        "driver-call-failed", "driver", at=5.0, call="Future.result", key="sessions-5",
        exception="EOFError", message="Compressed file ended", identity="1", pid=1,
    )  # fmt: skip
    error = an_exception("AssertionError", "incomplete day", traceback=OWN_CODE)
    found = verdict(SKIPPED, received, failed_with(error, at=20))

    assert found.rule == "driver-exception"
    assert found.confidence == "medium"


# A callback of a future

CALLBACK = (
    (
        "2026-11-24 02:11:47,263 - distributed.client - ERROR - Error in callback "
        "<function on_tile at 0x7ff094985120> of <Future: finished, type: dict>:"
    ),
    "Traceback (most recent call last):",
    '  File "/site-packages/distributed/client.py", line 513, in execute_callback',
    "    fn(fut)",
    '  File "/jobs/tiles.py", line 23, in on_tile',
    "    index[ZOOM[level]] = path",
    "KeyError: 'z4'",
)


def printed(*lines: str, role: str = "driver", logger: str = "stderr") -> list[Piece]:
    return [
        a_log_line(line, at=5.0, role=role, source=role, seq=n, logger=logger, level=20)
        for n, line in enumerate(lines)
    ]


def test_a_callback_that_raised_is_read_with_its_name() -> None:
    [found] = printed_failures(a_run(printed(*CALLBACK)))

    assert (found.callback, found.text) == ("on_tile", "KeyError: 'z4'")


def test_a_callback_that_raised_is_why_the_driver_waited_in_vain() -> None:
    error = an_exception("TimeoutError", "27 of 36 registered")
    found = verdict(a_task(), printed(*CALLBACK), failed_with(error))

    assert found.title == "KeyError in the callback 'on_tile' of the driver: 'z4'"
    assert found.confidence == "medium"


# What the job printed


@pytest.mark.parametrize(
    ("line", "confidence"),
    [
        ("rate table not loaded: ValueError('n/a')", "medium"),
        ("feeder harbour skipped: 'kwh'", "medium"),
        ("30 files read", "high"),
        ("  raise ValueError('n/a')", "high"),
        ("2026-11-24 02:11:47,263 - distributed.worker - ERROR - Failed", "high"),
    ],
)
def test_what_a_job_printed_of_an_error_before_lowers_the_confidence(
    line: str, confidence: str
) -> None:
    found = verdict(
        printed(line, role="worker", logger="stdout"),
        raised_in("rate-9", an_exception("ZeroDivisionError", "division by zero")),
    )

    assert found.confidence == confidence
    shown = found.evidence[-1].text == f"A worker had printed: {line}"
    assert shown is (confidence == "medium")


# A file that is missing


def missing(file: str, *pieces: Piece | list[Piece]) -> str:
    message = f"[Errno 2] No such file or directory: '{file}'"
    found = verdict(
        *pieces, raised_in("read-9", an_exception("FileNotFoundError", message))
    )
    assert found.remedy is not None
    return found.remedy


def test_a_file_of_a_worker_that_left_is_reported_as_removed_by_dask() -> None:
    came = an_event(
        "worker-added", "tcp://w2", at=1, name="2", host="h", pid=2, nthreads=1,
        local_directory="/tmp/scratch/worker-ab",
    )  # fmt: skip
    remedy = missing(
        "/tmp/scratch/worker-ab/shots.npy", came, a_departure("tcp://w2", at=5)
    )

    assert "local directory of worker tcp://w2, which had left" in remedy


def test_on_the_drivers_own_host_shared_storage_is_not_advised() -> None:
    driver = an_event("driver-attached", "driver", at=0.1, pid=1, boot="b")
    worker = an_event("process-ancestors", "tcp://w1", at=1.1, pid=100, boot="b")

    assert "removed or renamed it" in missing("/data/x.csv", driver, worker)
    assert "workers need shared storage" in missing("/data/x.csv", driver)
    assert "use an absolute one" in missing("data/x.csv", driver, worker)


def a_driver(kind: str) -> Piece:
    """Return a driver with a cluster object; its machine does not say which kernel it runs."""
    cluster = {"kind": kind, "scheduler": "tcp://s", "owned": "s-1"}
    return an_event(
        "driver-attached", "driver", at=0.1, pid=1, cwd="/jobs", cluster=cluster
    )


FILE = "[Errno 2] No such file or directory: '/data/x.csv'"
_FRAMES = (
    "Traceback (most recent call last):\n"
    '  File "/jobs/nightly.py", line 9, in main\n    client.gather(x)\n'
    '  File "/v/lib/python3.11/site-packages/distributed/client.py", line 2, in gather\n'
    '  File "/jobs/nightly.py", line 53, in load\n    return open(path)\n'
    f"FileNotFoundError: {FILE}\n"
)
IN_A_TASK = raised_in("read-9", an_exception("FileNotFoundError", FILE))
IN_A_TASK_OF_WHICH_ONLY_THE_DRIVER_TELLS = failed_with(
    an_exception("FileNotFoundError", FILE, traceback=_FRAMES)
)
IN_THE_DRIVER = failed_with(an_exception("FileNotFoundError", FILE))
IN_A_SHUFFLE = raised_in(
    "shuffle-p2p-9",
    an_exception(
        "distributed.shuffle._exceptions.P2PConsistencyError",
        "P2P shuffling failed",
        traceback=f"{_FRAMES}\nThe above exception was the direct cause of the following "
        "exception:\n\nTraceback (most recent call last):\nRuntimeError: P2P failed\n",
    ),
)


@pytest.mark.parametrize(
    "failed",
    [
        IN_A_TASK,
        [IN_A_TASK_OF_WHICH_ONLY_THE_DRIVER_TELLS],
        [IN_THE_DRIVER],
        IN_A_SHUFFLE,
    ],
    ids=["a task", "a task that is not known", "the driver", "a shuffle"],
)
def test_shared_storage_is_advised_to_no_process_that_has_the_drivers_files(
    failed: list[Piece],
) -> None:
    local = verdict(a_driver("LocalCluster"), *failed)
    remote = verdict(a_driver("SLURMCluster"), *failed)

    assert "need shared storage" not in local.remedy
    in_driver = failed == [IN_THE_DRIVER]
    assert ("need shared storage" in remote.remedy) is not in_driver
    assert ("where the driver runs" in remote.remedy) is in_driver


def test_a_relative_path_of_the_driver_is_not_compared_with_workers() -> None:
    message = "[Errno 2] No such file or directory: 'in/x.csv'"
    ended = failed_with(an_exception("FileNotFoundError", message))

    remedy = verdict(a_driver("LocalCluster"), ended).remedy

    assert "of the driver, which began in /jobs: use an absolute one" in remedy
    assert "a worker" not in remedy
