"""A small set in a folder: a failed task, workers that died of memory, and a healthy run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

EXPECTED = """
[lost_sheep]
text = "A task raises; the driver requests its result."
causes = ["task-exception"]
names = ["count_sheep", "ValueError"]
never = ["memory"]

[full_barn]
text = "Workers exceed their memory limit."
causes = ["worker-memory-limit"]

[quiet_night]
text = "It succeeds."
state = ["succeeded"]
may = ["spilling"]
"""
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def write_recording(
    folder: Path, exception: tuple[str, str] | None, lines: list[str]
) -> None:
    """Write a recording as those of the archives are."""
    folder.mkdir(parents=True)
    raised = None
    if exception is not None:
        raised = dict(zip(("exception", "message"), exception, strict=True))
    ended: dict[str, Any] = {"state": "failed" if raised else "succeeded"}
    ended |= {"exit_code": int(raised is not None), "exception": raised}
    (folder / "complete.json").write_text(json.dumps(ended))
    (folder / "run.json").write_text(json.dumps({"job": folder.name}))
    (folder / "reported.json").write_text(json.dumps({"exit": ended["exit_code"]}))
    at = [_AT] * len(lines)
    logs = pl.DataFrame(
        {
            "at": at,
            "message": lines,
            "role": "worker",
            "source": "tcp://10.0.0.1:40001",
        },
        schema_overrides={"message": pl.String},
    )
    logs.write_ipc(folder / "logs.arrow")


@pytest.fixture
def a_set(tmp_path: Path) -> Path:
    """The folder of a set with three cases."""
    folder = tmp_path / "farm-set"
    recordings = folder / "recordings"
    write_recording(
        recordings / "lost_sheep",
        ("builtins.ValueError", "count_sheep found none"),
        ["Compute Failed", "Exception: ValueError('count_sheep found none')"],
    )
    write_recording(
        recordings / "full_barn",
        ("distributed.scheduler.KilledWorker", "tried to run 'fill' on 4 workers"),
        ["Worker exceeded 95% memory budget. Restarting", "Worker was killed"],
    )
    write_recording(recordings / "quiet_night", None, ["Close client"])
    title = {"name": "farm-set", "title": "Three runs on a farm."}
    (folder / "set.json").write_text(json.dumps(title))
    (folder / "expected.toml").write_text(EXPECTED)
    return folder
