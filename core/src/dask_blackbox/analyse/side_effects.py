"""What the user's code did before a failure, and what of it explains the exception.

Programs that failed, files it removed, how the folder of a missing file looked, keys that it
used for different tasks, and changes of a worker's process (limits, locale, defaults).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.teardown import task_signal_to
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.run_state import (
    ASKED,
    last_sign_of_life,
    signal_of_driver,
)
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    ADAPTIVE_RETIRES,
    CLIENT_CANCELS,
)
from dask_blackbox.events import (
    DriverAttached,
    DriverCancel,
    DriverClosing,
    DriverEnded,
    DriverLost,
    DriverRestart,
    DriverSignalled,
    FailedTaskFiles,
    FileRemoved,
    GraphUpdated,
    KeyReused,
    OpenedByFailedTask,
    ProgramFailed,
    TaskSignalled,
    WorkerRemoved,
)
from dask_blackbox.formatting import (
    code_line,
    listed,
    prefix_of,
    quoted_key,
    short,
    signal_name,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables, epoch

# From where such characters begin: the time then grows as the text.
_FILES = bounded(r"(?<![\w./@=+-])(?:[\w./@=+-]{0,1000}\w\.\w+|[\w.@=+-]*/[\w./@=+-]+)")
_DEATH_TIMEOUT = bounded(r"--death-timeout[ =](?P<seconds>\S+)")
_CANCELLED_WITHIN = 1.0  # seconds between a call of the client and the scheduler's line
_DELIVERY = 1.0
"""Seconds that a graph may take to the scheduler after `submit` has returned."""
_INTERRUPTS = 10.0
"""Seconds after which a signal has interrupted what the driver waits for, on a busy machine."""
UNIQUE_KEYS = (
    "Give different tasks different keys: don't set `key=`, `dask_key_name=` or `name=` to a "
    "constant, and let names hold a token of their inputs (`dask.base.tokenize`). Or release "
    "the first result before the second is submitted."
)
_EXIT_STATUS = r"\b(?:exit (?:status|code)|exited with(?: code)?|status|code) {}\b"


def failed_programs(case: Case) -> Iterator[ProgramFailed]:
    """Yield the programs of driver and tasks that exited with an error, but those it ended."""
    ended = {each.target for each in case.run.of(DriverSignalled)}
    for each in case.run.of(ProgramFailed):
        if each.subject != "driver" or each.program_pid not in ended:
            yield each


def code_owner(case: Case, subject: str) -> str:
    """Return whose code did something, as the subject of a sentence.

    Args:
        subject: Of the event: `driver`, the key of a task, or the address of a worker.
    """
    if subject == "driver":
        return "the driver"
    if "://" in subject:
        return "another thread of a worker's process"
    return f"task '{short(case.prefix_of(subject), 40)}'"


def death_timeout_of(command: str) -> str | None:
    """Return how long a command of a worker waits for a scheduler, or for its worker."""
    found = _DEATH_TIMEOUT.search(command)
    return None if found is None else found["seconds"]


def is_related(program: ProgramFailed, failure: TaskFailure | None) -> bool:
    """Return whether a failed program may have to do with the failure of a task.

    The driver's do: it starts them one after another.  Of the programs of many tasks, those
    of the failed task, and those whose command names the file that its error names.
    """
    if program.subject == "driver":
        return True
    if failure is None:
        return False
    named = _stems(failure.message)
    return program.subject == failure.key or not named.isdisjoint(
        _stems(program.command)
    )


def _stems(text: str) -> set[str]:
    """Return the names of the files in a text, without folder and extension."""
    names = (each.rpartition("/")[2] for each in _FILES.findall(text))
    return {each.partition(".")[0] for each in names} - {""}


def brief_command(command: str) -> str:
    """Return a command without folders, and without the interpreter of a script."""
    words = [word.rstrip("/").rpartition("/")[2] for word in command.split()]
    script = len(words) > 1 and words[1].endswith((".py", ".sh", ".R", ".pl", ".jl"))
    return " ".join(words[1:] if script else words)


def program_exit_text(program: ProgramFailed) -> str:
    """Return how a program ended, and its last line of errors, after its name."""
    code = program.code or 0
    how = f"exited with code {code}"
    if code < 0:
        how = f"was ended by {signal_name(code)}"
    error = f": {short(program.error, 160)}" if program.error else ""
    return f"{how}{error}"


def signal_of_a_task(case: Case) -> TaskSignalled | None:
    """Return the signal of a task that ended the driver, if a task sent one to it."""
    drivers, by = case.run.of(DriverAttached), signal_of_driver(case.run)
    pids = {each.pid for each in drivers if each.pid}
    pids |= {pid for each in drivers for pid, _ in each.ancestors}
    lost = [each.at for each in (*case.run.of(DriverLost), *case.run.of(DriverEnded))]
    end = min(lost, default=last_sign_of_life(case.run))
    sent = task_signal_to(case.run, frozenset(pids), end, case.outcome.clocks)
    if sent is None or sent.signal != by:
        return None
    here = any(sent.pid in each for each in case.teardown.pids.values())
    return sent if here else None


def signal_to_itself(case: Case) -> DriverSignalled | None:
    """Return the signal by which the driver's own code ended its work, if it did."""
    decided = case.outcome.decided_at
    own = [
        sent
        for sent in case.run.of(DriverSignalled)
        if sent.target == sent.pid
        and sent.signal in ASKED
        and decided is not None
        and 0 <= decided - sent.at <= _INTERRUPTS
    ]
    return own[-1] if own else None


