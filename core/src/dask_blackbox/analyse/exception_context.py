"""What was before and around an exception of a task, or of the driver."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import PrintedFailure, printed_failures
from dask_blackbox.analyse.driver_position import DriverPosition
from dask_blackbox.analyse.exception_origin import is_lost
from dask_blackbox.analyse.facts.devices import device_use_before, devices_of
from dask_blackbox.analyse.failures import NOT_INHERITED, TaskFailure
from dask_blackbox.analyse.frames import (
    call_path_of,
    end_of,
    last_frame,
    lost_by_client,
    user_frame,
)
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    PRELOAD_FAILED,
    WORKER_PLUGIN_FAILED,
)
from dask_blackbox.analyse.signatures.frequent import GPU_MEMORY_EXHAUSTED
from dask_blackbox.analyse.symptoms import is_symptom
from dask_blackbox.events import DriverAttached, GraphUpdated
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import (
    class_of,
    code_line,
    counted,
    duration,
    listed,
    short,
    short_with_paths,
    size,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

_LACKED = frozenset((
    "BrokenBarrierError", "BrokenPipeError", "Empty", "EOFError", "FileNotFoundError", "Full",
))  # fmt: skip
"""What Python raises where something that another thread was to make or take is not there."""


def evidence_of_failure(
    case: Case, failure: TaskFailure, text: str
) -> Iterator[Evidence]:
    """Yield what a task raised, in the words of `text`, and the end of its traceback."""
    worker, at = failure.worker, failure.at
    yield Evidence(
        text=f"{failure.key}{f' on {worker}' if worker else ''}: {text}",
        source="errors",
        at=at,
        see=case.show_command("logs", "--worker", worker) if worker else None,
    )
    if tail := end_of(failure.traceback):
        yield Evidence(text=tail[:1500], source="errors", at=at)
    yield from _of_its_device(case, failure)


def _of_its_device(case: Case, failure: TaskFailure) -> Iterator[Evidence]:
    """Yield how full the GPU was whose memory was exhausted, as it was sampled before."""
    said = (failure.raised.message, *(failure.root or ()))
    worker = failure.worker or ""
    device = devices_of(case.run).get(worker)
    if device is None or not any(map(GPU_MEMORY_EXHAUSTED.search, said)):
        return
    name = f" ({device.name})" if device.name else ""
    of = f" of {size(device.total)}" if device.total else ""
    used = device_use_before(case.run, worker, failure.at)
    text = f"it has {size(device.total)}" if device.total else ""
    if used is not None and device.peak is not None:
        ago = duration(max(failure.at - used[0], 0.0))
        text = (
            f"{size(used[1])}{of} were in use {ago} before; the most in any sample of the "
            f"run was {size(device.peak)}"
        )
    if text:
        yield Evidence(
            text=f"The memory of the GPU{name} of {case.name_of(worker)}: {text}.",
            source="metrics",
            at=used[0] if used is not None else failure.at,
        )


def in_brackets(case: Case, failure: TaskFailure, *, briefly: bool = False) -> str:
    """Return how many tasks failed as one did, for a title; nothing if it is alone."""
    alike = same_failures(case.run, failure)
    if alike.failed == 1:
        return ""
    way = "" if briefly else " failed in the same way"
    if alike.planned > alike.attempted:
        return (
            f" ({alike.failed:,} of {alike.attempted:,} executed tasks{way}; "
            f"{alike.planned:,} tasks in all)"
        )
    return f" ({alike.failed:,} of {alike.attempted:,} tasks{way})"


def similar_failures(case: Case, failure: TaskFailure, *, known: int) -> Iterator[str]:
    """Yield how many tasks failed in the same way, if there are more than are reported already."""
    alike = same_failures(case.run, failure)
    if alike.failed > known:
        yield (
            f"{alike.failed:,} of {counted(alike.attempted, 'executed task')} of "
            f"'{short(failure.prefix, 40)}' failed in the same way"
        )


def call_path(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield the call path to what raised, and its caller, if no line is the user's."""
    if failure.frame is not None or not failure.traceback:
        return
    way = " → ".join(f"`{name}`" for name in call_path_of(failure.traceback))
    if way:
        yield f"It was raised in {way}"
    exception = case.exception
    if exception and exception.file and failure is case.blame.failure:
        # It may have been handling it when it failed again.
        received = (
            each
            for each in case.outcome.received
            if each.file
            and f"{class_of(each.exception)}: {each.message}" == str(failure)
        )
        yield f"The driver requested it at {code_line(next(received, exception))}"


