"""Words for what had gone wrong with workers, programs and processes."""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import died_running, how_died, name_of
from dask_blackbox.analyse.driver_output import PrintedFailure
from dask_blackbox.analyse.explanations import message_text, printed_error
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import at_frame, user_frame
from dask_blackbox.analyse.offers import several_workers
from dask_blackbox.analyse.side_effects import (
    UNIQUE_KEYS,
    brief_command,
    code_owner,
    how_retired,
    program_exit_text,
    sentence_on_reused,
    why_cancelled,
)
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.analyse.wording.words_of_tasks import remedy_of_deaths
from dask_blackbox.events import (
    CallsMerged,
    DriverCancel,
    DriverRaised,
    KeyReused,
    ProgramFailed,
    WorkerRemoved,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    quoted,
    quoted_key,
    short,
    short_with_paths,
    uncapitalised,
)

_SET_UP_AGAIN = (
    "Data that exists only in a worker's process (set by `client.run`, in a global "
    "variable or an attribute of the worker) is lost when the process is replaced: "
    "create it in `setup` of a worker plugin (`client.register_plugin`), which runs in "
    "each new process, or pass it to the tasks."
)


_LOST = "the data that only its process held was lost"

_NOT_RELEASED = (
    "its task did not release what it held or finish what it had begun (a lock, a file)"
)


def of_ended_thread(verdict: Finding, thread: PrintedFailure, printed: str) -> Words:
    """Return the words for the end of a thread that the driver waited for in vain.

    Args:
        printed: What Python printed of it.
    """
    frame = user_frame(thread.traceback)
    look = code_line(frame) or "the traceback of that thread"
    return Words(
        text=printed,
        headline=f"{thread.exception} in {thread.place} of the driver: "
        f"{short_with_paths(thread.message, 80)}",
        account=f"{capital(thread.place)} of the driver ended with "
        f"{short(thread.text, 300)}{at_frame(frame)}. Python only prints such an exception; "
        f"{uncapitalised(verdict.cause)} Probably it waited for what that thread was to do.",
        fix=f"Look at {look}. Store the exception and raise it again where the driver waits "
        "(`concurrent.futures` does this for threads), and add a timeout to that wait.",
    )


def of_reused_key(keys: Sequence[str], first: KeyReused) -> Words:
    return Words(
        text=f"The key {sentence_on_reused(first)}",
        headline=f"Different tasks had the same key, {quoted(keys, most=1)}: Dask returned "
        "the first result for both",
        remedy=UNIQUE_KEYS,
    )


def of_merged_calls(merged: CallsMerged) -> Words:
    of = f"{quoted_key(merged.task)}, which uses {quoted(merged.draws)}"
    return Words(
        text=f"{counted(merged.calls, 'more call')} (or more) of {of}, with equal arguments"
        f"{code_line(merged, ' at ')} were no tasks of their own: Dask takes a function as pure, "
        "makes equal calls one task, and returns one result for all",
        headline=f"Equal calls of {quoted_key(merged.task)}, which draws random numbers, were one "
        "task",
        remedy="Pass `pure=False` to `client.submit` and `client.map` where each call is to "
        "draw new numbers, or give each call a seed of its own.",
    )


def of_earlier_process(
    each: DriverRaised, root: TaskFailure | None, *, by_driver: bool
) -> Words:
    """Return the words for the exception of an earlier process of the command.

    Args:
        root: The task that raised it.
        by_driver: The driver had started that process.
    """
    name, message = class_of(each.exception or ""), each.message or ""
    where = f" in '{short(root.called, 40)}'" if root is not None else ""
    process = "a program of the driver" if by_driver else "an earlier process"
    return Words(
        text=f"Process {each.pid} of the command had ended with {name}: "
        f"{short(message, 120)}{code_line(each, ' at ')}, and the process that started it "
        "had continued",
        headline=f"{name}{where}: {message_text(name, message)} in {process}",
    )


