"""What verdicts say, where the same cause has different reasons or remedies."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.explanations import in_one_line
from dask_blackbox.analyse.restrictions import restrictions_in
from dask_blackbox.events.graphs import RestrictedTask
from dask_blackbox.formatting import short_with_paths
from runs_from_rows import (
    a_failed_task,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    raised_in,
    the_verdict,
)

NO_WORKER = (
    "Attempted to run task 'fit-1' but timed out after 4.00 s waiting for a valid worker "
    "matching all restrictions.\n\nRestrictions:\nhost_restrictions={'10.0.0.5'}\n"
    "worker_restrictions=set()\nresource_restrictions={'GPU': 2.0, 'memory': 64000000000.0}\n"
)


def test_restrictions_are_read_from_the_text_of_the_exception() -> None:
    found = the_verdict(
        a_run(
            a_worker(),
            failed_with(
                an_exception("distributed.scheduler.NoValidWorkerError", NO_WORKER)
            ),
        )
    )

    assert found.rule == "no-valid-worker"
    assert found.title.startswith(
        "No worker could run 'fit': it asks for GPU=2 and mem"
    )
    assert "memory=64000000000 and host 10.0.0.5" in found.cause
    assert '--resources "GPU=2 memory=64000000000"' in found.remedy


@pytest.mark.parametrize("text", ["", "resource_restrictions={'GPU': x}", "no such"])
def test_a_text_without_restrictions_that_can_be_read_has_none(text: str) -> None:
    assert restrictions_in(text) == RestrictedTask()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("OSError", "[Errno 28] No space left on device"),
        ("sqlite3.OperationalError", "database or disk is full"),
        ("jobs.ExportError", "day 3: [Errno 122] Disk quota exceeded: '/scratch/3'"),
    ],
)
def test_a_full_disk_is_not_tried_again(name: str, sentence: str) -> None:
    error = an_exception(name, sentence)
    found = the_verdict(a_run(a_worker(), *raised_in("export-1", error)))

    assert (found.rule, found.retry_advice) == ("task-exception", "environment")
    assert "is full" in found.remedy
    assert "retries" not in found.remedy


def test_what_a_first_attempt_left_is_not_the_cause() -> None:
    full = a_failed_task(
        "export-1",
        "OSError",
        "[Errno 28] No space left on device",
        at=7,
        outcome="retried",
    )
    error = an_exception("KeyError", "'index'")
    found = the_verdict(a_run(a_worker(), full, *raised_in("export-1", error)))

    assert (found.rule, found.retry_advice) == ("task-exception", "environment")
    assert "earlier attempts raised OSError ([Errno 28] No space left" in found.cause
    assert "start with OSError (a disk that is full)" in found.remedy


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a/b/c/d.csv is missing", "/a/b/c/d.csv is missing"),
        (f"/srv/{'deep/' * 9}in/orders.csv is missing", "…/in/orders.csv is missing"),
        (f"s3://sales/{'deep/' * 9}orders.csv: 403", "s3://sales/…/orders.csv: 403"),
    ],
)
def test_the_name_of_a_path_that_is_too_long_is_shown(text: str, shown: str) -> None:
    assert short_with_paths(text, 40) == shown


def test_both_sides_of_a_failed_comparison_are_enough() -> None:
    diff = "[1, 2] != [1, 3]\n\nFirst differing element 1:\n2\n3\n\n- [1, 2]\n?     ^\n\n+ [1, 3]\n?     ^\n"
    where = "assert 61.4 == 62.5\n +  where 61.4 = compute()\n +    where compute = x"

    assert in_one_line(diff) == "[1, 2] != [1, 3] First differing element 1: 2 3"
    assert in_one_line(where) == "assert 61.4 == 62.5"
    table = "assert 3 == 4\n +  where 3 = f(   a\n0  1)\n +  and   4 = sum()"
    assert in_one_line(table) == "assert 3 == 4"
    assert in_one_line("lacks:\n- a\n- b") == "lacks: - a - b"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("[12:03:55] src/learner.cc:83: Check failed: nan", "Check failed: nan"),
        ("2026-03-29 02:00:00 Disk is full", "Disk is full"),
        ("2026-03-29 02:00:00 is a nonexistent time", None),
    ],
)
def test_a_moment_is_left_out_where_it_begins_a_line_of_a_log_only(
    message: str, shown: str | None
) -> None:
    assert in_one_line(message) == (shown or message)
