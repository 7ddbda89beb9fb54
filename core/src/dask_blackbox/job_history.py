"""The runs of a job, and what a card reports about the earlier ones: values for hosts."""

from __future__ import annotations

from typing import Literal

import msgspec

from dask_blackbox.finding import Confidence

Blame = Literal["data", "code", "infrastructure", "several", "nothing", "unknown"]
"""Which side changed: what was read; what we wrote; what it ran on; more than one of
them; none that is recorded; unknown."""


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier run of the same job.

    Attributes:
        run_id: Which.
        attempt: Which try of it.
        started: Epoch seconds.
        duration: Seconds, if known.
    """

    run_id: str
    attempt: int = 1
    started: float
    duration: float | None = None


class Recurrence(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of the same kind as this one.

    Attributes:
        fingerprint: What they have in common, as hexadecimal digits.
        basis: The same in words.
        times: How many runs failed so, this one included.
        first: When the first of them began, epoch seconds.
        last: When the last of them before this run began; None: this is the first.
        in_a_row: How many runs up to this one failed so without another between them.
    """

    fingerprint: str
    basis: str
    times: int
    first: float
    last: float | None = None
    in_a_row: int = 1


class EarlierAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier attempt of the same run.

    Attributes:
        attempt: Which.
        state: How it ended.
        verdict: The rule that explains its failure, if it failed.
        same_failure: Whether it failed as this one did.
    """

    attempt: int
    state: str
    verdict: str | None = None
    same_failure: bool = False


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody wrote about a run.

    Attributes:
        run: Which, as `JOB/RUN/ATTEMPT`.
        at: When it was written, epoch seconds.
        by: Who wrote it.
        text: What they wrote.
        tags: Words that runs can be found by.
        fingerprint: Beginning of the fingerprint of the run's failure, if it failed.
    """

    run: str
    at: float
    by: str
    text: str = ""
    tags: tuple[str, ...] = ()
    fingerprint: str | None = None


class Past(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The earlier runs of a job, and what follows from them for this one.

    Attributes:
        runs: Earlier runs that are known.
        more: There are more than that: the time to look was over.
        compared: How many of them this run was compared with.
        unreadable: How many of them could not be read.
        good: How many of the known ones ended well.
        stopped: How many of them their host or a person ended.
        last_good: What the changes are against; None: no earlier run ended well.
        blame: Which side changed.
        summary: The same in a sentence.
        confidence: How sure that is.
        habits: Changes that are left out as they happen in most runs.
        recurrence: Failures of the same kind, for a run that failed.
        attempts: The attempts of this run before it, for a run that failed.
        compare: A command that shows everything in which the two differ.
        siblings: Of an instance of a mapped task that failed, how the others ended.
        notes: What was written about this run, and about failures of the same kind,
            the newest first.
    """

    runs: int = 0
    more: bool = False
    compared: int = 0
    unreadable: int = 0
    good: int = 0
    stopped: int = 0
    last_good: EarlierRun | None = None
    blame: Blame = "unknown"
    summary: str = ""
    confidence: Confidence = "low"
    habits: tuple[str, ...] = ()
    recurrence: Recurrence | None = None
    attempts: tuple[EarlierAttempt, ...] = ()
    compare: str | None = None
    siblings: str = ""
    notes: tuple[Note, ...] = ()


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


class LastingChange(msgspec.Struct, frozen=True, kw_only=True):
    """That a measure of good runs is on another level since some run.

    Attributes:
        since: When the first run of the new level started, epoch seconds.
        runs: How many good runs are on it.
        before: Median of the good runs before.
        now: Median of those since.
        earlier: How many good runs before it were compared.
    """

    since: float
    runs: int
    before: float
    now: float
    earlier: int = 0


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """Where a measure of good runs is going.

    Attributes:
        name: `duration`, `input_bytes` or `peak_memory`.
        now: Median of the newest runs.
        before: Median of as many runs before them.
        values: The newest values, the oldest first.
        change: Since when it is on another level, if it is.
    """

    name: str
    now: float
    before: float | None
    values: tuple[float, ...]
    change: LastingChange | None = None


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
