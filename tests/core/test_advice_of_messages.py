"""A message that says what to do instead has its own remedy: that sentence."""

import pytest
from dask_blackbox.analyse.explanations import advice_in
from dask_blackbox.manifest import DriverException
from dask_blackbox.testing import a_run, a_task_error, verdict_with


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "`get_dummies` with unknown categories is not supported. Please use "
            "`df.categorize()` beforehand to ensure known categories",
            "Please use `df.categorize()` beforehand to ensure known categories",
        ),
        (
            "Cannot do chunked reads on compressed files. To read, set blocksize=None",
            "To read, set blocksize=None",
        ),
        (
            "Saving an array with unknown chunk sizes is not supported by Zarr.\n\n"
            "A possible solution: https://example.org\n"
            "Summary: to compute chunks sizes, use\n\n   x.compute_chunk_sizes()",
            "Summary: to compute chunks sizes, use x.compute_chunk_sizes()",
        ),
        (
            "The truth value of a Series is ambiguous. Use a.empty, a.any() or a.all().",
            "Use a.empty, a.any() or a.all()",
        ),
    ],
)
def test_the_sentence_that_says_what_to_do_is_the_advice(
    message: str, advice: str
) -> None:
    assert advice_in(message) == f'The message says what to do: "{advice}".'


@pytest.mark.parametrize(
    "message",
    [
        "division by zero",
        "add() takes 2 arguments",
        "Call to f(x) failed",
        "Run f(x)=3 failed",
        "Use of the file is denied",
        "set changed size during iteration",
        "Use `x`: " + 300 * "very ",
    ],
)
def test_a_message_that_only_reports_gives_no_advice(message: str) -> None:
    assert advice_in(message) is None


def test_the_advice_of_a_message_is_the_remedy_in_driver_and_task() -> None:
    message = "Keys are unsorted. Please use `df.set_index(…, sorted=True)` first."
    raised = DriverException(exception="builtins.ValueError", message=message)
    of_driver = verdict_with(a_run(state="failed", exception=raised))
    error = a_task_error("join-1", message=message)
    of_task = verdict_with(
        a_run(
            error,
            state="failed",
            exception=DriverException(
                exception="builtins.ValueError", message=message, key="join-1"
            ),
        )
    )

    for found, rule in ((of_driver, "driver-exception"), (of_task, "task-exception")):
        assert found is not None
        assert found.rule == rule
        assert "Please use `df.set_index(…, sorted=True)` first" in found.remedy


@pytest.mark.parametrize(
    ("function", "retry", "do"),
    [
        ("_ls_from_cache", "transient", "`fs.invalidate_cache()`"),
        ("_ls_real", "data", "fix the code"),
    ],
)
def test_a_file_that_a_kept_listing_lacks_may_have_come_later(
    function: str, retry: str, do: str
) -> None:
    message = "exports/2026-05-04/alta.csv"
    traceback = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 9, in load\n'
        "    fs.open(path)\n"
        f'  File "/venv/site-packages/fsspec/spec.py", line 438, in {function}\n'
        f"    raise FileNotFoundError(path)\nFileNotFoundError: {message}\n"
    )
    kind = "builtins.FileNotFoundError"
    error = a_task_error(
        "load-1", exception=kind, message=message, traceback=traceback
    )
    raised = DriverException(exception=kind, message=message, key="load-1")
    found = verdict_with(a_run(error, state="failed", exception=raised))

    assert found is not None
    assert (found.rule, found.retry_advice) == ("task-exception", retry)
    assert do in found.remedy
    assert ("is not in the listing" in found.cause) == (retry == "transient")
