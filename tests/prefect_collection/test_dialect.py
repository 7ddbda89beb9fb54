"""The recorder puts remedies in Prefect's terms, without loading Prefect."""

from __future__ import annotations

import re
import subprocess
import sys

import polars as pl
import pytest
from prefect_dask_blackbox.dialect import DIALECT

RETRIED = "Task run failed with exception: OSError('busy') - Retry 1/3 will start 10 second(s) from now"
CODE = """
import sys
from dask_blackbox.dialect import dialect_of
print(dialect_of("prefect").retries('File "/v/prefect/task_engine.py", line 9, in run'))
print(dialect_of("prefect").retries('File "/jobs/a.py", line 9, in run'))
print("prefect" in sys.modules)
"""


def test_remedies_are_in_prefects_terms_without_loading_prefect() -> None:
    said = subprocess.run(
        [sys.executable, "-c", CODE], check=True, capture_output=True, text=True
    ).stdout.splitlines()

    assert said == [
        "Prefect's `@task(retries=3, retry_delay_seconds=10)`",
        "`client.submit(…, retries=3)` or `dask.annotate(retries=3)`",
        "False",
    ]


def test_what_prefect_logs_of_a_retry_is_known_as_that() -> None:
    assert re.search(DIALECT.notices, RETRIED)
    assert not re.search(DIALECT.notices, RETRIED.replace("Retry 1/3", "Exhausted"))


def test_what_prefect_logs_of_a_time_limit_is_known_as_that() -> None:
    line = "16:36:41.270 | ERROR | Task run 'fetched-e8d' - "

    assert re.search(
        DIALECT.notices, f"{line}Task run exceeded timeout of 1.0 second(s)"
    )
    assert re.search(DIALECT.notices, f"{line}Finished in state TimedOut('…')")
    assert not re.search(DIALECT.notices, f"{line}Finished in state Completed()")


@pytest.mark.parametrize(
    ("line", "is_of_host"),
    [
        ("--- Error logging to API ---", True),
        ("All connection attempts failed14:34:25.912 | ERROR   | Flow run", True),
        ("All connection attempts failed", False),
        ("--- Error reading orders ---", False),
    ],
)
def test_lines_of_prefects_handler_of_logs_are_no_failure_of_the_flow(
    line: str, *, is_of_host: bool
) -> None:
    # As the rules ask: their engine knows no look-around.
    assert pl.Series([line]).str.contains(DIALECT.notices).item() is is_of_host
