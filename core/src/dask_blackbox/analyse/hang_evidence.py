"""How a finding about a hang is reported: since when, and where the tasks were."""

from __future__ import annotations

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.formatting import counted, duration, short
from dask_blackbox.analyse.frames import Frame
from dask_blackbox.analyse.hangs import Hang, HangingTask
from dask_blackbox.analyse.signatures import Signature, printed_by
from dask_blackbox.finding import Evidence

__all__ = ["evidence_of_hang", "evidence_of_stack", "how_it_ended", "log_evidence"]

_NEWLINE = "\n"


def how_it_ended(case: Case, hang: Hang) -> str:
    """Return a sentence on how long nothing moved, and what ended it."""
    stalled = f"No task finished for {duration(hang.lasted)}"
    if hang.ended_by_us:
        return f"{stalled}; then `blackbox.stall.end-run` ended the run."
    if case.exception is None:
        return f"{stalled}; then the driver was stopped."
    return f"{stalled}; then the driver stopped waiting."


def evidence_of_hang(case: Case, hang: Hang) -> tuple[Evidence, ...]:
    """Return what the stall detector reported, and what the driver got."""
    states = ", ".join(f"{number} {state}" for state, number in hang.states.items())
    statuses = ", ".join(f"{number} {name}" for name, number in hang.statuses.items())
    text = (
        f"While it hung: {counted(hang.workers, 'worker')}"
        f"{f' ({statuses})' if statuses else ''}; tasks: {states or 'none'}."
    )
    reported = Evidence(text=text, source="events", at=hang.since)
    return (reported, *case.exception_evidence())


def evidence_of_stack(case: Case, task: HangingTask) -> tuple[Evidence, ...]:
    """Return where a task was, its user's line and what that called, if its worker reported."""
    if not task.stack:
        return ()
    own = task.own_frame
    frames = [*([own] if own else []), *task.beyond[:2]]
    if (task.beyond or not own) and task.stack[-1] not in frames:
        frames.append(task.stack[-1])
    lines = [_reported(frame) for frame in frames]
    return (
        Evidence(
            text=f"The stack of '{short(task.key, 60)}':\n" + "\n".join(lines),
            source="events",
            see=case.see("logs", "--worker", task.worker),
        ),
    )


def _reported(frame: Frame) -> str:
    where = str(frame).rpartition("/site-packages/")[2]
    return f"{where}: {short(frame.code, 100)}" if frame.code else where


def log_evidence(case: Case, *signatures: Signature) -> tuple[Evidence, ...]:
    """Return the last line of a worker's log that one of these rows finds."""
    logs = case.run.logs
    chosen = logs.filter((logs["role"] != "driver") & printed_by(*signatures))
    return tuple(
        Evidence(
            text=f"{row['role']} {row['source']}: {short(row['message'].partition(_NEWLINE)[0], 240)}",
            source="logs",
            at=row["at"].timestamp(),
            see=case.see("logs", "--worker", row["source"]),
        )
        for row in chosen.tail(1).iter_rows(named=True)
    )