def of_death_before(case: Case, death: WorkerExit, *, met: bool) -> Words:
    """Return the words for the death of a worker whose successor failed.

    Args:
        met: It met what was begun; else it lacked something.
    """
    died = died_running(case, [death])
    then, again = _LOST, _SET_UP_AGAIN
    if met:
        then, again = _NOT_RELEASED, ""
    return Words(
        text=f"{capital(name_of(case, death))} had {died}; {then}",
        headline=f"A worker {died}",
        remedy=f"{remedy_of_deaths(case, [death])} {again}".strip(),
    )


def of_lost_data(
    case: Case, left: WorkerRemoved, deaths: Sequence[WorkerExit]
) -> Words:
    """Return the words for the loss of scattered data.

    Args:
        deaths: Of the worker that held it; none: it left.
    """
    lost = quoted(left.lost_scattered, most=3)
    did, how, fix = "left", f", {how_retired(case, left)}", ""
    if deaths:
        slug = case.cause_of(deaths[-1]).slug
        did, how = "died", how_died(case, deaths)
        fix = f" Also see `dask blackbox rules {slug}`." if slug != "unknown" else ""
    copies = ""
    if several_workers(case):
        copies = ", or scatter it with `broadcast=True`, so that losing one worker does not matter"
    return Words(
        text=f"{capital(case.name_of(left.subject))}, which held the only copy of "
        f"{lost}, had {did}{how}; Dask cannot recompute scattered data, and cancels tasks "
        "that need it",
        headline=f"Data that could not be recomputed was lost with its worker{how}",
        remedy=f"Load the data in a task instead of scattering it{copies}.{fix}",
    )


def of_restart() -> Words:
    return Words(
        text="The driver had restarted all workers (`client.restart`); the data that "
        "only their processes held was lost",
        headline="The driver restarted all workers (`client.restart`)",
        remedy=_SET_UP_AGAIN,
    )


def of_cancellation(
    number: int, prefixes: Sequence[str], call: DriverCancel | None
) -> Words:
    what = f"{counted(number, 'task')} ({quoted(prefixes)}){why_cancelled(call)}"
    return Words(
        text=f"The driver's own client had cancelled {what}",
        headline=f"The job's own code cancelled {what}",
        remedy="Find `future.cancel()` or `client.cancel(…)` in the job's own "
        "code: a watchdog, a time limit, or cleanup after an error. A cancelled "
        "future has no result.",
    )


def of_failed_function(function: str, name: str, message: str) -> Words:
    return Words(
        text=f"{name}: {short(message, 120)} had been raised by "
        f"'{function}', which the driver had run on its workers (`client.run`)",
        headline=f"{name} in '{short(function, 40)}' on a worker (`client.run`): "
        f"{message_text(name, message)}",
    )


def of_printed_exception(printed: PrintedFailure, *, of_worker: bool) -> Words:
    """Return the words for an exception that was printed.

    Args:
        of_worker: It ended a command that should have started a worker.
    """
    frame, at = user_frame(printed.traceback), ""
    where = "a program of the driver"
    if of_worker:
        where = "a command that should have started a worker"
        at = code_line(frame, ", at ") if frame else ""
    if printed.place:
        where = f"{printed.place} of the driver"
    return Words(
        text=f"{short(printed.text, 160)} had been raised in {where}{at}",
        headline=f"{printed_error(printed)} in {where}",
    )


def of_program(case: Case, program: ProgramFailed, patience: str) -> Words:
    """Return the words for a program whose exit code was ignored.

    Args:
        patience: For how long a command of a worker waits for a scheduler, if it ends then.
    """
    how, owner = program_exit_text(program), code_owner(case, program.subject)
    had = f"had {how.replace('was ended', 'been ended', 1)}"
    waits = ""
    if patience:
        waits = (
            f"; with `--death-timeout {patience}`, a worker exits when no scheduler "
            "has answered for that long"
        )
    return Words(
        text=f"A program of {owner}, {short_with_paths(program.command, 160)}, {had}{waits}",
        headline=f"Program “{short(brief_command(program.command), 60)}” of {owner} {how}",
    )
