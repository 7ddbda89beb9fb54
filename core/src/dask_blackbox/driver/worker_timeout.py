"""How long clusters that our integrations start wait for a worker that restarts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dask.config
import distributed  # noqa: F401 - it brings the defaults of its settings

_SETTING = "distributed.deploy.lost-worker-timeout"
_DASKS, _OURS = "15s", "300s"


@contextmanager
def longer_worker_timeout() -> Iterator[None]:
    """Have a cluster wait longer for a worker that restarts, unless the user says how long.

    Dask gives a worker 15 seconds to come back.  One that imports Airflow or Prefect takes
    longer on a busy machine; the cluster then closes it for good, and a run that waits for
    its task waits for ever, where Dask would have given the task up after some more deaths.
    Clusters look the setting up when a worker leaves, so this is for as long as they exist.
    """
    if dask.config.get(_SETTING, default=None) != _DASKS:
        yield
        return
    with dask.config.set({_SETTING: _OURS}):
        yield
