"""One run under investigation: its tables and all that is derived from them once.

Rules ask a `Case`; none of them derives for itself who died or which task failed first.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

import polars as pl

from dask_blackbox.analyse.blame import (
    Blame,
    blame_of,
    only_waited,
    ran_out_of_patience,
)
from dask_blackbox.analyse.death_causes import CauseOfDeath, cause_of_death
from dask_blackbox.analyse.deaths import Death, deaths_of
from dask_blackbox.analyse.failures import TaskFailure, failures_of
from dask_blackbox.analyse.hang import Hang, hang_of
from dask_blackbox.analyse.history import History
from dask_blackbox.analyse.loads import Loads
from dask_blackbox.analyse.raised import classes_of, untangled
from dask_blackbox.analyse.standing import Standing, standing_of
from dask_blackbox.analyse.state import (
    ASKED,
    FAILED,
    State,
    last_sign_of_life,
    signal_of_driver,
    state_of,
)
from dask_blackbox.analyse.tolls import Tolls
from dask_blackbox.analyse.words import class_of, counted, duration, prefix_of
from dask_blackbox.finding import Confidence, Evidence, Finding
from dask_blackbox.manifest import DriverException
from dask_blackbox.run import RunTables

__all__ = ["Case"]

_RECENT = 120.0  # seconds


class Case:
    """What rules ask.

    Args:
        run: The recording.
        thresholds: Numbers that the user set otherwise, by `<slug>.<name>`.
        history: The runs before it, as far as they are known.

    Attributes:
        found: What the rules before this one found, in their order.
        broken: Which rules could not be asked, and why.
    """

    def __init__(
        self,
        run: RunTables,
        *,
        thresholds: Mapping[str, float] | None = None,
        history: History | None = None,
    ) -> None:
        self.run = run
        self.history = history or History()
        self.found: list[Finding] = []
        self.broken: list[str] = []
        self._thresholds = thresholds or {}

    @cached_property
    def state(self) -> State:
        """How the run ended."""
        return state_of(self.run)

    @property
    def failed(self) -> bool:
        """Whether the run wants a verdict."""
        return self.state in FAILED

    @property
    def explained(self) -> bool:
        """Whether a rule before this one has found why the run failed."""
        return any(finding.severity == "failure" for finding in self.found)

    @property
    def exception(self) -> DriverException | None:
        """What ended the driver's work."""
        return None if self.run.ending is None else self.run.ending.exception

    @cached_property
    def saw_the_cluster(self) -> bool:
        """Whether anything was recorded beyond the driver."""
        return bool(
            self.run.details("recording-started") or self.run.details("scheduler-info")
        )

    @cached_property
    def loads(self) -> Loads:
        """Where the core-seconds of the cluster went."""
        return Loads(self.run)

    @cached_property
    def tolls(self) -> Tolls:
        """What tasks and their processes paid beside computing."""
        return Tolls(self.run)

    @cached_property
    def failures(self) -> tuple[TaskFailure, ...]:
        """The tasks that failed of themselves, by time."""
        return failures_of(self.run)

    @cached_property
    def deaths(self) -> tuple[Death, ...]:
        """The workers that died, by time."""
        return deaths_of(self.run)

    @cached_property
    def _causes(self) -> dict[int, CauseOfDeath]:
        return {id(death): cause_of_death(death, self.run) for death in self.deaths}

    def cause_of(self, death: Death) -> CauseOfDeath:
        """Return what one of `deaths` died of."""
        return self._causes[id(death)]

    @cached_property
    def blame(self) -> Blame:
        """The failed task and the deaths that the run's failure comes from."""
        if not self.failed:
            return Blame()
        return blame_of(
            self.exception,
            self.failures,
            tuple((death, self.cause_of(death)) for death in self.deaths),
            state=self.state,
            deserted=not self.run.workers["left"].has_nulls(),
            again=self._dies_again_and_again,
            made_good=self._made_good,
            ended=None if self.run.ending is None else self.run.ending.ended,
        )

    @property
    def _made_good(self) -> tuple[Death, ...]:
        """The deaths of whose work nothing was left to do when the run ended."""
        done = self.run.tasks.filter(pl.col("outcome") == "finished")
        last = done.group_by("key").agg(pl.col("stop").max().dt.epoch("us") / 1e6)
        ended: dict[str, float] = dict(last.drop_nulls().iter_rows())
        return tuple(
            death
            for death in self.deaths
            if not death.lost_scattered
            and all(ended.get(key, 0.0) > death.at for key in death.at_work_on)
        )

    @property
    def _dies_again_and_again(self) -> bool:
        """Whether a task had ended worker after worker when the driver ended, or gave up.

        Dask gives it up after `allowed-failures` deaths; where that was raised, a host's
        patience ends before.
        """
        asked = self.exception is None and signal_of_driver(self.run) in ASKED
        gave_up = self.exception is not None and only_waited(self.exception)
        if not self.deaths or not (
            asked or gave_up or self.raised("KeyboardInterrupt")
        ):
            return False
        times = Counter(key for death in self.deaths for key in set(death.executing))
        again = {key for key, deaths in times.items() if deaths > 1}
        ended = self.run.tasks.filter(pl.col("outcome") == "finished")["key"]
        again -= {*ended.to_list(), *(failure.key for failure in self.failures)}
        recent = last_sign_of_life(self.run) - self.deaths[-1].at < _RECENT
        return recent and any(key in again for key in self.deaths[-1].executing)

    def threshold(self, name: str, default: float) -> float:
        """Return the number `<slug>.<name>` of the user's settings, or the default."""
        return float(self._thresholds.get(name, default))

    def raised(self, *classes: str) -> bool:
        """Say whether the driver's exception, or one it was chained to, is of a class.

        Args:
            classes: Bare names, without module.
        """
        if self.exception is None:
            return False
        return any(class_of(n) in classes for n in classes_of(self.exception))

    def said(self, pattern: str) -> re.Match[str] | None:
        """Return where the driver's exception (message, then traceback) says a thing."""
        if self.exception is None:
            return None
        found = re.search(pattern, self.exception.message, re.DOTALL)
        return found or re.search(pattern, self.exception.traceback)

    def prefix_of(self, key: str) -> str:
        """Return the prefix of a key."""
        return self._prefixes.get(key) or prefix_of(key)

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        errors = self.run.errors.select("key", "prefix").drop_nulls().unique()
        return dict(errors.iter_rows())

    def name_of(self, address: str) -> str:
        """Return how people call a worker: its name and address."""
        name = self._names.get(address)
        return f"worker {name} ({address})" if name else f"worker {address}"

    @cached_property
    def _names(self) -> dict[str, str]:
        named = self.run.workers.select("address", "name").drop_nulls()
        return {a: n for a, n in named.iter_rows() if n != a}

    def see(self, verb: str, *options: str) -> str:
        """Return the command that shows a piece of evidence."""
        run = self.run.url or self.run.manifest.run_id
        words = ("dask", "blackbox", verb, run, *options)
        return " ".join(shlex.quote(word) for word in words)

    @cached_property
    def standstill(self) -> Hang | None:
        """What stood still when the run ended, whatever ended it."""
        return hang_of(self.run)

    @property
    def hang(self) -> Hang | None:
        """What stood still, if nothing else explains so far why the run ended badly."""
        if not self.failed or self.explained or self.blame.failure is not None:
            return None
        unheard = self.exception is None or self.raised("KeyboardInterrupt")
        if self.exception is not None and only_waited(self.exception):
            unheard = True
        return self.standstill if unheard else None

    @property
    def sure_of_the_hang(self) -> Confidence:
        """How sure it is that the hang ended the run: somebody ran out of patience."""
        exception = self.exception
        waited = exception is not None and ran_out_of_patience(exception)
        return "high" if waited else "medium"

    @cached_property
    def driver_stood(self) -> Standing | None:
        """Where the driver stood when it was stopped, if no traceback tells."""
        if self.exception is not None and not self.raised("KeyboardInterrupt"):
            return None
        return standing_of(self.run)

    def stall(self) -> str | None:
        """Return a sentence on what stood still when the run ended, if anything did."""
        hang = self.standstill
        if hang is None:
            return None
        waiting = [f"{n} {state}" for state, n in hang.states.items()]
        return (
            f"No task had ended for {duration(hang.lasted)} then: "
            f"{counted(hang.workers, 'worker')}, {len(hang.paused)} of them paused; "
            f"tasks: {', '.join(waiting) or 'none'}."
        )

    def exception_evidence(self) -> tuple[Evidence, ...]:
        """Return the driver's exception as evidence."""
        if self.exception is None:
            return ()
        got = class_of(self.exception.exception)
        name, message, _ = untangled(got, self.exception.message)
        what = got if name == got else f"{got}, in place of {name}"
        text = (
            f"The driver got {what}: {message}" if message else f"The driver got {what}"
        )
        at = None if self.run.ending is None else self.run.ending.ended
        return (Evidence(text=text[:600], source="driver", at=at),)
