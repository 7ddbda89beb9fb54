"""Tasks that raised, those that only inherited a failure, and whose None they failed on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.facts.outcome import Outcome
from dask_blackbox.analyse.frames import (
    Frame,
    Raised,
    failed_while_handling,
    members_of_group,
    raised_at_end,
    root_of_chain,
    traceback_in,
    untangled,
    user_frame,
    user_frames,
    without_last_exception,
)
from dask_blackbox.analyse.retry_advice import Advice, advice_on_text, passes
from dask_blackbox.analyse.signatures.distributed import TASK_KILLED_ITS_WORKERS
from dask_blackbox.analyse.symptoms import is_wait
from dask_blackbox.events import (
    DriverCallFailed,
    TaskRetries,
    TaskTimedOut,
)
from dask_blackbox.finding import Evidence, Subject, lowest_confidence
from dask_blackbox.formatting import class_of, prefix_of, short
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, RunTables
from dask_blackbox.tables.schemas import Row

NOT_INHERITED = pl.col("cause").is_null() | (pl.col("cause") == pl.col("key"))
"""Of the rows of `errors`, those of tasks that raised themselves."""
_COMPARED = 200  # characters of messages; the driver's are cut
_NOT_OF_TASKS = ("asyncio", "concurrent", "dask", "distributed")
_NO_TEXT = "<exception str() failed>"  # Python's own words


@dataclass(frozen=True)
class TaskFailure:
    """A task that raised, not one that inherited a failure.

    Attributes:
        key: Of the task.
        prefix: Its group of like tasks.
        worker: Address of the worker that it ran on.
        at: Epoch seconds.
        killed: It never raised: its workers died.
        exception: Qualified name of the exception's class.
        message: Its text.
        traceback: Its traceback, chained causes included where known.
        attempts: How often it was tried.
        dependents: How many tasks could not run because of it.
        bases: What the exception's class derives from, where that is recorded.
    """

    key: str
    prefix: str
    worker: str | None
    at: float
    killed: bool
    exception: str
    message: str
    traceback: str = field(default="", repr=False)
    attempts: int = 1
    dependents: int = 0
    bases: tuple[str, ...] = ()

    @property
    def subject(self) -> Subject:
        """The task, as findings name it."""
        return Subject(key=self.key, prefix=self.prefix or None, worker=self.worker)

    @cached_property
    def frame(self) -> Frame | None:
        """The innermost line of the user's own code."""
        return user_frame(self.own_traceback)

    @property
    def called(self) -> str:
        """What people call the task: the user's own function rather than Dask's fused name."""
        return called(self.prefix, self.own_traceback)

    @property
    def own_traceback(self) -> str:
        """The traceback, without what was raised of the exception's text."""
        return self.traceback if self._unprintable is None else self._before_the_last

    @cached_property
    def _before_the_last(self) -> str:
        return without_last_exception(self.traceback)

    @cached_property
    def _unprintable(self) -> str | None:
        """Class of the exception that had failed as Dask asked it for its text, or None."""
        before = raised_at_end(self._before_the_last)
        return before[0] if before is not None and before[1] == _NO_TEXT else None

    @cached_property
    def root(self) -> tuple[str, str] | None:
        """Class and message of the first exception of a chain, if there is one."""
        return root_of_chain(self.traceback)

    @cached_property
    def handled(self) -> tuple[str, str] | None:
        """Class and message of what its function was handling as it raised this by mistake."""
        return failed_while_handling(self.traceback)

    @cached_property
    def members(self) -> tuple[tuple[str, str], ...]:
        """Class and message of each exception of a group, if it was one."""
        return members_of_group(self.traceback)

    @property
    def message_of(self) -> tuple[str, str]:
        """Class and message that decide whether trying again helps.

        Of a group, the worst; of a chain, the first, if the last says nothing about it.
        """
        name, message, how = self.raised
        members = list(self.members)
        lasting = [each for each in members if not passes(each[0])]
        itself = (name if how else self.exception, message)
        if self.root and not members:
            own = advice_on_text(*itself, self.bases).advice
            first = advice_on_text(*self.root).advice
            # A class that says nothing of its own, or a mistake made while handling one.
            if own in ("unknown", "code") and first not in (own, "unknown"):
                return self.root
        return (lasting or members or [itself])[0]

    @cached_property
    def advice(self) -> Advice:
        """Whether a retry helps, as far as class and message say."""
        own = self.message_of == (self.exception, self.message)
        reported = advice_on_text(
            *self.message_of,
            self.bases if own else (),
            self.own_traceback if own else "",
        )
        if own or self.members or self.raised.how:
            return reported
        # What the job's own code made of the first exception may mean something else.
        return reported._replace(
            confidence=lowest_confidence(reported.confidence, "medium")
        )

    @cached_property
    def raised(self) -> Raised:
        """Name of the class that was raised, and its message."""
        if self._unprintable is not None:
            why = f"its text raises {class_of(self.exception)}: {self.message}"
            return Raised(class_of(self._unprintable), why, "unprintable")
        return untangled(self.exception, self.message)

    def evidence(self, longest: int) -> Evidence:
        """Return the failure, in so many characters, as evidence."""
        text = f"{self.key}: {short(str(self), longest)}"
        return Evidence(text=text, source="errors", at=self.at)

    def __str__(self) -> str:
        name, message, _ = self.raised
        return f"{name}: {message}" if message else name


