"""What failed when a worker was set up, and that Dask went on without.

A plugin that is sent to a worker which starts later, and a preload's `dask_setup`, only log
that they failed.  Tasks meet what follows from it, and their exceptions don't say so.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    PRELOAD_FAILED,
    WORKER_PLUGIN_FAILED,
)
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import class_of, short, short_with_paths

_SAID = ((WORKER_PLUGIN_FAILED, "plugin"), (PRELOAD_FAILED, "preload"))
_SOON = timedelta(seconds=2)
_RAISED = re.compile(r"^(?P<name>[A-Za-z_][\w.]*): (?P<message>.+)$", re.MULTILINE)


class FailedSetup(NamedTuple):
    """Something that had failed when a worker was set up.

    Attributes:
        title: It, in a few words.
        sentence: What happened.
        evidence: The line that reports it.
    """

    title: str
    sentence: str
    evidence: Evidence


def setup_failed_before(case: Case, failure: TaskFailure) -> FailedSetup | None:
    """Return what had failed to set up on the worker where a task failed."""
    if failure.worker is None:
        return None
    # What it logged before it was recorded is on the stderr that it shares with the script.
    logs = case.run.logs.filter(
        (
            ((pl.col("role") == "worker") & (pl.col("source") == failure.worker))
            | ((pl.col("role") == "driver") & (pl.col("logger") == "stderr"))
        )
        & printed_by(*(signature for signature, _ in _SAID))
    ).sort(pl.col("role") == "worker", "at")
    before = [row for row in logs.to_dicts() if row["at"].timestamp() <= failure.at]
    if not before:
        return None
    row = before[-1]
    text = str(row["message"])
    if row["role"] == "driver":
        text = "\n".join([text, *_printed_after(case, row["at"])])
    what, kind = next(
        (found["what"], kind)
        for signature, kind in _SAID
        if (found := signature.search(text))
    )
    raised = list(_RAISED.finditer(text))
    because = (
        f" ({class_of(raised[-1]['name'])}: {short(raised[-1]['message'], 160)})"
        if raised
        else ""
    )
    where = "that worker" if row["role"] == "worker" else "a worker of the script's own"
    what = what.rpartition("/")[2]
    title = short_with_paths(
        f"{kind.capitalize()} '{short(what, 40)}' failed to set up{because}", 120
    )
    sentence = (
        f"Earlier, the {kind} '{short(what, 60)}' had failed to set up on "
        f"{where}{because}, and Dask continued without it"
    )
    line = f"{row['role']} {row['source']}: {short(text, 300)}"
    see = case.show_command("logs", "--worker", failure.worker)
    reported = Evidence(text=line, source="logs", at=row["at"].timestamp(), see=see)
    return FailedSetup(title, sentence, reported)


def _printed_after(case: Case, at: datetime) -> list[str]:
    """Return the first exception that was printed after a line of a worker's own log."""
    printed = case.run.logs.filter(
        (pl.col("role") == "driver")
        & (pl.col("logger") == "stderr")
        & pl.col("at").is_between(at, at + _SOON)
        & pl.col("message").str.contains(r"^[A-Za-z_][\w.]*(?:Error|Exception): ")
    )
    return printed["message"].head(1).to_list()
