"""The recorder puts remedies in Prefect's terms, without loading Prefect."""

from __future__ import annotations

import subprocess
import sys

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