def reused_keys_of(run: RunTables) -> list[KeyReused]:
    """Return the keys that the driver gave to a second task, which Dask did not run."""
    return [
        each for each in run.of(KeyReused) if not each.delayed or _was_known(run, each)
    ]


def _was_known(run: RunTables, reused: KeyReused) -> bool:
    """Return whether a graph with that key came while the scheduler knew it from before."""
    prefix = prefix_of(reused.key)
    for graph in run.of(GraphUpdated):
        new = graph.new.get(prefix)
        known = graph.prefixes.get(prefix, 0) - (0 if new is None else new.tasks)
        if known > 0 and graph.at > reused.at:
            return True
    return False


def sentence_on_reused(reused: KeyReused) -> str:
    """Return what Dask did with a key that the driver gave to a second task."""
    at = code_line(reused, " at ")
    return (
        f"{quoted_key(reused.key, 60)} was given{at} to a call of {reused.task} with another "
        "function or other arguments than before; Dask returned the first result"
    )


def names_exit_of(program: ProgramFailed, texts: str) -> bool:
    """Return whether texts report a program's exit code, as `CalledProcessError` does."""
    return bounded(_EXIT_STATUS.format(program.code)).search(texts) is not None


def _cancelled_by_driver(case: Case) -> bool:
    """Return whether the last client that cancelled tasks was the driver's own."""
    logs = lines_of(case.run, CLIENT_CANCELS, by=["scheduler"])
    messages = logs["message"].tail(1).to_list()
    asked = [CLIENT_CANCELS.match(each) for each in messages]
    own = {each.client for each in case.run.of(DriverAttached)} - {None}
    return any(each is not None and each["client"] in own for each in asked)


def cancel_of_driver(case: Case, at: float) -> DriverCancel | None:
    """Return the call that had the scheduler cancel keys at a moment, where it is recorded."""
    calls = [
        e for e in case.run.of(DriverCancel) if abs(e.at - at) <= _CANCELLED_WITHIN
    ]
    return min(calls, key=lambda each: abs(each.at - at), default=None)


def why_cancelled(call: DriverCancel | None) -> str:
    """Return where the driver called `cancel`, and the reason that it gave, to put behind."""
    if call is None:
        return ""
    reason = f" “{short(call.reason, 80)}”" if call.reason else ""
    at = code_line(call, " at ", name_only=True)
    return f"{at}, for the reason{reason}" if reason else at


