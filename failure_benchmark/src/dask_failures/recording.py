"""A recording as a diagnoser gets it: a folder of JSON files and tables.

    run.json        who: job, run id, start
    complete.json   how it ended: state, exit code, the driver's exception with its traceback
    reported.json   what was seen from outside: exit code and seconds of the script
    logs            what scheduler, workers, nannies and driver logged and printed
    tasks           the executions of tasks
    errors          the exceptions of tasks, with tracebacks
    events          what happened to workers, tasks and processes; `detail` is JSON
    metrics         CPU, memory and network of each process, once a second

Tables are in Arrow's IPC format, such as `logs.arrow`; with `--json-lines`, each is there once
more as `logs.jsonl`, a JSON object a line.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

__all__ = ["TABLES", "Recording", "with_lines"]

TABLES = ("logs", "tasks", "errors", "events", "metrics")
"""The tables of a recording."""


class Recording:
    """The files of a recording.

    Attributes:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def run(self) -> dict[str, Any]:
        """Who: `job`, `run_id`, `started` in epoch seconds."""
        return self._json("run.json")

    @cached_property
    def ending(self) -> dict[str, Any]:
        """How it ended: `state`, `exit_code`, `exception`; empty if that is not known."""
        return self._json("complete.json")

    @cached_property
    def reported(self) -> dict[str, Any]:
        """What was seen from outside: `exit`, `seconds`, whether it was `late`."""
        return self._json("reported.json")

    @cached_property
    def logs(self) -> pl.DataFrame:
        """All log and printed lines, by time."""
        return self.table("logs").sort("at")

    def table(self, name: str) -> pl.DataFrame:
        """Return a table.

        Args:
            name: One of `TABLES`.
        """
        return pl.read_ipc((self.folder / f"{name}.arrow").read_bytes())

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        if not path.exists():
            return {}
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found


def with_lines(folder: Path) -> None:
    """Write each table of a recording as lines of JSON as well."""
    for name in TABLES:
        path = folder / f"{name}.arrow"
        if path.exists():
            frame = pl.read_ipc(path.read_bytes())
            frame.write_ndjson(folder / f"{name}.jsonl")
