"""Tasks of Dask on Ray, which raises the text of their exceptions in the driver."""

from __future__ import annotations

import msgspec
import pytest
from dask_blackbox.manifest import DriverException
from runs_from_rows import a_run, an_exception, failed_with, the_verdict

JOB, SITE = "/jobs/nightly.py", "/env/lib/python3.11/site-packages"
SUM = "\x1b[36mray::dask:sum-0f3e()\x1b[39m (pid=7336, ip=192.0.2.2)\n"
LOAD = "\x1b[36mray::dask:('load-1769', 3)()\x1b[39m (pid=7337, ip=192.0.2.2)\n"
INPUT = "  At least one of the input arguments for this task could not be computed:\n"
REMOTE = f"""\
  File "{SITE}/ray/util/dask/scheduler.py", line 487, in dask_task_wrapper
    result = task(repacked_deps)
             ^^^^^^^^^^^^^^^^^^^
  File "{SITE}/dask/_task_spec.py", line 768, in __call__
    return self.func(*new_argspec)
           ^^^^^^^^^^^^^^^^^^^^^^^
  File "{JOB}", line 11, in load
    return 10/x
           ~~^~
"""
LOCAL = f"""\
Traceback (most recent call last):
  File "{JOB}", line 22, in <module>
    total.compute(scheduler=ray_dask_get)
  File "{SITE}/dask/base.py", line 769, in compute
    results = schedule(expr, keys, **kwargs)
"""
OF_RAY = f"""\
  File "{SITE}/ray/util/dask/scheduler.py", line 220, in ray_dask_get
    result = ray_get_unpack(object_refs, progress_bar_actor=pb_actor)
  File "{SITE}/ray/_private/worker.py", line 1053, in get_objects
    raise value.as_instanceof_cause()
"""
CRASHED = (
    "The worker died unexpectedly while executing this task. Check "
    "python-core-worker-*.log files for more information."
)


def raised(
    name: str, message: str, *bases: str, through: str = OF_RAY
) -> DriverException:
    """Return what Ray raised in a driver, as it was recorded of Ray 2.60."""
    name = f"ray.exceptions.{name}"
    trace = f"{LOCAL}{through}{name}: {message}\n"
    made = an_exception(name, message, traceback=trace, file=JOB)
    known = (name, "ray.exceptions.RayError", *bases, "Exception", "BaseException")
    return msgspec.structs.replace(made, bases=known)


@pytest.mark.parametrize("before", ["", f"{SUM}{INPUT}ray.exceptions.RayTaskError: "])
def test_the_exception_of_a_task_on_ray_is_the_verdict_with_its_key_and_line(
    before: str,
) -> None:
    message = f"{before}{LOAD}{REMOTE}ZeroDivisionError: division by zero"
    name = "RayTaskError(ZeroDivisionError)"
    error = raised(name, message, "ZeroDivisionError", "ArithmeticError")

    found = the_verdict(a_run(failed_with(error)))

    assert (found.rule, found.retry_advice) == ("task-exception", "code")
    assert found.title == "ZeroDivisionError in a task of Dask on Ray: division by zero"
    assert "load-1769" in found.cause
    assert found.subject.key == "('load-1769', 3)"
    assert f"{JOB}:11" in found.remedy
    assert "\x1b" not in found.cause


def test_the_message_of_a_task_on_ray_may_have_lines() -> None:
    message = f"{LOAD}{REMOTE}shop.errors.OrderError: 2 orders\n  first: 1\n  second: 7"
    error = raised("RayTaskError(OrderError)", message, "shop.errors.OrderError")

    found = the_verdict(a_run(failed_with(error)))

    assert found.title.startswith("OrderError in a task of Dask on Ray: 2 orders")
    assert "first: 1" in found.evidence[0].text


@pytest.mark.parametrize(
    "before", ["", f"{SUM}{INPUT}ray.exceptions.WorkerCrashedError: "]
)
def test_what_happened_to_a_worker_of_ray_is_unknown(before: str) -> None:
    name = "RayTaskError(WorkerCrashedError)" if before else "WorkerCrashedError"

    found = the_verdict(a_run(failed_with(raised(name, f"{before}{CRASHED}"))))

    assert found.rule == "driver-exception"
    assert found.title.startswith("WorkerCrashedError in a task of Dask on Ray: ")
    assert "what happened to Ray's worker is unknown" in found.cause
    # Of two tasks, Ray names the one that waited.
    assert found.subject.key is None
    assert (found.confidence, found.retry_advice) == ("low", "unknown")
    assert "Ray's own logs" in found.remedy


def test_a_job_that_uses_ray_without_dask_is_what_it_was() -> None:
    error = raised("WorkerCrashedError", CRASHED, through="")

    found = the_verdict(a_run(failed_with(error)))

    assert "Dask on Ray" not in f"{found.title} {found.cause}"
