"""What a card says of the earlier runs of its job: values that cross to a host."""

from __future__ import annotations

from typing import Literal

import msgspec

from dask_blackbox.finding import Confidence

__all__ = ["Blame", "EarlierRun", "EarlierTry", "Past", "Seen"]

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


class Seen(msgspec.Struct, frozen=True, kw_only=True):
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


class EarlierTry(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier attempt of the same run.

    Attributes:
        attempt: Which.
        state: How it ended.
        verdict: The rule that explains its failure, if it failed.
        alike: Whether it failed as this one did.
    """

    attempt: int
    state: str
    verdict: str | None = None
    alike: bool = False


class Past(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the earlier runs of a job, and what they say of this one.

    Attributes:
        runs: Earlier runs that are known.
        more: There are more than that: the time to look was over.
        looked_at: How many of them this run was compared with.
        unreadable: How many of them could not be read.
        good: How many of the known ones ended well.
        stopped: How many of them their host or a person ended.
        last_good: What the changes are against; None: no earlier run ended well.
        blame: Which side changed.
        says: The same in a sentence.
        confidence: How sure that is.
        habits: Changes that are left out as they happen in most runs.
        seen: Failures of the same kind, for a run that failed.
        tries: The attempts of this run before it, for a run that failed.
        compare: A command that shows everything in which the two differ.
    """

    runs: int = 0
    more: bool = False
    looked_at: int = 0
    unreadable: int = 0
    good: int = 0
    stopped: int = 0
    last_good: EarlierRun | None = None
    blame: Blame = "unknown"
    says: str = ""
    confidence: Confidence = "low"
    habits: tuple[str, ...] = ()
    seen: Seen | None = None
    tries: tuple[EarlierTry, ...] = ()
    compare: str | None = None
