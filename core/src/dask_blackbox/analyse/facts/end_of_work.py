"""What the recording shows at the moment when the driver's work ended: what blame is read from."""

from __future__ import annotations

from dataclasses import dataclass

from dask_blackbox.analyse.exit_causes import ExitCause
from dask_blackbox.analyse.facts.outcome import Outcome
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.run_state import State
from dask_blackbox.manifest import DriverException

Deaths = tuple[tuple[WorkerExit, ExitCause], ...]
"""Deaths with their causes."""


@dataclass(frozen=True, kw_only=True)
class EndOfWork:
    """The facts at the end of the driver's work.

    Attributes:
        state: How the run ended.
        outcome: What ended the work, and when.
        failures: The failed tasks that may have ended it, by time.
        unreceived: Keys of the failed tasks whose error no call of the driver received.
        dead: The deaths of the run.
        recovered: Those that the driver no longer waits for: their work was done elsewhere.
        no_worker_left: All workers had left, or there had been none.
        last_worker_died: All workers had left, and the one that left last had died.
        blocked: Tasks could not proceed.
        gave_up: The driver failed without what it had waited for in vain.
        killed_repeatedly: A task had ended worker after worker when the driver gave up.
        printed: How many exceptions the driver itself had printed with their tracebacks.
    """

    state: State
    outcome: Outcome
    failures: tuple[TaskFailure, ...]
    unreceived: frozenset[str]
    dead: Deaths
    recovered: tuple[WorkerExit, ...]
    no_worker_left: bool
    last_worker_died: bool
    blocked: bool
    gave_up: bool
    killed_repeatedly: bool
    printed: int

    @property
    def exception(self) -> DriverException | None:
        """What ended the work."""
        return self.outcome.exception

    def is_soon_after(self, seconds: float) -> bool:
        """Return whether the last task had failed no longer than so many seconds before."""
        decided = self.outcome.decided_at
        return decided is not None and decided - self.failures[-1].at <= seconds
