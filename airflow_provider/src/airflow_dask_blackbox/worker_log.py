"""Has worker processes of a task print only the first warning of a kind.

They inherit the task's standard error, so all that they print stands in the task's log: seven
lines "Compute Failed" for each failed task, and as many for each lost heartbeat.
"""

from __future__ import annotations

import logging

from distributed.diagnostics.plugin import WorkerPlugin

from airflow_dask_blackbox.dask_log import Repeats

__all__ = ["FewerWarnings"]


class FewerWarnings(WorkerPlugin):
    """Leaves repeated warnings of Dask's out of what a worker's process prints.

    Where a recording takes them, it is before any handler does.
    """

    name = "dask-blackbox-airflow-log"

    def __init__(self) -> None:
        self._filter = _FirstOnly()

    def setup(self, worker: object) -> None:
        for handler in _handlers():
            handler.addFilter(self._filter)

    def teardown(self, worker: object) -> None:
        for handler in _handlers():
            handler.removeFilter(self._filter)


class _FirstOnly(logging.Filter):
    """Lets the first record of a kind pass, and announces with it that it is the last."""

    def __init__(self) -> None:
        super().__init__()
        self._repeats = Repeats()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or not record.name.startswith(
            "distributed"
        ):
            return True
        text = record.getMessage()
        if self._repeats.count(record.name, text) > 1:
            return False
        record.msg = (
            f"{text.rstrip()}\n(This worker prints no more warnings like this.)"
        )
        record.args = ()
        return True


def _handlers() -> list[logging.Handler]:
    return [
        each
        for name in ("", "distributed")
        for each in logging.getLogger(name).handlers
    ]