def failures_of(run: RunTables) -> tuple[TaskFailure, ...]:
    """Return the tasks that raised, by time; one entry for each key."""
    final = run.errors.filter(pl.col("outcome").is_in(["erred", "killed"])).sort("at")
    if not len(final):
        return ()
    if run.ending is not None and run.ending.exception is None:
        # The driver may have failed on one that another client requested again.
        final = final.join(succeeded_later(run), on=["key", "at"], how="anti")
    own = NOT_INHERITED
    inherited = (
        final.filter(~own).unique("key").group_by("cause", maintain_order=True).len()
    )
    dependents = dict(inherited.iter_rows())
    retries, of_host = _dask_retries(run), host_retries(run)
    failures: dict[str, TaskFailure] = {}
    for row in final.filter(own).iter_rows(named=True):
        key = row["key"]
        if key not in failures or row["exception"]:
            attempts = (1 + retries.get(key, 0)) * (1 + of_host.get(key, 0))
            failures[key] = _failure_of(row, attempts, dependents.get(key, 0))
    return tuple(failures.values())


def _failure_of(row: Row, attempts: int, dependents: int) -> TaskFailure:
    return TaskFailure(
        key=row["key"],
        prefix=row["prefix"] or "",
        worker=row["worker"] or None,
        at=row["at"].timestamp(),
        # The scheduler has reasons of its own to fail a task; only this one is a death.
        killed=row["outcome"] == "killed"
        and class_of(row["exception"] or "KilledWorker") == "KilledWorker",
        exception=row["exception"] or "",
        message=row["message"] or "",
        traceback=row["traceback"] or "",
        attempts=attempts,
        dependents=dependents,
        bases=tuple(row["bases"].split(", ")) if row["bases"] else (),
    )


def called(prefix: str, traceback: str) -> str:
    """Return the user's function that a task of a prefix called when it raised, or the prefix.

    Tasks whose keys the user chose (`stock-linen`, `stock-silk`) may have a prefix each.
    """
    own = [frame.function for frame in user_frames(traceback)]
    names = [name for name in own if not name.startswith(("<", "__"))]
    return prefix if not names or prefix in names else names[0]


def succeeded_later(run: RunTables) -> pl.DataFrame:
    """Return the rows of tasks that raised in the end, and were asked again and succeeded.

    By `client.retry`, most often.
    """
    erred = run.errors.filter(pl.col("outcome") == "erred")
    if not len(erred):
        return erred
    asked = pl.col("key").is_in(erred["key"].unique().to_list())
    last = run.tasks.filter(asked & FINISHED)
    well = last.group_by("key", maintain_order=True).agg(
        pl.col("start").max().alias("again")
    )
    return (
        erred.join(well, on="key", how="inner")
        .filter(pl.col("again") > pl.col("at"))
        .drop("again")
    )


def host_retries(run: RunTables) -> dict[str, int]:
    """Return how often the host had retried a task within one execution, by its key."""
    retries_of = {each.subject: each.retries or 0 for each in run.of(TaskTimedOut)}
    return retries_of | {
        each.subject: each.retries or 0 for each in run.of(TaskRetries)
    }


def _dask_retries(run: RunTables) -> dict[str, int]:
    """Return how often each key failed and Dask retried it."""
    retried = run.errors.filter(pl.col("outcome") == "retried")
    return dict(retried.group_by("key", maintain_order=True).len().iter_rows())


def blamed_key(message: str) -> str | None:
    """Return the key that a `KilledWorker` message blames, or None."""
    found = TASK_KILLED_ITS_WORKERS.search(message)
    return found["key"] if found else None


_NONE = "NoneType"


@dataclass(frozen=True)
class NoneResult:
    """The result that a task failed on.

    Attributes:
        key: Of a task that returned None.
        prefix: Of that task.
        number: How many tasks of the prefix returned None.
        finished: How many of them finished.
    """

    key: str
    prefix: str
    number: int
    finished: int


def none_result_behind(run: RunTables, failure: TaskFailure) -> NoneResult | None:
    """Return the task whose None another task failed on; None if it did not.

    Its exception names the type, and the last input of it, or of one that failed like it,
    had that.
    """
    if _NONE not in failure.message:
        return None
    tasks = run.tasks.select("key", "prefix", "outcome", "typename", "last_input")
    finished = tasks.filter(FINISHED)
    of_none = finished.filter(pl.col("typename") == _NONE)
    # Of several inputs, the last one need not be the one that is None: others say more.
    alike = tasks.filter(
        (pl.col("prefix") == failure.prefix) & (pl.col("outcome") == "erred")
    )
    own = alike.filter(pl.col("key") == failure.key)
    for failed in (own, alike):
        made = of_none.filter(pl.col("key").is_in(failed["last_input"].to_list()))
        if len(made):
            break
    else:
        return None
    prefix = str(made["prefix"][0])
    return NoneResult(
        key=str(made["key"][0]),
        prefix=prefix,
        number=of_none.filter(pl.col("prefix") == prefix)["key"].n_unique(),
        finished=finished.filter(pl.col("prefix") == prefix)["key"].n_unique(),
    )


