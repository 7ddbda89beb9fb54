"""Tasks that fail on one worker only, while others do the same well."""

from __future__ import annotations

import pytest
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_death,
    a_failed_task,
    a_graph,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    the_verdict,
)

WELL = [a_task(f"predict-{n}", worker="tcp://w2", start=3.0 + n) for n in range(3)]


def failed_on(worker: str, key: str = "predict-8") -> Piece:
    return a_failed_task(key, "ValueError", "no model was loaded", worker=worker)


def verdict(*pieces: Piece | list[Piece]) -> Finding:
    error = an_exception("ValueError", "no model was loaded")
    run = a_run(a_graph(), a_worker("tcp://w2"), *pieces, failed_with(error))
    return the_verdict(run)


def test_one_bad_input_is_no_bad_worker() -> None:
    found = verdict(a_worker("tcp://w1"), *WELL, failed_on("tcp://w1"))

    assert "on that worker" not in found.cause
    assert found.retry_advice == "code"


def test_a_worker_that_did_some_well_is_like_the_others() -> None:
    found = verdict(
        a_worker("tcp://w1", at=6.0),
        *WELL,
        a_task("predict-7", worker="tcp://w1", start=7.0),
        failed_on("tcp://w1"),
    )

    assert "on that worker" not in found.cause


def test_tasks_that_fail_on_two_workers_fail_by_themselves() -> None:
    found = verdict(
        a_worker("tcp://w1", at=6.0),
        a_worker("tcp://w3", at=6.0),
        *WELL,
        failed_on("tcp://w1"),
        failed_on("tcp://w3", "predict-9"),
    )

    assert "on that worker" not in found.cause


def test_a_late_worker_without_a_module_is_not_all_workers() -> None:
    missing = an_exception("ModuleNotFoundError", "No module named 'tariffs'")
    own = an_event("driver-code", modules={"tariffs": "1"})
    late = a_failed_task(
        "predict-8", missing.exception, missing.message, worker="tcp://w1"
    )
    run = a_run(
        a_graph(),
        own,
        a_worker("tcp://w2"),
        a_worker("tcp://w1", at=6.0),
        *WELL,
        late,
        failed_with(missing),
    )
    found = the_verdict(run)
    assert found.rule == "module-not-shipped"
    assert found.title.startswith("One worker cannot import 'tariffs'")
    assert "joined 3.0 s after they had started" in found.cause


def test_what_a_second_attempt_meets_may_be_what_the_first_one_left() -> None:
    found = verdict(
        a_worker("tcp://w1"),
        a_death("tcp://w1", exit_code=-9, at=5.0, executing=["predict-8"]),
        failed_on("tcp://w2"),
    )

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert found.retry_advice == "unknown"
    assert "may have found partial output of that attempt" in found.cause
    assert "`dask blackbox rules worker-signalled`" in found.remedy


def test_what_earlier_attempts_raised_is_reported_if_it_was_something_else() -> None:
    found = verdict(
        a_failed_task("predict-8", "TimeoutError", "late", outcome="retried", at=6.0),
        failed_on("tcp://w2"),
    )

    assert (
        "It was attempted 2 times; earlier attempts raised TimeoutError" in found.cause
    )


def test_a_pool_of_processes_in_a_task_includes_what_to_do() -> None:
    text = "daemonic processes are not allowed to have children"
    run = a_run(
        a_graph(),
        a_worker("tcp://w2"),
        a_failed_task("all_cores-1", "AssertionError", text, worker="tcp://w2"),
        failed_with(an_exception("AssertionError", text)),
    )
    found = the_verdict(run)
    assert "distributed.worker.daemon: False" in found.remedy


@pytest.mark.parametrize(
    ("peer", "title"),
    [
        ("2py311.aa", "One worker imports another 'lanes' than the driver and worker "),
        ("2py311.bb", "Workers import another 'lanes' than the driver: "),
    ],
    ids=["as the driver", "as the worker"],
)
def test_a_worker_that_has_the_drivers_module_leaves_one_that_has_not(
    peer: str, title: str
) -> None:
    text = "cannot import name 'spread' from 'lanes'"
    codes = [
        an_event(
            "worker-code", "plan-1", at=5.0, worker=worker, modules={"lanes": digest},
            files={"lanes": f"/{worker[-1]}/lanes.py"},
        )
        for worker, digest in (("tcp://w1", "2py311.bb"), ("tcp://w2", peer))
    ]  # fmt: skip
    run = a_run(
        a_graph(),
        a_worker("tcp://w1"),
        a_worker("tcp://w2"),
        an_event("driver-code", modules={"lanes": "2py311.aa"}),
        *codes,
        a_failed_task("plan-1", "ImportError", text, worker="tcp://w1"),
        failed_with(an_exception("ImportError", text)),
    )
    found = the_verdict(run)
    assert found.title.startswith(title)
