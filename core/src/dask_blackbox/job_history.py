"""A job's runs at a glance: a value that can be printed or given to programs."""

from __future__ import annotations

import msgspec

__all__ = ["FailureGroup", "JobHistory", "PastRun", "Trend"]


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run, by its last attempt.

    Attributes:
        run: To be given to other verbs: `JOB/RUN/ATTEMPT`, in their safe forms.
        state: How it ended.
        started: Epoch seconds.
        duration: Seconds.
        input_bytes: What it read.
        partitions: In how many pieces.
        peak_memory: Bytes, of the worker that had the most.
        verdict: The rule that explains its failure.
        fingerprint: Beginning of the failure's fingerprint.
        group: The letter of its group of failures.
        stopped: Its host or a person ended it, which is no failure of the job.
    """

    run: str
    state: str
    started: float
    duration: float | None = None
    input_bytes: int | None = None
    partitions: int | None = None
    peak_memory: int | None = None
    verdict: str | None = None
    fingerprint: str | None = None
    group: str | None = None
    stopped: bool = False


class FailureGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of the same kind.

    Attributes:
        letter: What the list of runs calls it.
        fingerprint: What they have in common, as the beginning of a hash.
        verdict: The rule that explains them.
        title: What it said of the newest of them.
        times: How many runs failed so.
        first: When the first of them began, epoch seconds.
        last: When the last of them began.
        since: How many runs there were since then.
        stopped: What else changed when it stopped (`dask 2026.2.0 → 2026.3.0`); empty if
            nothing that explains it; null: ongoing.
    """

    letter: str
    fingerprint: str
    verdict: str | None
    title: str | None = None
    times: int = 1
    first: float
    last: float
    since: int = 0
    stopped: str | None = None


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """Where a measure of good runs is going.

    Attributes:
        name: `duration`, `input_bytes` or `peak_memory`.
        now: Median of the newest runs.
        before: Median of as many runs before them.
        values: The newest values, the oldest first.
    """

    name: str
    now: float
    before: float | None
    values: tuple[float, ...]


class JobHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a job.

    Attributes:
        job: Its name, in its safe form.
        total: How many runs are known.
        more: There are more than that.
        states: How many ended in which way; those that their host or a person ended
            count as `stopped`.
        runs: The newest of them, newest first.
        groups: Kinds of failures, the newest first.
        trends: Of the good runs.
    """

    job: str
    total: int
    more: bool = False
    states: dict[str, int] = {}
    runs: tuple[PastRun, ...] = ()
    groups: tuple[FailureGroup, ...] = ()
    trends: tuple[Trend, ...] = ()