_QUOTED = bounded(
    r'_RemoteTraceback: \n"""\n(?P<text>Traceback .{0,}?)\n?"""\n', re.DOTALL
)
_BATCH = bounded(r'File "[^"]*joblib[/\\]_dask\.py", line \d+, in __call__')
_FUNCTION = bounded(r"^(?:mixed_)?batch_of_(?P<name>.+)_\d+_calls$")
_FRAME = bounded(r'File "[^"]+", line \d+, in (?P<name>\S+)')


def only_of_driver(
    run: RunTables, known: Sequence[TaskFailure], outcome: Outcome
) -> tuple[TaskFailure, ...]:
    """Return the failed tasks of which only the driver reported.

    Args:
        run: The run.
        known: Those that the cluster reported.
        outcome: What ended the driver's work.
    """
    returned = returned_error_of(run, outcome)
    found = (*unreported_failures(run, known), *filter(None, [returned]))
    keys = {each.key for each in known}
    return tuple(each for each in found if each.key not in keys)


def unreported_failures(
    run: RunTables, known: Sequence[TaskFailure]
) -> tuple[TaskFailure, ...]:
    """Return the failed tasks of which only the driver reported, as their scheduler was lost.

    A future has the exception of the task that it needs: which one raised it is not known.
    """
    if not any(source.startswith("scheduler") for source in missing_from(run)):
        return ()
    keys = {each.key for each in known} | {*run.errors["key"]}
    keys |= {*run.tasks.filter(FINISHED)["key"]}
    texts = {(each.exception, each.message[:_COMPARED]) for each in known}
    found, last = (
        dict[str, TaskFailure](),
        None if run.ending is None else run.ending.exception,
    )
    for call in run.of(DriverCallFailed):
        of_dask = call.exception.partition(".")[0] in _NOT_OF_TASKS
        # A limit of the call, or of the job, of which the future's key says nothing.
        of_dask = of_dask or is_wait(call.exception, "")
        inherited = (call.exception, call.message[:_COMPARED]) in texts
        if call.key is None or call.key in keys or of_dask or inherited:
            continue
        found[call.key] = TaskFailure(
            key=call.key,
            prefix=prefix_of(call.key),
            worker=None,
            at=call.at,
            killed=False,
            exception=call.exception,
            message=call.message,
            traceback=last.traceback
            if last is not None and call.identity in last.chain_ids
            else "",
            bases=call.bases,
        )
    return tuple(found.values())


def returned_error_of(run: RunTables, outcome: Outcome) -> TaskFailure | None:
    """Return the error of a task that ended the driver's work as a value, if one did.

    Where several tasks may be meant, its key is their prefix, and its worker is not known.
    """
    exception = outcome.exception
    returned = None if exception is None else _returned_in(exception)
    if returned is None:
        return None
    name, message, text = returned
    names = set(_FRAME.findall(text))
    done = run.tasks.filter(
        FINISHED
        & pl.col("prefix").str.contains(_FUNCTION.pattern.replace("?P<name>", ""))
    ).sort("stop")
    named = [p for p in done["prefix"].unique(maintain_order=True) if _is_of(p, names)]
    own = done.filter(pl.col("prefix").is_in(named)) if named else done
    if not len(own) or not (named or _BATCH.search(text)):
        return None
    last = own.row(-1, named=True)
    only = len(own) == 1
    return TaskFailure(
        key=last["key"] if only else last["prefix"],
        prefix=last["prefix"],
        worker=last["worker"] if only else None,
        at=last["stop"].timestamp() if only else outcome.decided_at or 0.0,
        killed=False,
        exception=name,
        message=message,
        traceback=text,
    )


def _returned_in(exception: DriverException) -> tuple[str, str, str] | None:
    """Return class, message and traceback of an error that a library had collected.

    Python prints the traceback of another process with it, or the library wrote it into its
    own message, as scikit-learn does of fits that failed.
    """
    quoted = _QUOTED.search(exception.traceback)
    if quoted is not None and _BATCH.search(quoted["text"]):
        return exception.exception, exception.message, quoted["text"]
    text = traceback_in(exception.message)
    raised = raised_at_end(text)
    return None if raised is None else (*raised, text)


def is_batch(prefix: str) -> bool:
    """Return whether tasks of a prefix are joblib's, each of which makes several calls."""
    return _FUNCTION.match(prefix) is not None


def _is_of(prefix: str, names: set[str]) -> bool:
    """Return whether a batch calls one of some functions."""
    found = _FUNCTION.match(prefix)
    return found is not None and found["name"] in names
