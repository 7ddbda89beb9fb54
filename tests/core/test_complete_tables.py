"""Each failed task has a row in `errors`, whoever reported it."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.complete_tables import completed
from dask_blackbox.card import card_of
from dask_blackbox.manifest import SourceAccount
from runs_from_rows import (
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    the_verdict,
)

_JOBLIB = '''joblib.externals.loky.process_executor._RemoteTraceback:\x20
"""
Traceback (most recent call last):
  File "/lib/joblib/_dask.py", line 73, in __call__
    results.append(func(*args, **kwargs))
  File "/jobs/fit.py", line 4, in fit
    raise ValueError("no rows")
ValueError: no rows
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/jobs/fit.py", line 9, in <module>
    Parallel()(delayed(fit)(n) for n in range(3))
ValueError: no rows
'''


def test_an_error_that_joblib_returned_as_a_result_has_a_row() -> None:
    raised = an_exception("ValueError", "no rows", traceback=_JOBLIB)
    batch = a_task("batch_of_fit_1_calls-3", worker="tcp://w1")
    run = completed(a_run(a_worker("tcp://w1"), batch, failed_with(raised)))

    [row] = run.errors.iter_rows(named=True)
    assert (row["prefix"], row["exception"]) == ("batch_of_fit_1_calls", "ValueError")
    assert (row["worker"], row["outcome"]) == ("tcp://w1", "erred")
    assert run.tasks["outcome"].to_list() == ["finished"]
    assert completed(run).errors.equals(run.errors)
    numbers = card_of(run, findings_in(run)).numbers
    assert (numbers["task_failures"], numbers["tasks"]) == (1, 0)


def test_a_future_that_failed_as_its_scheduler_was_lost_has_a_row() -> None:
    lost = SourceAccount(error="it could not be reached")
    call = an_event(
        "driver-call-failed", "driver", at=9.0, call="Future.result", pid=1,
        exception="ValueError", message="no rows", key="load-7", identity="1",
    )  # fmt: skip
    ended = failed_with(
        an_exception("ValueError", "no rows", key="load-7"),
        sources={"scheduler": lost},
    )

    run = completed(a_run(a_worker("tcp://w1"), call, ended))

    [row] = run.errors.iter_rows(named=True)
    assert (row["key"], row["worker"], row["outcome"]) == ("load-7", None, "erred")


_COLLECTED = """
All the 2 fits failed.
Below are more details about the failures:
2 fits failed with the following error:
Traceback (most recent call last):
  File "/lib/site-packages/sklearn/_validation.py", line 855, in _fit_and_score
    estimator.fit(X_train, y_train)
  File "/lib/site-packages/sklearn/_param_validation.py", line 98, in validate
    raise InvalidParameterError(
sklearn.utils.InvalidParameterError: The 'min_samples_leaf' parameter of RandomForestClassifier must be an int in the range [1, inf) or a float in the range (0.0, 1.0). Got -5 instead.
"""


@pytest.mark.parametrize(
    ("prefix", "rule"),
    [
        ("batch_of__fit_and_score_1_calls", "task-exception"),
        ("batch_of_other_1_calls", "driver-exception"),
        ("_fit_and_score", "driver-exception"),
    ],
)
def test_an_error_that_a_library_collected_is_that_of_its_task(
    prefix: str, rule: str
) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 12, in main\n'
        f"    search.fit(X, y)\nValueError: {_COLLECTED}"
    )
    raised = an_exception("ValueError", _COLLECTED, traceback=trace)
    batches = [a_task(f"{prefix}-{n}", worker="tcp://w1") for n in range(2)]
    run = completed(a_run(a_worker("tcp://w1"), batches, failed_with(raised)))

    found = the_verdict(run)

    assert found.rule == rule
    assert len(run.errors) == (rule == "task-exception")
    if len(run.errors):
        assert "InvalidParameterError" in found.title
        assert found.title.endswith("… Got -5 instead.")
        assert "Look at /jobs/nightly.py:12, which passed its arguments" in found.remedy
        assert "replay" not in found.remedy
