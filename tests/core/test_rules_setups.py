"""What failed when a worker was set up stands beside what tasks there met."""

from __future__ import annotations

from dask_blackbox.finding import Finding
from runs_from_rows import (
    a_death,
    a_departure,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    the_verdict,
)

MISSED = an_exception("AttributeError", "'Worker' object has no attribute 'solver'")
NO_SEAT = (
    "Worker plugin licence failed to setup\nTraceback (most recent call last):\n"
    '  File "/jobs/plugins.py", line 9, in setup\n    raise PermissionError(message)\n'
    "PermissionError: licence server: 0 of 1 seats left"
)


def verdict(*, at: float, worker: str = "tcp://w1") -> Finding:
    """Return the verdict on a task that failed, with such a line in a worker's log."""
    line = a_log_line(NO_SEAT, at=at, source=worker, logger="distributed.worker")
    run = a_run(a_worker(), line, raised_in("simulate-1", MISSED))
    return the_verdict(run)


def test_a_plugin_that_failed_later_or_elsewhere_has_nothing_to_do_with_it() -> None:
    later, elsewhere = verdict(at=15), verdict(at=5, worker="tcp://w2")

    assert "licence" not in later.cause + elsewhere.cause


def left_because_of(raised: str) -> Finding:
    """Return the verdict on workers that raised while they read what they were sent."""
    line = f"Failed to deserialize\n{raised}"
    broken = "worker-handle-scheduler-connection-broken"
    dead = a_death(exit_code=0, processing=["load-1"], lines=[line], closing=broken)
    late = failed_with(an_exception("TimeoutError", "timed out after 300 s."))
    run = a_run(a_worker(), *dead, late)
    return the_verdict(run)


def test_a_library_of_the_system_that_workers_lack_is_named() -> None:
    no_such = "cannot open shared object file: No such file or directory"
    found = left_because_of(f"OSError: libgdal.so.30: {no_such}")

    assert found.rule == "environment-mismatch"
    assert "because the library 'libgdal.so.30' is missing" in found.title
    assert "LD_LIBRARY_PATH" in found.remedy


def out_of_reach(*, heartbeat: float) -> str:
    """Return the rule on a worker that nobody reaches, and that beat last at a moment."""
    line = a_log_line(
        "broadcast failed: OSError: Timed out trying to connect to tcp://w1 after 30 s",
        role="scheduler",
        source="scheduler",
        at=40,
    )
    late = failed_with(an_exception("TimeoutError", "timed out after 20 s."), at=45)
    run = a_run(a_worker(), a_task("sum-1"), a_sample(at=heartbeat), line, late)
    found = the_verdict(run)
    return found.rule


def test_a_worker_that_lives_and_that_nobody_reaches_is_named() -> None:
    assert out_of_reach(heartbeat=43) == "cannot-connect"


def test_a_worker_that_has_gone_silent_is_not_only_out_of_reach() -> None:
    assert out_of_reach(heartbeat=10) == "driver-exception"


def test_a_worker_that_is_asked_for_by_its_name_and_has_left_is_reported() -> None:
    left = a_departure(at=20, expected=True)
    asks = {"key": "join-1", "hosts": ["1"], "workers": [], "resources": {}}
    stall = an_event(
        "stall", at=80, lasted=60, workers=2, states={"no-worker": 1},
        unrunnable=[asks],
    )  # fmt: skip
    late = failed_with(an_exception("TimeoutError", ""), at=100)
    run = a_run(a_worker(), left, stall, late)
    found = the_verdict(run)
    assert found.rule == "no-valid-worker"
    assert "any more (worker '1' left 1 m 20 s before the end" in found.cause