def exception_details(failure: TaskFailure) -> Iterator[str]:
    """Yield what was before the exception that the driver got."""
    name, _, how = failure.raised
    if how == "quoted":
        yield (
            f"The {name} cannot be pickled, so the driver received an `Exception` with "
            "its text instead"
        )
    if how == "cut":
        cut = "Dask cut its long message (`distributed.admin.max-error-length`)"
        other = f" and replaced the exception, so the driver could not catch {name}"
        yield cut if class_of(failure.exception) == name else cut + other
    if how == "unprintable":
        yield (
            f"Converting the {name} to text raised an exception, so the driver "
            f"received a {class_of(failure.exception)} instead"
        )
        if failure.root is not None and class_of(failure.root[0]) == name:
            return
    if failure.members:
        texts = [
            f"{class_of(n)}: {short(m, 100)}".rstrip(": ") for n, m in failure.members
        ]
        yield f"Exceptions in the group: {listed(texts)}"
    if failure.handled is not None:
        first, message = failure.handled
        text = f"{class_of(first)}: {short(message, 200)}".rstrip(": .")
        yield f"That function was handling another exception then, {text}"
    known = (failure.message, *(failure.handled or ())[1:])
    if failure.root is not None and failure.root[1] not in known:
        root = f"{class_of(failure.root[0])}: {short(failure.root[1], 200)}"
        yield f"Original exception: {root}".rstrip(": .")


