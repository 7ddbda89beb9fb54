"""What failed when a worker was set up stands beside what tasks there met."""

from __future__ import annotations

from building import a_log_line, a_run, a_worker, an_exception, raised_in
from dask_blackbox.analyse import findings_in, verdict_of
from dask_blackbox.finding import Finding

MISSED = an_exception("AttributeError", "'Worker' object has no attribute 'solver'")
NO_SEAT = (
    "Worker plugin licence failed to setup\nTraceback (most recent call last):\n"
    '  File "/jobs/plugins.py", line 9, in setup\n    raise PermissionError(message)\n'
    "PermissionError: licence server: 0 of 1 seats left"
)


def verdict(*, at: float, worker: str = "tcp://w1") -> Finding:
    """Return the verdict on a task that failed, with such a line in a worker's log."""
    line = a_log_line(NO_SEAT, at=at, source=worker)
    run = a_run(a_worker(), line, raised_in("simulate-1", MISSED))
    found = verdict_of(findings_in(run), run)
    assert found is not None
    return found


def test_a_plugin_that_failed_on_the_same_worker_is_told_with_its_exception() -> None:
    found = verdict(at=5)

    assert found.rule == "task-exception"
    assert "the plugin 'licence' had failed to set up on that worker" in found.cause
    assert "PermissionError: licence server: 0 of 1 seats left" in found.cause
    assert "mend that first" in found.remedy


def test_a_plugin_that_failed_later_or_elsewhere_has_nothing_to_do_with_it() -> None:
    later, elsewhere = verdict(at=15), verdict(at=5, worker="tcp://w2")

    assert "licence" not in later.cause + elsewhere.cause
