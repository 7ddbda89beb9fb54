"""Tasks that their host ended at a time limit of their own, as Prefect's `timeout_seconds`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.failures import host_retries
from dask_blackbox.events import TaskTimedOut
from dask_blackbox.formatting import counted, duration, short
from dask_blackbox.run_tables import RunTables

_BEYOND = 1.5
"""Times of the limit from which a task ran on although its time was over."""


@dataclass(frozen=True, kw_only=True)
class TimedOutTask:
    """A task that reached its own time limit.

    Attributes:
        limit: Seconds.
        setting: The host's name of the limit.
        ran: Seconds that it ran, its host's attempts together; None: not recorded.
        attempts: How often its host may have tried it in that time.
        others: Seconds that each finished execution of its kind took, sorted.
        prefix: What tasks of its kind are called.
    """

    limit: float
    setting: str
    ran: float | None
    attempts: int
    others: tuple[float, ...]
    prefix: str

    def title(self, task: str) -> str:
        """Return what happened to a task, in a few words."""
        return f"{task} exceeded its {self.setting} of {self.limit:g} s"

    def cause(self, key: str) -> str:
        """Return what happened, with how long it and others of its kind ran."""
        text = self.title(f"'{short(key, 80)}'")
        if self.ran is not None:
            text += f": it ran for {duration(self.ran)}"
        if self.ran is not None and self.attempts > 1:
            text += f" in up to {counted(self.attempts, 'attempt')}"
        if self.ran is not None and self.ran > _BEYOND * self.limit * self.attempts:
            text += (
                ", because in a worker's thread the limit takes effect only once a "
                "blocking call has returned"
            )
        if not self.others:
            return f"{text}. No other task of '{self.prefix}' finished"
        took = f"{duration(self.others[0])} to {duration(self.others[-1])}"
        if len(self.others) == 1:
            took = duration(self.others[0])
        return f"{text}. {counted(len(self.others), 'task')} of '{self.prefix}' finished in {took}"

    def remedy(self, retries: str) -> str:
        """Return what to do.

        Args:
            retries: What retries such a task, as code, if it was not retried.
        """
        text = (
            f"If it needs that long, raise `{self.setting}` of '{self.prefix}' or give it "
            "less to do. If it waited for something else, give that call a timeout of "
            "its own"
        )
        if self.attempts > 1:
            return f"{text}: {counted(self.attempts, 'attempt')} did not help."
        return f"{text}, and {retries} retries only this task, not the whole run."


def timed_out(run: RunTables, key: str) -> TimedOutTask | None:
    """Return the time limit that ended a task, if one did."""
    over = next((each for each in run.of(TaskTimedOut) if each.subject == key), None)
    if over is None or not over.limit:
        return None
    known = {each.subject for each in run.of(TaskTimedOut)}
    finished = run.tasks.filter(pl.col("outcome") == "finished").with_columns(
        seconds=(pl.col("stop") - pl.col("start")).dt.total_microseconds() / 1e6
    )
    mine = finished.filter(pl.col("key") == key)
    prefix = str(mine["prefix"][0]) if len(mine) else key.rpartition("-")[0]
    others = finished.filter(
        (pl.col("prefix") == prefix) & ~pl.col("key").is_in(list(known))
    )
    return TimedOutTask(
        limit=over.limit,
        setting=over.setting or "time limit",
        ran=float(mine["seconds"].sum()) if len(mine) else None,
        attempts=1 + host_retries(run).get(key, 0),
        others=tuple(sorted(float(each) for each in others["seconds"])),
        prefix=prefix,
    )