def unraised_exception(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield why the driver received an exception without the task's error."""
    exception = case.exception
    if failure is not case.blame.failure:
        return
    if exception and lost_by_client(exception):
        became = f"the driver received {class_of(exception.exception)} from the client"
    elif exception is None and case.state != "failed" and is_lost(failure):
        became = "the driver waited for the task until it was stopped"
    else:
        return
    yield (
        f"{failure.raised.name} is not a subclass of `Exception`, so Dask's client "
        f"does not raise it in the driver: {became}"
    )


def raised_before(case: Case, failure: TaskFailure) -> list[str]:
    """Return what earlier attempts of a task had raised, if that was something else."""
    return [
        f"{class_of(name)} ({short(message, 120)})" if message else class_of(name)
        for name, message, *_ in errors_before(case, failure)
    ]


class EarlierError(NamedTuple):
    """What an earlier attempt of a task had raised."""

    exception: str
    message: str
    at: float
    traceback: str


def errors_before(case: Case, failure: TaskFailure) -> list[EarlierError]:
    """Return the errors of a task's earlier attempts, of each other class the first.

    A later attempt may fail on what the first one left: half a file, an input
    that was changed in place.
    """
    rows = case.run.errors.filter(
        (pl.col("key") == failure.key) & (pl.col("outcome") == "retried")
    )
    found: dict[str, EarlierError] = {}
    at = pl.col("at").dt.epoch("us") / 1e6
    for name, message, when, traceback in (
        rows.sort("at").select("exception", "message", at, "traceback").iter_rows()
    ):
        if name and class_of(name) != failure.raised.name:
            error = EarlierError(name, message or "", when, traceback or "")
            found.setdefault(class_of(name), error)
    return list(found.values())


def dead_at(case: Case, failure: TaskFailure) -> Counter[str]:
    """Return why workers died while they were executing a task that raised later."""
    return Counter(
        case.cause_of(death).slug
        for death in case.deaths
        if failure.key in death.executing and death.at <= failure.at
    )


def earlier_problems(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield what had gone wrong before it raised: deaths at the same task, its worker's setup."""
    dead = dead_at(case, failure)
    if dead:
        yield (
            f"{counted(sum(dead.values()), 'worker')} had died before while running it "
            f"({', '.join(dead)}). It was retried, and the retry may have found "
            "partial output of that attempt"
        )
    if unset := setup_failed_before(case, failure):
        yield unset.sentence


_RAISED = ("erred", "released")
_MOST = 1_000


@dataclass(frozen=True, kw_only=True)
class FailedAlike:
    """Tasks that failed as one did.

    Attributes:
        failed: How many tasks raised the same class at the same line, that one included.
        attempted: How many tasks of its prefix were executed, however that ended.
        planned: How many its graph had; 0 if that was not recorded.
    """

    failed: int
    attempted: int
    planned: int = 0


def same_failures(run: RunTables, failure: TaskFailure) -> FailedAlike:
    """Return how many tasks failed as one did.

    Those count that Dask had released when they raised, as the driver no longer waited for them.
    """
    same = pl.col("prefix") == failure.prefix
    raised = run.errors.filter(same & NOT_INHERITED & pl.col("outcome").is_in(_RAISED))
    alike = raised.filter(pl.col("exception") == failure.exception).unique(
        "key", maintain_order=True
    )
    place = _place(failure.traceback)
    failed = sum(
        key == failure.key or _place(traceback or "") == place
        for key, traceback in alike.select("key", "traceback").head(_MOST).iter_rows()
    )
    executed = run.tasks.filter(same)["key"]
    attempted = pl.concat([executed, raised["key"]]).n_unique()
    graphs = [each for each in run.of(GraphUpdated) if each.at <= failure.at]
    planned = [
        number for each in graphs if (number := each.prefixes.get(failure.prefix))
    ]
    return FailedAlike(
        failed=max(failed, 1),
        attempted=max(attempted, failed, 1),
        planned=planned[-1] if planned else 0,
    )


def _place(traceback: str) -> tuple[str, int] | None:
    """Return file and line that raised, of the user's own code if it went through that."""
    frame = user_frame(traceback) or last_frame(traceback)
    return None if frame is None else (frame.file, frame.line)


_SETUP_FAILURES = ((WORKER_PLUGIN_FAILED, "plugin"), (PRELOAD_FAILED, "preload"))
_SOON = timedelta(seconds=2)
_RAISED_LINE = bounded(r"^(?P<name>[A-Za-z_][\w.]*): (?P<message>.+)$", re.MULTILINE)


class FailedSetup(NamedTuple):
    """Something that had failed when a worker was set up.

    Attributes:
        title: It, in a few words.
        sentence: What happened.
        evidence: The line that reports it.
    """

    title: str
    sentence: str
    evidence: Evidence


def setup_failed_before(case: Case, failure: TaskFailure) -> FailedSetup | None:
    """Return what had failed to set up on the worker where a task failed."""
    if failure.worker is None:
        return None
    # What it logged before it was recorded is on the stderr that it shares with the script.
    own = ((pl.col("role") == "worker") & (pl.col("source") == failure.worker)) | (
        (pl.col("role") == "driver") & (pl.col("logger") == "stderr")
    )
    logs = lines_of(case.run, *(signature for signature, _ in _SETUP_FAILURES))
    logs = logs.filter(own).sort(pl.col("role") == "worker", "at")
    before = [row for row in logs.to_dicts() if row["at"].timestamp() <= failure.at]
    if not before:
        return None
    row = before[-1]
    text = str(row["message"])
    if row["role"] == "driver":
        text = "\n".join([text, *_printed_after(case, row["at"])])
    what, kind = next(
        (found["what"], kind)
        for signature, kind in _SETUP_FAILURES
        if (found := signature.search(text))
    )
    raised = list(_RAISED_LINE.finditer(text))
    because = (
        f" ({class_of(raised[-1]['name'])}: {short(raised[-1]['message'], 160)})"
        if raised
        else ""
    )
    where = (
        "that worker" if row["role"] == "worker" else "a worker that the script started"
    )
    what = what.rpartition("/")[2]
    title = f"{kind.capitalize()} '{short(what, 40)}' failed to set up{because}"
    sentence = (
        f"Earlier, the {kind} '{short(what, 60)}' had failed to set up on "
        f"{where}{because}, and Dask continued without it"
    )
    evidence = case.line_evidence({**row, "message": text}, "--worker", failure.worker)
    return FailedSetup(short_with_paths(title, 120), sentence, evidence)


def _printed_after(case: Case, at: datetime) -> list[str]:
    """Return the first exception that was printed after a line of a worker's own log."""
    printed = case.run.logs.filter(
        (pl.col("role") == "driver")
        & (pl.col("logger") == "stderr")
        & pl.col("at").is_between(at, at + _SOON)
        & pl.col("message").str.contains(r"^[A-Za-z_][\w.]*(?:Error|Exception): ")
    )
    return printed["message"].head(1).to_list()


def ended_thread(
    case: Case, exception: DriverException | None
) -> PrintedFailure | None:
    """Return the first thread, or callback, of the driver's that had failed of its own.

    Args:
        case: The run.
        exception: What ended the driver, whose traceback may have been printed, too.
    """
    chain = () if exception is None else (exception.exception, *exception.chain)
    own = {class_of(name) for name in chain}
    return next(
        (
            each
            for each in case.run.once(printed_failures)
            if each.place
            and each.exception not in own
            and (each.task is not None or not case.outcome.is_after(each.at))
            and (each.task is None or user_frame(each.traceback) is not None)
        ),
        None,
    )


def thread_that_was_missed(
    case: Case, exception: DriverException
) -> PrintedFailure | None:
    """Return a thread that had ended, where the driver lacked what it was to make."""
    name = class_of(exception.exception)
    lacked = (
        name in _LACKED
        or name.endswith(("Timeout", "TimeoutError"))
        or is_symptom(name, exception.message)
    )
    if not lacked or case.failures or case.deaths:
        return None
    return ended_thread(case, exception)


_PRIMITIVES = ("/threading.py", "/queue.py", "/concurrent/futures/_base.py")
_BLOCKED = 5.0
"""Seconds for which a driver waits at one line before that is a reason to stop it."""


def thread_that_blocked_the_driver(
    case: Case,
) -> tuple[PrintedFailure, DriverPosition] | None:
    """Return a thread that had ended, and where the driver waited for it until it was stopped.

    The driver waited for a lock, a queue or a thread of its own process, and for nothing else.
    """
    position = case.driver_position
    if position is None or case.hang is not None or position.lasted < _BLOCKED:
        return None
    waits = bool(position.stack) and position.stack[-1].file.endswith(_PRIMITIVES)
    if not waits or position.in_dask or position.for_a_process:
        return None
    thread = ended_thread(case, None)
    if thread is None or thread.thread is None:
        return None
    began = last_sign_of_life(case.run) - position.lasted
    return (thread, position) if thread.at <= began + _BLOCKED else None


def what_ran(case: Case) -> str:
    """Return what to call the driver: a host runs a function of its own, and no command."""
    is_function = any(each.callable for each in case.run.of(DriverAttached))
    return "driver" if is_function else "command"


def exit_text(case: Case) -> str:
    """Return with which code the driver exited, and the line that called `sys.exit`."""
    what, code = what_ran(case), case.outcome.exit_code
    name = code_line(case.outcome.exit, name_only=True)
    exit_call = case.outcome.exit
    if name and exit_call is not None:
        return f"the {what} called {exit_call.call}({code}) at {name}"
    return f"the {what} exited with code {code}"


def end_after_handled_errors(case: Case) -> str:
    """Return how the driver ended because of errors that it had handled; else nothing."""
    reason, then = case.outcome.reason, case.outcome.then
    if reason is None:
        return ""
    if then is None or then.exception.endswith("SystemExit"):
        return exit_text(case)
    return f"the driver raised {class_of(then.exception)}"
