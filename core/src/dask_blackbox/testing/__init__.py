"""For tests, ours and other people's: an S3 server that also fails, a store's contract, runs.

`embedded_s3` needs `dask-blackbox[demo]`, `StoreContract` pytest; nothing here needs them
before it is used.
"""

from __future__ import annotations

from dask_blackbox.testing import faults
from dask_blackbox.testing.facts import (
    EPOCH,
    Fact,
    a_log,
    a_metric,
    a_run,
    a_task,
    a_task_error,
    a_worker_added,
    a_worker_removed,
    an_event,
    an_exit_report,
    recorded,
    rows_of,
)
from dask_blackbox.testing.faulty_s3 import FaultyS3, Trouble, faulty_s3
from dask_blackbox.testing.rules import (
    findings_of,
    fires,
    stays_silent,
    verdict_with,
)
from dask_blackbox.testing.s3_server import EmbeddedS3, embedded_s3
from dask_blackbox.testing.store_contract import StoreContract

__all__ = [
    "EPOCH",
    "EmbeddedS3",
    "Fact",
    "FaultyS3",
    "StoreContract",
    "Trouble",
    "a_log",
    "a_metric",
    "a_run",
    "a_task",
    "a_task_error",
    "a_worker_added",
    "a_worker_removed",
    "an_event",
    "an_exit_report",
    "embedded_s3",
    "faults",
    "faulty_s3",
    "findings_of",
    "fires",
    "recorded",
    "rows_of",
    "stays_silent",
    "verdict_with",
]
