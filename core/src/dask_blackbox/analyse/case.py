"""One run to diagnose: its tables, and everything that is derived from them once.

Rules read a `Case`; no rule derives on its own which worker died or which task failed first.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final, Generic, Self, TypeVar, cast, overload

import polars as pl

from dask_blackbox.analyse.blame import (
    Blame,
    blame_of,
    only_waited,
    timed_out_waiting,
)
from dask_blackbox.analyse.core_seconds import Loads
from dask_blackbox.analyse.driver_output import (
    PrintedFailure,
    last_output,
    number_of_printed_failures,
)
from dask_blackbox.analyse.driver_position import (
    DriverPosition,
    driver_position_of,
    wait_before,
)
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.analyse.exception_origin import failures_that_count
from dask_blackbox.analyse.exit_causes import ExitCause, cause_of_exit
from dask_blackbox.analyse.facts.end_of_work import EndOfWork
from dask_blackbox.analyse.facts.outcome import Outcome, outcome_of
from dask_blackbox.analyse.facts.teardown import Teardown, teardown_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of
from dask_blackbox.analyse.failures import (
    NoneResult,
    TaskFailure,
    failures_of,
    none_result_behind,
    only_of_driver,
)
from dask_blackbox.analyse.frames import (
    classes_of,
    raised_by_a_check,
    untangled,
    without_traceback,
)
from dask_blackbox.analyse.run_state import (
    ASKED,
    FAILED,
    State,
    exit_code_of_driver,
    is_clusterless,
    last_sign_of_life,
    signal_of_driver,
    state_of,
)
from dask_blackbox.analyse.signatures.distributed import NO_WORKER_TO_SCATTER_TO
from dask_blackbox.analyse.standstills import Hang, finished_within, hang_of
from dask_blackbox.analyse.symptoms import is_absence, is_wait
from dask_blackbox.analyse.task_activity import TaskActivity
from dask_blackbox.dialect import RemedyDialect, dialect_of
from dask_blackbox.events import (
    CommandStarted,
    DriverAttached,
    DriverClosing,
    DriverExit,
    DriverSkipped,
    RecordingStarted,
    SchedulerInfo,
    TestFailed,
)
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    SHELLS,
    capital,
    class_of,
    command,
    counted,
    duration,
    prefix_of,
    process_name,
    run_argument,
    short,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, RunTables, epoch
from dask_blackbox.tables.schemas import Row

_RECENT = 120.0  # seconds
_MOMENT = 2.0  # seconds of all threads
_LONG = 3.0
_AT_ONCE = 2.0  # seconds between a wait that timed out and the end of the driver's work
_LARGE_SHARE = 0.9
_LEAST_SHARE = 0.05  # of the thread-seconds of the whole run


_T = TypeVar("_T")


class _fact(Generic[_T]):  # noqa: N801 - a decorator, like `cached_property`
    """A property that follows from the run alone: all cases of a run derive it once.

    While a run continues its state changes with time, and what was derived before is not
    used for another state.
    """

    def __init__(self, derive: Callable[[Case], _T]) -> None:
        self.__doc__ = derive.__doc__
        self._derive = derive

    def __set_name__(self, owner: type[Case], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, case: None, owner: type[Case]) -> Self: ...
    @overload
    def __get__(self, case: Case, owner: type[Case]) -> _T: ...
    def __get__(self, case: Case | None, owner: type[Case]) -> Self | _T:
        if case is None:
            return self
        known = case.run.once(_facts_by_state)[case.state]
        if self._name not in known:
            known[self._name] = self._derive(case)
        found = case.__dict__[self._name] = cast("_T", known[self._name])
        return found


def _facts_by_state(_: RunTables) -> defaultdict[State, dict[str, object]]:
    return defaultdict(dict)


def dask_setting(config: Mapping[str, object], name: str) -> object:
    """Return a setting; None if it is not set.

    Args:
        name: As in Dask's documentation, with dots and hyphens.
    """
    found: object = config
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        # Where a variable sets it, Dask keeps the underscores.
        found = found.get(part, found.get(part.replace("-", "_")))
    return found


def subject_of(task: Row) -> Subject:
    """Return what a finding is about, of a row of `tasks` or `errors`."""
    return Subject(**{name: task.get(name) for name in ("key", "prefix", "worker")})


class Case:
    """The facts about a run that rules use; it does not change while they are asked.

    Args:
        thresholds: Numbers that the user changed, by `<slug>.<name>`.
        history: The runs before it, as far as they are known.
        verdict: Why the run failed, for rules that are asked once that is known.
        broken: Which rules could not run, and why, for the rule that reports it.
    """

    def __init__(
        self,
        run: RunTables,
        *,
        thresholds: Mapping[str, float] | None = None,
        history: History | None = None,
        verdict: Finding | None = None,
        broken: Iterable[str] = (),
    ) -> None:
        self.run: Final = run
        self.history: Final = history or History()
        self.verdict: Final = verdict
        self.broken: Final = tuple(broken)
        self._thresholds: Final = thresholds or {}
        self._none_results: Final[dict[str, NoneResult | None]] = {}

    def after(self, verdict: Finding | None, broken: Iterable[str] = ()) -> Case:
        """Return the case once its verdict is known; what was derived of the run is kept."""
        return Case(
            self.run,
            thresholds=self._thresholds,
            history=self.history,
            verdict=verdict,
            broken=broken,
        )

    @cached_property
    def state(self) -> State:
        """How the run ended."""
        return state_of(self.run)

    @property
    def failed(self) -> bool:
        """Whether the run needs a verdict."""
        return self.state in FAILED

    @property
    def exception(self) -> DriverException | None:
        """What ended the driver's work."""
        return self.outcome.exception

    @property
    def only_waited(self) -> bool:
        """Whether the driver's exception is only a timeout."""
        return self.exception is not None and only_waited(self.exception)

    @property
    def gave_no_reason(self) -> bool:
        """Whether the driver raised nothing, or only a timeout."""
        return self.exception is None or self.only_waited

    @property
    def lacked_workers(self) -> bool:
        """Whether the driver ended because there were no workers."""
        if self.deaths:
            return False
        hang, position = self.hang, self.driver_position
        if (hang is not None and not hang.workers) or (
            position is not None and position.in_client("wait_for_workers")
        ):
            return True
        never_seen = self.only_waited and not len(self.run.workers)
        asked = self.search_exception(NO_WORKER_TO_SCATTER_TO.pattern)
        return self.raised("WorkerStartTimeoutError") or bool(asked) or never_seen

    @_fact
    def gave_up_waiting(self) -> bool:
        """Whether the driver failed without what it had waited for in vain.

        It lacked something then, or its own code says that it ends, in whatever words.  What
        it had waited for was blocked, and still when the run ended.
        """
        hang, exception = self.standstill, self.exception
        if hang is None or exception is None:
            return False
        lacks = is_absence(exception.exception, exception.message)
        if not lacks and not raised_by_a_check(exception.traceback):
            return False
        return self._waited_in_vain(hang)

    def _waited_in_vain(self, hang: Hang) -> bool:
        """Return whether the driver's last wait for Dask came to nothing while nothing moved.

        A task that was running need not be blocked where a driver looks at it again and
        again; it is what the driver gave up where that ends after its only wait.
        """
        waits = [
            each.at
            for each in self.outcome.survived
            if each.at >= hang.since and is_wait(each.exception, each.message)
        ]
        decided = self.outcome.decided_at
        if decided is None or self._moved_again(hang):
            return False
        if hang.executing:
            return len(waits) == 1 and decided - waits[0] <= _AT_ONCE
        position = wait_before(self.run, decided)
        return bool(waits) or (position is not None and position.in_dask)

    def _moved_again(self, hang: Hang) -> bool:
        """Return whether a task finished after all, before the driver's work ended.

        Also in the last moments: that the driver then raises something is another matter.
        """
        decided = self.outcome.decided_at
        until = math.inf if decided is None else decided + self.outcome.clocks
        return finished_within(self.run, hang.at, until)

    @_fact
    def outcome(self) -> Outcome:
        """What ended the driver's work, and when that was decided."""
        return outcome_of(self.run)

    @_fact
    def teardown(self) -> Teardown:
        """What the driver's own script did to its cluster, and from when on."""
        return teardown_of(self.run, self.outcome)

    @_fact
    def recorded_cluster(self) -> bool:
        """Whether anything was recorded beyond the driver."""
        return bool(self.run.of(RecordingStarted) or self.run.of(SchedulerInfo))

    @_fact
    def clusterless(self) -> bool:
        """Whether only the driver was recorded, as it had no client."""
        return is_clusterless(self.run)

    @_fact
    def loads(self) -> Loads:
        """Where the core-seconds of the cluster went."""
        return Loads(self.run)

    @_fact
    def task_activity(self) -> TaskActivity:
        """What tasks and their processes spent beside computing."""
        return TaskActivity(self.run)

    @_fact
    def failures(self) -> tuple[TaskFailure, ...]:
        """The tasks that raised, by time."""
        known = failures_of(self.run)
        found = (*known, *only_of_driver(self.run, known, self.outcome))
        return tuple(sorted(found, key=lambda each: each.at))

    @_fact
    def unhandled_failures(self) -> tuple[TaskFailure, ...]:
        """The failed tasks but those whose error the driver received and handled."""
        handled = self.outcome.has_handled
        left_out = {key for each in self.run.of(DriverSkipped) for key in each.keys}
        return tuple(
            each
            for each in self.failures
            if each.key not in left_out
            and not handled(each.key, each.exception, each.message)
        )

    def none_result_behind(self, failure: TaskFailure) -> NoneResult | None:
        """Return the task whose None another task failed on; None if it did not."""
        if failure.key not in self._none_results:
            found = none_result_behind(self.run, failure)
            self._none_results[failure.key] = found
        return self._none_results[failure.key]

    @_fact
    def deaths(self) -> tuple[WorkerExit, ...]:
        """The workers that died, by time."""
        return deaths_of(self.run)

    @_fact
    def _causes(self) -> dict[int, ExitCause]:
        return {id(death): cause_of_exit(death, self.run) for death in self.deaths}

    def cause_of(self, death: WorkerExit) -> ExitCause:
        """Return the cause of one of `deaths`."""
        return self._causes[id(death)]

    @_fact
    def blame(self) -> Blame:
        """The failed task and the deaths that the run's failure comes from."""
        if not self.failed:
            return Blame()
        return blame_of(self._end_of_work)

    @_fact
    def _end_of_work(self) -> EndOfWork:
        finished = self.run.tasks.filter(FINISHED)["prefix"].unique().drop_nulls()
        return EndOfWork(
            state=self.state,
            outcome=self.outcome,
            failures=failures_that_count(
                self.failures, self.outcome, frozenset(finished)
            ),
            unreceived=self.unreceived,
            dead=tuple((death, self.cause_of(death)) for death in self.deaths),
            recovered=self._recovered_deaths,
            no_worker_left=self.no_worker_left,
            last_worker_died=self._last_worker_died,
            blocked=self.standstill is not None,
            gave_up=self.gave_up_waiting,
            killed_repeatedly=self._kills_workers_repeatedly,
            printed=number_of_printed_failures(self.run),
        )

    @_fact
    def no_worker_left(self) -> bool:
        """Whether all workers had left when the outcome was decided, or there was none."""
        left = self.run.workers.select(epoch("left"))["left"]
        return not left.has_nulls() and not any(map(self.outcome.is_after, left))

    @property
    def _last_worker_died(self) -> bool:
        """Whether all workers had left, and the one that left last had died."""
        if not self.no_worker_left or self.run.workers.is_empty():
            return False
        last = self.run.workers.sort("left")["address"][-1]
        return any(death.address == last for death in self.deaths)

    @_fact
    def unreceived(self) -> frozenset[str]:
        """The keys of failed tasks whose error no call of the driver received (`fire_and_forget`)."""
        received = {each.key for each in self.outcome.received}
        received |= {key for each in self.run.of(DriverSkipped) for key in each.keys}
        texts = {(each.exception, each.message) for each in self.outcome.received}
        return frozenset(
            each.key
            for each in self.failures
            if each.key not in received and (each.exception, each.message) not in texts
        )

    @_fact
    def _recovered_deaths(self) -> tuple[WorkerExit, ...]:
        """The deaths whose work was completed elsewhere before the run ended."""
        done = self.run.tasks.filter(FINISHED)
        last = done.group_by("key", maintain_order=True).agg(
            pl.col("stop").max().dt.epoch("us") / 1e6
        )
        ended: dict[str, float] = dict(last.drop_nulls().iter_rows())
        return tuple(
            death
            for death in self.deaths
            if not death.lost_scattered
            and all(ended.get(key, 0.0) > death.at for key in death.running_on)
        )

    @property
    def _kills_workers_repeatedly(self) -> bool:
        """Whether a task had ended worker after worker when the driver ended, or gave up.

        Dask gives it up after `allowed-failures` deaths; where that was raised, a host's
        time limit ends the run before.
        """
        asked = self.exception is None and signal_of_driver(self.run) in ASKED
        if not self.deaths or not (
            asked or self.only_waited or self.raised("KeyboardInterrupt")
        ):
            return False
        times = Counter(key for death in self.deaths for key in set(death.executing))
        again = {key for key, deaths in times.items() if deaths > 1}
        ended = self.run.tasks.filter(FINISHED)["key"]
        again -= {*ended.to_list(), *(failure.key for failure in self.failures)}
        recent = last_sign_of_life(self.run) - self.deaths[-1].at < _RECENT
        return recent and any(key in again for key in self.deaths[-1].executing)

    def worth_reporting(self, cost: float, share: float, least: float) -> bool:
        """Return whether a loss is worth a finding: the shorter it was, the larger its share.

        The scheduler is sampled once a second, and workers now and then wait for nothing in
        particular: of a loss of a moment, only a blatant share is no noise.

        Args:
            cost: Thread-seconds.
            share: What part that is of what the run had.
            least: From which share on a long loss is reported.
        """
        seconds = cost / max(self.loads.threads.highest, 1.0)
        if seconds < _MOMENT or cost < _LEAST_SHARE * self.loads.all_capacity:
            return False
        return share >= min(_LARGE_SHARE, least * max(1.0, math.sqrt(_LONG / seconds)))

    @property
    def dialect(self) -> RemedyDialect:
        """How the host that started the run puts remedies."""
        return dialect_of(self.run.manifest.host_kind)

    def threshold(self, name: str, default: float) -> float:
        """Return the number `<slug>.<name>` of the user's settings, or the default."""
        return float(self._thresholds.get(name, default))

    def raised(self, *classes: str) -> bool:
        """Return whether the driver's exception, or one it was chained to, is of a class.

        Args:
            classes: Bare names, without module.
        """
        if self.exception is None:
            return False
        return any(class_of(n) in classes for n in classes_of(self.exception))

    def search_exception(self, pattern: str) -> re.Match[str] | None:
        """Search the message of the driver's exception, its traceback, and what `from None` hid."""
        if self.exception is None:
            return None
        found = bounded(pattern, re.DOTALL).search(self.exception.message)
        texts = (self.exception.traceback, *self.exception.handled)
        return found or next(
            filter(None, (bounded(pattern).search(e) for e in texts)), None
        )

    def prefix_of(self, key: str) -> str:
        """Return the prefix of a key."""
        return self._prefixes.get(key) or prefix_of(key)

    def subject(self, key: str | None, worker: str | None = None) -> Subject:
        """Return what a finding about a task is about; a key that is not known has no prefix."""
        prefix = self.prefix_of(key) if key else None
        return Subject(key=key, prefix=prefix, worker=worker)

    @_fact
    def _prefixes(self) -> dict[str, str]:
        errors = self.run.errors.select("key", "prefix").drop_nulls().unique()
        return dict(errors.iter_rows())

    def name_of(self, address: str, pid: int | None = None) -> str:
        """Return how people call a worker: its name and address, and its process if given."""
        name = self._names.get(address)
        process = "" if pid is None else f"pid {pid}"
        if name:
            return f"worker {name} ({', '.join(filter(None, [address, process]))})"
        return f"worker {address} ({process})" if process else f"worker {address}"

    @_fact
    def _names(self) -> dict[str, str]:
        named = self.run.workers.select("address", "name").drop_nulls()
        return {a: n for a, n in named.iter_rows() if n != a}

    def show_command(self, verb: str, *options: str) -> str:
        """Return the command that shows a piece of evidence."""
        reported = self.run.manifest
        run = run_argument(
            self.run.url, reported.job, reported.run_id, reported.attempt
        )
        return command(verb, run, *options)

    def line_evidence(self, row: Row, *options: str, longest: int = 300) -> Evidence:
        """Return a line of the log as evidence.

        Args:
            options: Of the command that shows it; none: the lines of its role.
        """
        who = capital(process_name(row["role"], row["source"]))
        return Evidence(
            text=f"{who}: {short(without_traceback(row['message']), longest)}",
            source="logs",
            at=row["at"].timestamp(),
            see=self.show_command("logs", *(options or ("--role", row["role"]))),
        )

    def output_evidence(self, printed: PrintedFailure, what: str = "") -> Evidence:
        """Return what a thread or program of the driver printed, as evidence."""
        return Evidence(
            text=f"The driver's standard error{what}: {printed.text}",
            source="logs",
            at=printed.at,
            see=self.show_command("logs", "--role", "driver"),
        )

    @_fact
    def standstill(self) -> Hang | None:
        """What was blocked when the run ended, whatever ended it."""
        return hang_of(self.run)

    @property
    def hang(self) -> Hang | None:
        """What the driver was still waiting for when the run ended, if it only waited."""
        if not self.failed or self.blame.failure is not None:
            return None
        return self.standstill if self.only_waits else None

    @property
    def only_waits(self) -> bool:
        """Whether nothing but a wait is known to have ended the run."""
        gave_up = self.raised("KeyboardInterrupt") or self.gave_up_waiting
        return self.gave_no_reason or gave_up

    @_fact
    def killed_in_a_shell(self) -> bool:
        """Whether a shell exited with the code of a driver that a signal had ended.

        A driver that exits by itself closes its client, or reports its exit code.
        """
        code = exit_code_of_driver(self.run) or 0
        if self.state != "failed" or self.exception is not None or code <= SHELLS:
            return False
        command = {each.pid for each in self.run.of(CommandStarted)}
        ended = {each.pid for each in self.run.of(DriverExit)}
        ended |= {each.pid for each in self.run.of(DriverClosing)}
        attached = self.run.of(DriverAttached)
        last = attached[-1].pid if attached else None
        return bool(command) and last is not None and last not in command | ended

    @property
    def hang_confidence(self) -> Confidence:
        """How sure it is that the hang ended the run, by what the driver raised."""
        exception = self.exception
        waited = exception is not None and timed_out_waiting(exception)
        return "high" if waited else "medium"

    @_fact
    def driver_position(self) -> DriverPosition | None:
        """Where the driver was when it was stopped, if there is no traceback."""
        if self.exception is not None and not self.raised("KeyboardInterrupt"):
            return None
        return driver_position_of(self.run)

    def stall(self) -> str | None:
        """Return a sentence on what was blocked when the run ended, if anything did."""
        hang = self.standstill
        if hang is None:
            return None
        waiting = [f"{n} {state}" for state, n in hang.states.items()]
        return (
            f"No task had finished for {duration(hang.lasted)}: "
            f"{counted(hang.workers, 'worker')}, {len(hang.paused)} of them paused; "
            f"tasks: {', '.join(waiting) or 'none'}."
        )

    def exception_evidence(self) -> tuple[Evidence, ...]:
        """Return the driver's exception as evidence."""
        if self.exception is None:
            return ()
        got = class_of(self.exception.exception)
        name, message, _ = untangled(got, self.exception.message)
        what = got if name == got else f"{got} instead of {name}"
        own = (self.exception.exception, self.exception.message)
        tests = [
            e.test for e in self.run.of(TestFailed) if own == (e.exception, e.message)
        ]
        handled = self.outcome.reason is not None
        did = "The driver received and handled" if handled else "The driver raised"
        text = f"The test '{tests[0]}' failed with" if tests else did
        text += f" {what}: {message}" if message else f" {what}"
        at = self.outcome.decided_at
        passed_on = self.outcome.passed_on
        if passed_on is not None:
            program = text.replace("The driver", "A program of the driver")
            got = class_of(passed_on.exception)
            text = (
                f"The driver raised {got} with that program's exit code: "
                f"{passed_on.message}"
            )
            return (
                Evidence(text=program[:600], source="driver"),
                Evidence(text=text[:600], source="driver", at=at),
            )
        then = self.outcome.then
        if then is not None:
            text = f"{text[:400]}; then it raised {class_of(then.exception)}: {then.message}"
        elif handled:
            output = last_output(self.run)
            text = f"{text[:400]}; then it exited with code {self.outcome.exit_code}"
            text += f": “{short(output, 160)}”" if output else ""
        return (Evidence(text=text[:600], source="driver", at=at),)