def ended_by_driver_at(case: Case) -> float | None:
    """Return when the driver's own code ended its work.

    It cancelled that, restarted the cluster, or closed it for good.
    """
    if closings := closings_of_driver(case):
        return closings[0].at
    decided = case.outcome.decided_at
    restarts = [
        each.at
        for each in case.run.of(DriverRestart)
        if decided is None or each.at < decided
    ]
    graphs = [each.at for each in case.run.of(GraphUpdated)]
    # A driver that submits more after a restart goes on with its work.
    if restarts and not any(restarts[-1] < at for at in graphs):
        return restarts[-1]
    return case.outcome.decided_at if _cancelled_by_driver(case) else None


def closings_of_driver(case: Case) -> list[DriverClosing]:
    """Return the calls by which the driver closed what it worked with, before the outcome.

    A script that closes one cluster and goes on with another has not ended its work.
    """
    decided = case.outcome.decided_at
    closed = (
        each
        for each in case.run.of(DriverClosing)
        if not submits_after(case, each.at) and (decided is None or each.at < decided)
    )
    return sorted(closed, key=lambda each: each.at)


def submits_after(case: Case, at: float) -> bool:
    """Return whether the driver submitted tasks after a moment of its own clock."""
    last_graph = max((each.at for each in case.run.of(GraphUpdated)), default=0.0)
    return at <= last_graph - _DELIVERY


def how_retired(case: Case, left: WorkerRemoved) -> str:
    """Return a participle for what made a worker leave on request."""
    if not (left.stimulus_id or "").startswith("retire-workers-"):
        return "closed on request"
    just_before = epoch("at").is_between(left.at - _DELIVERY, left.at)
    if len(lines_of(case.run, ADAPTIVE_RETIRES).filter(just_before)):
        return "retired as adaptive scaling scaled the cluster down"
    return "retired"


def removed_by_itself(case: Case, failure: TaskFailure) -> bool:
    """Return whether a task, in an earlier attempt, removed the file that it did not find."""
    removed = removed_files(case, failure.message)
    return any(each.subject == failure.key and each.at < failure.at for each in removed)


def removed_files(case: Case, text: str) -> Iterator[FileRemoved]:
    """Yield what was removed that a text names, or that a named file was in."""
    for each in case.run.of(FileRemoved):
        path = re.escape(each.path)
        if each.path and bounded(rf"(?<![\w/]){path}(?![\w.-])").search(text):
            yield each


def files_of_task(run: RunTables, key: str) -> FailedTaskFiles | None:
    """Return what is recorded of the files of a task that failed, or None.

    What it opened to read counts for more than what its arguments name.
    """
    reported = (each for each in run.of(FailedTaskFiles) if each.subject == key)
    given = next(reported, None)
    opened = [e.files for e in run.of(OpenedByFailedTask) if e.subject == key]
    if not opened:
        return given
    if given is None:
        return FailedTaskFiles(subject=key, reads=opened[-1])
    return msgspec.structs.replace(given, reads=opened[-1])


def one_file(files: FailedTaskFiles | None) -> str | None:
    """Return the one file that a task worked on; None if there was none, or several."""
    if files is None:
        return None
    worked_on = files.reads or files.inputs
    return worked_on[0] if len(worked_on) == 1 else None


def files_clause(files: FailedTaskFiles | None) -> str:
    """Return a clause for a sentence: `while reading s3://shop/part-17.csv`."""
    if files is None:
        return ""
    clauses = (
        _clause("while reading", files.reads),
        _clause("while writing", files.writes),
        _clause("on data from", files.inputs),
    )
    return ", ".join(clause for clause in clauses if clause)


def _clause(verb: str, files: tuple[str, ...]) -> str:
    shown = [short(file, 200) for file in files]
    return f"{verb} {listed(shown, most=1)}" if files else ""
