"""What each attempt of a task run failed with.

Prefect retries a task within its worker, in one execution of Dask's, and keeps no message
of the attempts before the last one but a line in the task run's log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from dask_blackbox.patterns import bounded
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import LogFilter
from prefect.client.schemas.sorting import LogSort

from prefect_dask_blackbox.final_states import read_runs
from prefect_dask_blackbox.returned_states import readable
from prefect_dask_blackbox.submitted_tasks import one_line

__all__ = ["earlier_failures"]

_MOST, _LINES = 20, 200
_RETRIED = bounded(
    r"Task run failed with \w+: (.*) - Retry \d+/\d+ will start ", re.DOTALL
)


def earlier_failures(
    client: SyncPrefectClient,
    ids: Sequence[UUID],
    *,
    redacted: Callable[[str], str],
    timeout: float = 0.0,
) -> dict[UUID, list[str]]:
    """Return what the attempts before the last one failed with, of task runs that had some.

    Args:
        client: Of Prefect's API.
        ids: Of task runs; the first ones are looked at.
        redacted: Returns a text without secrets: Prefect's log has them.
        timeout: Seconds to wait for lines that their workers have not sent yet.
    """
    deadline = time.monotonic() + timeout
    wanted = list(ids)[:_MOST]
    before = {
        identity: run.run_count - 1
        for identity, run in read_runs(client, wanted).items()
        if run.run_count > 1
    }
    while before:
        found = _read(client, list(before), redacted)
        if all(len(found.get(each, ())) >= count for each, count in before.items()):
            return found
        if time.monotonic() > deadline:
            return found
        time.sleep(0.25)
    return {}


def _read(
    client: SyncPrefectClient, ids: Sequence[UUID], redacted: Callable[[str], str]
) -> dict[UUID, list[str]]:
    wanted = LogFilter.model_validate({"task_run_id": {"any_": list(ids)}})
    found: dict[UUID, list[str]] = {}
    for line in client.read_logs(wanted, limit=_LINES, sort=LogSort.TIMESTAMP_ASC):
        match = _RETRIED.match(line.message)
        if match is not None and line.task_run_id is not None:
            # Before it is cut: half a secret does not look like one.
            text = one_line(redacted(readable(match[1])))
            found.setdefault(line.task_run_id, []).append(text)
    return found
