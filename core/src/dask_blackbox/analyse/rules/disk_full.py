"""Was there no space left to spill to, so that the workers were paused for ever?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    how_it_ended,
    log_evidence,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.rules.workers_paused import fullest
from dask_blackbox.analyse.words import counted, size
from dask_blackbox.finding import Finding, Subject

__all__ = ["DISK_FULL"]

_SAID = (
    r"No space left on device|Spill to disk failed|Spill file on disk reached capacity"
)
_CAPPED = "reached capacity"


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.paused:
        return
    logs = case.run.logs
    said = logs.filter((logs["role"] == "worker") & logs["message"].str.contains(_SAID))
    if not len(said):
        return
    worker, line = (
        said.row(-1, named=True)["source"],
        said.row(-1, named=True)["message"],
    )
    full = [each for each in fullest(case) if each.worker == worker]
    spilled = sum(each.spilled for each in fullest(case))
    capped = _CAPPED in line
    where = "its own limit (`max-spill`)" if capped else "the end of the disk's space"
    had = f" It had {full[0]}." if full else ""
    yield DISK_FULL.found(
        f"Spilling found no space, and {counted(len(hang.paused), 'worker')} stayed paused",
        cause=(
            f"{case.name_of(worker)} spilled to disk until it met {where}; what does not fit "
            f"stays in memory, so the worker was paused and never came down.{had} "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=(
            "Raise `distributed.worker.memory.max-spill`, or give the workers more memory."
            if capped
            else "Give the workers a larger disk (`--local-directory`, "
            "`temporary-directory`; in containers often a small or memory-backed /tmp), more "
            "memory, or less to hold at once. "
            f"{size(spilled)} were spilled when they were last seen."
        ),
        confidence=case.sure_of_the_hang if hang.all_paused else "medium",
        subject=Subject(worker=worker),
        evidence=(*log_evidence(case, _SAID), *evidence_of_hang(case, hang)),
    )


DISK_FULL = Rule(
    slug="disk-full",
    title="Spilling found no space",
    question="Was the disk full, so that paused workers could never spill and go on?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "Workers spilled until the disk (or `max-spill`) was full; what is left stays in "
            "memory, they pause, and the run hangs."
        ),
        evidence=(
            "“Spill to disk failed” or “No space left on device” in a worker's log, and "
            "paused workers in the stall detector's account. Silent if the run did not hang."
        ),
        remedy="A larger local directory, more memory, or less to hold at once.",
        before="dask worker …   # spills into a /tmp of 2 GiB",
        after="dask worker … --local-directory /mnt/scratch",
    ),
)
