"""Two runs side by side: a value that can be printed or given to programs."""

from __future__ import annotations

import msgspec

from dask_blackbox.finding import Change
from dask_blackbox.job_history import Past

__all__ = ["ComparedRun", "Comparison", "Measured", "PrefixPair"]


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two.

    Attributes:
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of it.
        state: How it ended.
        started: Epoch seconds.
        duration: Seconds, if known.
        verdict: The rule that explains its failure.
        title: What that says, in a line.
        fingerprint: Of the failure.
    """

    job: str
    run_id: str
    attempt: int
    state: str
    started: float
    duration: float | None = None
    verdict: str | None = None
    title: str | None = None
    fingerprint: str | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A number of both runs.

    Attributes:
        name: As on a card, or of a prefix.
        before: Of the first run; null: not known.
        after: Of the second.
    """

    name: str
    before: float | None
    after: float | None

    @property
    def times(self) -> float | None:
        """The second divided by the first; None if that is meaningless."""
        if not self.before or self.after is None:
            return None
        return self.after / self.before


class PrefixPair(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a prefix in both runs.

    Attributes:
        name: The prefix; of one that was renamed, `old → new`.
        measured: `tasks`, `compute` (seconds of all), `seconds` and `nbytes` (of one, in
            the middle), `memory` (of its workers, the high end), by name.
        cost: Seconds of computing that the second run spent more.
    """

    name: str
    measured: dict[str, Measured]
    cost: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in which two runs differ.

    Attributes:
        before: The first.
        after: The second.
        changes: What is not as it was, the most relevant first.
        past: What the history of the second says, where both are of one job.
        unknown: Kinds of facts that one of the two has no facts about.
        numbers: The measures of both.
        prefixes: Tasks by prefix, those that changed most first.
    """

    before: ComparedRun
    after: ComparedRun
    changes: tuple[Change, ...] = ()
    past: Past | None = None
    unknown: tuple[str, ...] = ()
    numbers: tuple[Measured, ...] = ()
    prefixes: tuple[PrefixPair, ...] = ()
