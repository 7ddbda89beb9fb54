"""What tasks and actors raised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case, subject_of
from dask_blackbox.analyse.death_texts import evidence_of, name_of
from dask_blackbox.analyse.driver_output import last_output, was_printed
from dask_blackbox.analyse.exception_context import (
    call_path,
    dead_at,
    earlier_problems,
    errors_before,
    evidence_of_failure,
    exception_details,
    in_brackets,
    raised_before,
    same_failures,
    setup_failed_before,
    similar_failures,
    unraised_exception,
)
from dask_blackbox.analyse.exception_origin import passed_on
from dask_blackbox.analyse.explanations import (
    advice_in,
    explained_exception,
    explained_failure,
    explained_origin,
    failure_text,
    hint_on,
    in_one_line,
)
from dask_blackbox.analyse.facts.worker_exit import WINDOW, WorkerExit, without_moment
from dask_blackbox.analyse.facts.worker_exit_sources import worker_exits_of
from dask_blackbox.analyse.failures import (
    NoneResult,
    TaskFailure,
    called,
    host_retries,
    is_batch,
    succeeded_later,
)
from dask_blackbox.analyse.frames import (
    at_frame,
    came_from_a_task,
    code_of,
    user_frame,
)
from dask_blackbox.analyse.hang_texts import not_released_by
from dask_blackbox.analyse.missing_files import remedy_for_missing_file
from dask_blackbox.analyse.retry_advice import (
    NO_SPACE,
    UNKNOWN,
    Advice,
    advice_on_text,
    is_of_a_limit,
)
from dask_blackbox.analyse.rule import advice_on_death, documented
from dask_blackbox.analyse.side_effects import (
    files_clause,
    files_of_task,
    one_file,
)
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    ACTOR_UNREACHABLE,
    ACTOR_WORKER_LOST,
    SHUFFLE_PHASE_FAILED,
)
from dask_blackbox.analyse.signatures.python import FILE_TOO_LARGE
from dask_blackbox.analyse.single_worker_failures import (
    SingleWorkerFailure,
    single_worker_failure,
)
from dask_blackbox.analyse.worker_memory import is_of_host
from dask_blackbox.events import (
    ActorLost,
    BundleAnnounced,
    BundleStored,
    GraphUpdated,
    TaskTimedOut,
    TestFailed,
)
from dask_blackbox.finding import (
    Confidence,
    Evidence,
    Finding,
    RetryAdvice,
    Severity,
)
from dask_blackbox.formatting import (
    article,
    as_code,
    capital,
    class_of,
    code_line,
    counted,
    duration,
    listed,
    quoted,
    quoted_key,
    short,
    short_with_paths,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, RunTables

# task-exception

_NOT_TASKS = {
    r'distributed/client\.py", line \d+, in _run(?:_on_scheduler)?\n': (
        "code run on the cluster",
        "`client.run` or `run_on_scheduler` ran it there; it is not a task.",
    ),
    r'distributed/worker\.py", line \d+, in actor_execute\n': (
        "an actor's method",
        "It was a method of an actor, not a task; the actor itself survives.",
    ),
}
"""What runs on a cluster beside tasks: where a traceback shows it, and how to say it."""

_TITLE = 120
"""How long a title may be, so that no headline is cut."""

_TIMEOUTS = ("Timeout", "TimeoutError", "TimeoutExpired")
_PIECE = bounded(r"^\(.+, (?P<number>\d+)\)$")

_HANDLED = (
    "If these failures are expected, return a value instead of raising, and this "
    "warning disappears. If not, the driver's result lacks the results of these tasks. "
)


@documented("task-exception")
def TASK_EXCEPTION(case: Case) -> Iterator[Finding]:
    blamed, alike_blamed = case.blame.failure, None
    if blamed is None or blamed.killed:
        blamed = None
        yield from _unrecorded(case)
    else:
        alike_blamed = (blamed.prefix, blamed.exception)
        # What a second attempt met may be what the first one left, with its worker.
        alone = case.blame.proven and not dead_at(case, blamed)
        yield _finding(case, [blamed], "failure", "high" if alone else "medium")
    others = [
        failure
        for failure in case.failures
        if failure is not blamed
        and not failure.killed
        and (failure.prefix, failure.exception) != alike_blamed
        and not (blamed and passed_on(blamed, failure))
    ]
    for alike in _by_prefix_and_class(others):
        # Of what Dask raised in its own code, the driver knows.
        known = not set(alike) <= set(case.unhandled_failures)
        known = known or _are_sent_again(case, alike) or _were_printed(case, alike)
        yield _finding(case, alike, "notice" if known else "warning", "high")


def _were_printed(case: Case, failures: Sequence[TaskFailure]) -> bool:
    """Return whether a driver that succeeded had printed these errors: it knew of them."""
    return not case.failed and all(
        was_printed(case.run, class_of(each.message_of[0]), each.message_of[1])
        for each in failures
    )


def _are_sent_again(case: Case, alike: Sequence[TaskFailure]) -> bool:
    """Return whether the driver sent as many tasks of the prefix again once they had failed.

    A retry of its own sends no more than what has failed; further work does.
    """
    again = 0
    for graph in case.run.of(GraphUpdated):
        failed = sum(each.at < graph.at for each in alike)
        new = graph.new.get(alike[0].prefix)
        if new is not None and new.tasks <= failed:
            again += new.tasks
    return again >= len(alike)


def _is_of_an_earlier_stage(
    case: Case, first: TaskFailure, failure: TaskFailure
) -> bool:
    """Return whether the driver sent the task that failed it only after another had failed."""
    sent = [g.at for g in case.run.of(GraphUpdated) if first.prefix in g.new]
    before = [at for at in sent if at <= first.at]
    return bool(before) and failure.at < before[-1]


def _unrecorded(case: Case) -> Iterator[Finding]:
    """A task whose failure only the driver's own traceback shows."""
    exception = case.exception
    if case.blame.failure is not None or exception is None:
        return
    if case.raised("KilledWorker") or not came_from_a_task(exception.traceback):
        return
    name, frame = class_of(exception.exception), user_frame(exception.traceback)
    texts = (t for p, t in _NOT_TASKS.items() if bounded(p).search(exception.traceback))
    unknown = ("a task", "The recording does not show which task that was.")
    what, how = next(texts, unknown)
    meaning = explained_exception(exception)
    fix = "" if meaning is None else meaning.fix or ""
    if meaning is not None and (file := meaning.missing_file):
        fix = remedy_for_missing_file(case.run, file, subject=None)
    advice, sure = advice_on_text(
        exception.exception, exception.message, exception.bases
    )
    yield TASK_EXCEPTION.found(
        f"{name} in {what}: {short(exception.message, 80)}".rstrip(": "),
        cause=(
            "The driver's traceback continues in code that ran on the cluster: "
            f"{name}: {short(exception.message, 300)}{at_frame(frame)}. {how}"
        ),
        remedy=f"Look at {code_line(frame) or 'its traceback'}. {fix}".rstrip(),
        confidence="medium",
        evidence=case.exception_evidence(),
        retry_advice=advice,
        retry_confidence=sure,
    )


def _by_prefix_and_class(failures: list[TaskFailure]) -> list[list[TaskFailure]]:
    """Return failures grouped by prefix and class, the most frequent first; three at most."""
    groups: dict[tuple[str, str], list[TaskFailure]] = {}
    for failure in failures:
        groups.setdefault((failure.prefix, failure.exception), []).append(failure)
    return sorted(groups.values(), key=len, reverse=True)[:3]


def _finding(
    case: Case, failures: list[TaskFailure], severity: Severity, confidence: Confidence
) -> Finding:
    first = failures[0]
    name = first.raised.name or "an exception"
    prefix = short(first.called or case.prefix_of(first.key), 40)
    time_limit = timed_out(case.run, first.key)
    nothing = case.none_result_behind(first)
    if time_limit is not None:
        title = time_limit.title(f"'{short(time_limit.prefix, 40)}'")
        title += in_brackets(case, first) if severity == "failure" else ""
    elif severity == "failure" and nothing is not None:
        title = _title_of_none(first, nothing)
    elif severity == "failure":
        title = _title_of_failure(case, first, prefix)
    else:
        title = f"{counted(len(failures), 'task')} of '{prefix}' failed with {name}"
    only_worker = single_worker_failure(case, first)
    handled = "" if case.failed or severity == "notice" else _HANDLED
    advice, sure = _advice(case, first, only_worker)
    return TASK_EXCEPTION.found(
        title,
        cause=_cause(case, failures, only_worker),
        remedy=handled + _remedy_task_exception(case, first, only_worker),
        confidence=confidence,
        severity=severity,
        subject=first.subject,
        evidence=_evidence(case, first),
        retry_advice=advice,
        retry_confidence=sure,
    )


def _title_of_failure(case: Case, failure: TaskFailure, prefix: str) -> str:
    """Return what a task raised; of a mistake in handling an exception, that exception first."""
    name = failure.raised.name or "an exception"
    then = f"; then {name}" if failure.handled else ""
    begin = (
        f"{class_of(failure.handled[0]) if failure.handled else name} in '{prefix}': "
    )
    title = (begin + _task_outcome_text(case, failure, 90)).rstrip(": ")
    more = in_brackets(case, failure) or _file_in_brackets(case, failure)
    if len(title) + len(then + more) > _TITLE:
        # How many failed is never cut off: the message has the room that is left.
        more = in_brackets(case, failure, briefly=True) or more
        room = max(_TITLE - len(begin) - len(then + more), 20)
        title = begin + _task_outcome_text(case, failure, min(room, 90))
    return short(title.rstrip(": "), _TITLE - len(then + more)) + then + more


def _title_of_none(failure: TaskFailure, nothing: NoneResult) -> str:
    how_often = f" ({nothing.number:,} of {counted(nothing.finished, 'task')})"
    return (
        f"'{short(nothing.prefix, 30)}' returned None{how_often}, and "
        f"'{short(failure.called, 30)}' failed on it: "
        f"{failure.raised.name}"
    )


def _file_in_brackets(case: Case, failure: TaskFailure) -> str:
    """Return the file that a task read, for a title; nothing if its exception is explained.

    An explanation names the file itself, where it is about the file.
    """
    files = files_of_task(case.run, failure.key)
    name = (one_file(files) or "").rstrip("/").rpartition("/")[2]
    own = failure.members or explained_failure(case.run, failure) is not None
    if files is None or not name or own or name in failure.raised.message:
        return ""
    if FILE_TOO_LARGE.search(failure.raised.message):
        return ""
    return f" ({'reading' if files.reads else 'data from'} {short(name, 40)})"


def _task_outcome_text(case: Case, failure: TaskFailure, room: int) -> str:
    """Return the message; of a group, its first; without a message, the line that raised."""
    if failure.members:
        name, message = failure.members[0]
        more = len(failure.members) - 1
        first = f"{class_of(name)}: {short(message, 60)}".rstrip(": ")
        return f"{first} and {more} more" if more else first
    if failure.handled:
        return short_with_paths(in_one_line(failure.handled[1]), room)
    if failure.raised.message or failure.frame is None or not failure.frame.code:
        return short_with_paths(failure_text(case.run, failure), room)
    code = failure.frame.code
    if failure.raised.name.endswith(_TIMEOUTS) and not code.startswith("raise"):
        return f"{as_code(short(code, 60))} exceeded its timeout"
    return f"{as_code(short(code, 60))} in {failure.frame.function}"


def _cause(
    case: Case, failures: list[TaskFailure], only_worker: SingleWorkerFailure | None
) -> str:
    first = failures[0]
    where = f" on {case.name_of(first.worker)}" if first.worker else ""
    words = failure_text(case.run, first)
    error = f"{first.raised.name}: {short(words, 300)}".rstrip(": .")
    raised = f"{quoted_key(first.key)}{where} raised {error}"
    line = f"{at_frame(first.frame)}{code_of(first.frame, 100)}"
    sentences = [f"{raised}{line}{_with_files(case, first)}"]
    time_limit = timed_out(case.run, first.key)
    if time_limit is not None:
        sentences = [f"{time_limit.cause(first.key)}{_with_files(case, first)}"]
    if (nothing := case.none_result_behind(first)) is not None:
        sentences.append(
            f"Its input came from '{nothing.prefix}': {nothing.number:,} of "
            f"{counted(nothing.finished, 'finished task')} had returned None, "
            f"such as {quoted_key(nothing.key)}"
        )
    sentences.extend(call_path(case, first))
    sentences.extend(exception_details(first))
    sentences.extend(unraised_exception(case, first))
    sentences.extend(earlier_problems(case, first))
    if only_worker is not None:
        sentences.append(only_worker.sentence)
    sentences.extend(_consequences(case, failures))
    if case.failed and not case.blame.proven and first is case.blame.failure:
        sentences.append(
            "The driver's exception does not refer to this failure"
            if case.exception
            else "The driver's exit code does not prove that this failure caused it"
        )
    return ". ".join(sentences) + "."


def _consequences(case: Case, failures: list[TaskFailure]) -> Iterator[str]:
    """Yield sentences on retries, on tasks that depended on it, and on other failures."""
    first = failures[0]
    if first.attempts > 1:
        earlier = raised_before(case, first)
        before = f"; earlier attempts raised {listed(earlier)}" if earlier else ""
        yield f"It was attempted {first.attempts} times{before}"
    if first.dependents:
        yield f"{counted(first.dependents, 'task')} that needed it could not run"
    if len(failures) > 1:
        yield f"{quoted([f.key for f in failures[1:]])} failed in the same way"
    if not case.failed:
        them = "it" if len(failures) == 1 else "them"
        yield f"The driver continued without {them}"
    alike = list(similar_failures(case, first, known=len(failures)))
    verdict = case.failed and first is case.blame.failure
    if verdict:
        yield from _other_failures(case, first, alike_are_known=bool(alike))
    if held := not_released_by(case, first.at, first.own_traceback):
        yield held
    if verdict:
        yield from _other_tests(case, first)
    yield from alike


def _other_failures(
    case: Case, first: TaskFailure, *, alike_are_known: bool
) -> Iterator[str]:
    """Yield how many other tasks raised something.

    Args:
        alike_are_known: Tasks that failed in the same way are counted elsewhere.
    """
    others = [
        each
        for each in case.failures
        if each is not first
        and not each.killed
        and not _is_of_an_earlier_stage(case, first, each)
    ]
    by_prefix = Counter(f.prefix for f in others)
    # They are not counted twice where all of them failed in the same way.
    covered = alike_are_known and same_failures(case.run, first).failed > len(others)
    if others and not (covered and set(by_prefix) == {first.prefix}):
        yield f"{counted(len(others), 'other task')} of {quoted(by_prefix)} failed too"


def _other_tests(case: Case, first: TaskFailure) -> Iterator[str]:
    """Yield a sentence on the first of the other tests that failed, in the same process."""
    tests = case.run.of(TestFailed)
    failed = [each for each in tests if first.message not in (each.message or "")]
    if failed:
        test, name = failed[0].test, class_of(failed[0].exception or "")
        message = short((failed[0].message or "").partition("\n")[0], 80)
        yield (
            f"{counted(len(failed), 'other test')} failed, {'' if len(failed) == 1 else 'first '}"
            f"'{short(test, 60)}' with {name}: {message}"
        )


def _with_files(case: Case, failure: TaskFailure) -> str:
    if FILE_TOO_LARGE.search(failure.raised.message):
        return ""  # it was writing, whatever its arguments name
    files = files_clause(files_of_task(case.run, failure.key))
    return f", {files}" if files else ""


def _advice(
    case: Case, failure: TaskFailure, only_worker: SingleWorkerFailure | None
) -> Advice:
    advice = failure.advice
    before = _lasting_before(case, failure)
    if before is not None and advice.advice in ("code", "data"):
        advice = advice_on_text(*before)
    if case.none_result_behind(failure) is not None:
        return UNKNOWN  # why the other task returned None is not known
    # What succeeded on other workers may do so again.
    otherwise = only_worker is not None or dead_at(case, failure)
    return UNKNOWN if otherwise and advice.advice in ("code", "data") else advice


_FRAME = 'File "'  # a traceback without any is only the exception's own line


def _look_at_text(case: Case, failure: TaskFailure) -> str:
    """Return where to look; without a line of the user's own, it is at the input."""
    if failure.frame is not None:
        return f"Look at {code_line(failure.frame)}"
    if is_batch(failure.prefix) and case.exception is not None and case.exception.file:
        return f"Look at {code_line(case.exception)}, which passed its arguments"
    called = f"'{short(failure.prefix or failure.key, 40)}'"
    look = f"Look at the input of {called}: no line of your own code raised"
    piece = _PIECE.search(failure.key)
    traced = _FRAME in failure.traceback
    if piece is None or not traced:
        return look if traced else f"Look at what {called} calls"
    several = ", each of several files" if "fused" in failure.prefix else ""
    return f"{look}. It is partition {piece['number']} (counting from 0{several})"


def _remedy_task_exception(
    case: Case, failure: TaskFailure, only_worker: SingleWorkerFailure | None
) -> str:
    time_limit = timed_out(case.run, failure.key)
    if time_limit is not None:
        return time_limit.remedy(_retries(case, failure))
    look = _look_at_text(case, failure)
    if (nothing := case.none_result_behind(failure)) is not None:
        return (
            f"Look at why '{nothing.prefix}' returns None: an `except` that returns nothing, "
            "or a branch without a `return`. Raise an exception there, or handle None where it is used "
            f"({look.removeprefix('Look at ')})."
        )
    if dead := dead_at(case, failure):
        return (
            f"{look}, and check for partial output of the attempt whose worker died: "
            "write to a temporary name and rename it, or overwrite it. Also fix the "
            f"cause of the worker's death: `dask blackbox rules {next(iter(dead))}`."
        )
    if not_released_by(case, failure.at, failure.own_traceback):
        look += ", and release what the task holds in a `finally:`, or by `with`"
    more = _remedy_of_worker(case, failure, only_worker)
    more = more or _remedy_of_first_failure(case, failure) or _fix(case, failure)
    return f"{look}{more}"


def _fix(case: Case, failure: TaskFailure) -> str:
    """Return what to do about the exception itself."""
    if hosts := case.dialect.remedy(failure.message_of[1]):
        return f". {hosts}"
    explanation = explained_failure(case.run, failure)
    explanation = explanation or explained_origin(case.run, failure)
    if explanation is not None and (file := explanation.missing_file):
        return ". " + remedy_for_missing_file(
            case.run, file, subject=failure.key, worker=failure.worker
        )
    if explanation is not None and explanation.fix:
        more = _replay(case, failure) if explanation.is_about_data else ""
        return f". {explanation.fix}{more}"
    name = class_of(failure.message_of[0])
    advice = failure.advice.advice
    if NO_SPACE.search(failure.message_of[1]):
        return (
            ". The disk that it writes to is full, and a retry does not change that. "
            "Free space or write elsewhere, and remove the output of failed attempts."
        )
    hint = hint_on(failure.raised.message) or advice_in(failure.raised.message)
    if hint is None and advice in ("transient", "unknown"):
        return f". {_retry(case, failure, name)}"
    same = "The same input fails again: fix the code, or check the input of this task."
    return f". {hint or same}{_replay(case, failure)}"


_ALL = 3  # tasks that all fail in the same way do so for one reason


def _alike(case: Case, failure: TaskFailure) -> tuple[int, int, int]:
    """Return how many tasks of a prefix raised as one did, how many of them finished then, and how many finished at all."""
    errors, tasks = case.run.errors, case.run.tasks
    same = (pl.col("prefix") == failure.prefix) & (
        pl.col("exception") == failure.exception
    )
    raised = {*errors.filter(same)["key"]}
    done = {*tasks.filter(FINISHED & (pl.col("prefix") == failure.prefix))["key"]}
    failed = {each.key for each in case.failures}
    return len(raised), len(raised & done - failed), len(done - failed)


def _retry(case: Case, failure: TaskFailure, name: str) -> str:
    """Return what to do about an exception that may pass: a retry, if there was none yet."""
    what = f"{article(name)} {name}"
    start = f"{capital(what)} is often temporary"
    raised, passed, done = _alike(case, failure)
    if passed:
        start = f"{passed} of {counted(raised, 'task')} that raised {what} finished at another attempt"
    elif failure.advice.advice == "unknown":
        advice = f"Nothing recorded says that {what} passes: run this task again with its input before you add retries"
        if failure.attempts > 1:
            advice = f"All {failure.attempts} attempts raised {name}: look at its input"
        return f"{advice}.{_replay(case, failure)}"
    elif is_of_a_limit(failure.message_of[1]):
        start = "A service that refuses too many requests accepts them later"
    tried = ""
    if failure.attempts > 1:
        tried = f"all {failure.attempts} attempts failed"
    elif raised >= _ALL and not done:
        tried = f"all {raised} tasks failed in the same way"
    if tried:
        return (
            f"{start}, but {tried}. Before you add "
            "retries, check whether the service that the task calls is down or allows "
            "fewer requests at a time. If it needs time, retry later."
        )
    retries = _retries(case, failure)
    return f"{start}: {retries} retries only this task, not the whole run."


def _replay(case: Case, failure: TaskFailure) -> str:
    """Return how to have the input of the verdict's task kept, if it was not asked for."""
    asked = any(case.run.of(BundleAnnounced)) or any(case.run.of(BundleStored))
    asked = asked or is_batch(failure.prefix)  # to Dask, it finished: nothing is kept
    if asked or not case.failed or failure is not case.blame.failure:
        return ""
    return (
        " To rerun this task with its input (`dask blackbox replay`), record the next run "
        "with `blackbox.capture.values: true`."
    )


def _lasting_before(case: Case, failure: TaskFailure) -> tuple[str, str] | None:
    """Return what an earlier attempt had raised, if that does not pass by itself."""
    for name, message, *_ in errors_before(case, failure):
        if advice_on_text(name, message).advice in ("environment", "memory"):
            return name, message
    return None


def _remedy_of_first_failure(case: Case, failure: TaskFailure) -> str | None:
    """Return what to do of an attempt that may only have met what the first one left."""
    before = _lasting_before(case, failure)
    if before is None:
        return None
    full = " (a disk that is full)" if NO_SPACE.search(before[1]) else ""
    return (
        f", but start with {class_of(before[0])}{full}, which an earlier attempt "
        "raised. Later attempts may have failed because of its partial output: an "
        "incomplete file, or an input that it changed in place."
    )


def _remedy_of_worker(
    case: Case, failure: TaskFailure, only_worker: SingleWorkerFailure | None
) -> str | None:
    """Return what to do about the worker, if it is the worker that was different."""
    if setup_failed_before(case, failure):
        return (
            ". If the task needs what that `setup` provides, fix `setup`. It must also "
            "succeed on workers that start later, even if earlier workers left files "
            "behind. If it fails, Dask continues without it and logs the error only on "
            "that worker."
        )
    return None if only_worker is None else f". {only_worker.remedy}"


def _retries(case: Case, failure: TaskFailure) -> str:
    """Return what retries a task: Dask, or the host whose task it is."""
    mine = bool(case.dialect.engine) and is_of_host(case.run, failure.key)
    return case.dialect.retries(failure.traceback, of_host=mine)


def _evidence(case: Case, failure: TaskFailure) -> tuple[Evidence, ...]:
    name, message, _ = failure.raised
    text = short(f"{name}: {in_one_line(message)}".rstrip(": "), 500)
    facts = [*evidence_of_failure(case, failure, text)]
    if unset := setup_failed_before(case, failure):
        facts.append(unset.evidence)
    return (*facts, *(case.exception_evidence() if case.failed else ()))


@documented("retries-hid-errors")
def RETRIES_HID_ERRORS(case: Case) -> Iterator[Finding]:
    failed = [failure.key for failure in case.failures]
    known = {(failure.prefix, failure.exception) for failure in case.failures}
    retried = case.run.errors.filter(pl.col("outcome") == "retried")
    hidden = pl.concat([retried, succeeded_later(case.run)]).filter(
        ~pl.col("key").is_in(failed)
        # Dask repeats tasks of its own accord, too: nothing had been raised.
        & ((pl.col("message") != "") | (pl.col("traceback") != ""))
        # A shuffle that lost a worker begins again: `shuffle-restarted` reports it.
        & ~pl.col("exception").fill_null("").str.starts_with("distributed.shuffle.")
        & ~printed_by(SHUFFLE_PHASE_FAILED).fill_null(value=False)
    )
    for function, rows in _by_function(hidden):
        if {*rows.select("prefix", "exception").rows()} <= known:
            continue  # nothing was hidden: others of its kind failed with the same
        keys = rows["key"].n_unique()
        classes = Counter(rows["exception"]).most_common()
        names = [f"{class_of(name)} ({n})" for name, n in classes]
        example = rows.row(0, named=True)
        attempts = max(Counter(rows["key"]).values(), default=0) + 1
        th = {2: "nd", 3: "rd"}.get(attempts, "th")
        yield RETRIES_HID_ERRORS.found(
            f"Retries hid {counted(len(rows), 'error')} in {counted(keys, 'task')} "
            f"of '{short(function, 40)}'",
            cause=(
                f"{counted(keys, 'task')} of '{short(function, 40)}' raised "
                f"{listed(names)} and succeeded on a later attempt, the "
                f"{attempts}{th} at the latest. "
                f"For example: {short(example['message'] or '', 200)}"
            ),
            remedy=(
                "If a service fails occasionally, keep the retries and watch their "
                "number. If this is a random bug, it still exists, and at least "
                f"{counted(attempts - 1, 'retry is', 'retries are')} needed to hide it."
            ),
            confidence="high",
            subject=subject_of(example),
            evidence=tuple(
                Evidence(
                    text=f"{row['key']} on {row['worker']}: {class_of(row['exception'] or '')}: "
                    f"{short(row['message'] or '', 200)}",
                    source="errors",
                    at=row["at"].timestamp(),
                )
                for row in rows.head(3).iter_rows(named=True)
            ),
        )


def _by_function(errors: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each function that tasks called when they raised, and the rows of these."""
    raised = errors.select(pl.col("prefix", "traceback").fill_null("")).rows()
    functions = {row: called(*row) for row in set(raised)}
    column = pl.Series("function", [functions[row] for row in raised], dtype=pl.String)
    alike = errors.with_columns(column).group_by("function", maintain_order=True)
    for (function,), rows in alike:
        yield str(function), rows


@documented("actor-lost")
def ACTOR_LOST(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    lost, named = case.run.of(ActorLost), _names_lost_actor(case)
    if not named and (case.exception is None or not lost or not case.only_waited):
        return
    actor = _actor_of(case, lost)
    key = actor.subject or None if actor else None
    end = _end_of_holder(case, actor)
    who = f"the actor {quoted_key(key)}" if key else "an actor"
    yield ACTOR_LOST.found(
        f"{capital(who)} was lost with its worker{end.title}",
        cause=(
            f"The driver needed {who}, and {end.cause}. An actor's state lives on one "
            "worker only, and Dask does not recreate it."
        ),
        remedy=end.remedy,
        confidence="high" if named and (end.is_death or actor) else "medium",
        retry_advice=end.retry_advice,
        retry_confidence="medium" if end.retry_advice else None,
        subject=case.subject(key, actor.worker if actor else None),
        evidence=(*case.exception_evidence(), *_given_up(actor), *end.evidence),
    )


def _names_lost_actor(case: Case) -> bool:
    """Return whether what ended the driver reports that an actor was lost."""
    known = (ACTOR_WORKER_LOST, ACTOR_UNREACHABLE)
    if case.exception is None and case.outcome.kind == "exit-code":
        last = last_output(case.run) or ""  # the job printed it as it exited
        return any(each.search(last) for each in known)
    return any(case.search_exception(each.pattern) for each in known)


class _HolderEnd(NamedTuple):
    """How the worker that held an actor ended.

    Attributes:
        cause: What happened, without a full stop.
        remedy: What to do.
        retry_advice: Whether a retry would help.
        title: A clause about it; may be empty.
        evidence: What shows it.
        is_death: Whether the worker died, as far as is known.
    """

    cause: str
    remedy: str
    retry_advice: RetryAdvice | None
    title: str = ""
    evidence: tuple[Evidence, ...] = ()
    is_death: bool = False


def _end_of_holder(case: Case, actor: ActorLost | None) -> _HolderEnd:
    worker = actor.worker if actor else None
    if (death := _death_with(case, worker, actor)) is not None:
        cause = case.cause_of(death)
        keys = death.executing[:3]
        running = f" while running {quoted(keys)}" if keys else ""
        return _HolderEnd(
            f"{name_of(case, death)}, which held it, died{running}: {cause.because}",
            _remedy_actor_lost(cause.slug),
            advice_on_death(cause.slug),
            evidence=tuple(evidence_of(case, (death,))),
            is_death=True,
        )
    if (closed := _closed_with(case, actor)) is not None:
        reason = f": {closed.closing}" if closed.closing else ""
        text = f"{capital(name_of(case, closed))} closed{reason}."
        return _HolderEnd(
            _closing_text(case, closed),
            _remedy_actor_lost("unknown") + _WHO_CLOSED_IT,
            "unknown",  # who closed it may do so again
            ", which had been closed on purpose",
            (Evidence(text=text, source="events", at=closed.at),),
        )
    held = f"{case.name_of(worker)}, which" if worker else "the worker that"
    gone = f"{held} held it{',' if worker else ''} is gone"
    return _HolderEnd(gone, _remedy_actor_lost("unknown"), advice_on_death("unknown"))


def _actor_of(case: Case, lost: Sequence[ActorLost]) -> ActorLost | None:
    """Return the loss that the driver met: the one whose key it names, else the last."""
    text = "" if case.exception is None else case.exception.message
    named = [each for each in lost if each.subject and each.subject in text]
    return next(iter((named or lost)[-1:]), None)


def _death_with(
    case: Case, worker: str | None, actor: ActorLost | None
) -> WorkerExit | None:
    """Return the death that took the actor along; without any report of it, the last one."""
    if actor is None:
        return case.deaths[-1] if len(case.deaths) == 1 else None
    theirs = [death for death in case.deaths if death.address == worker]
    near = [death for death in theirs if abs(death.at - actor.at) <= WINDOW]
    return near[-1] if near else None


_WHO_CLOSED_IT = (
    " Find who closed that worker: don't scale down, and don't restart, retire or "
    "close it, while the actor is used."
)


def _closed_with(case: Case, actor: ActorLost | None) -> WorkerExit | None:
    """Return how the worker of an actor ended, if it was closed as somebody had requested."""
    if actor is None:
        return None
    exits = worker_exits_of(case.run)
    theirs = (each for each in exits if each.address == actor.worker)
    near = (each for each in theirs if abs(each.at - actor.at) <= WINDOW)
    return next((each for each in near if each.ended_by == "orderly"), None)


def _closing_text(case: Case, closed: WorkerExit) -> str:
    reason = short(without_moment(closed.closing or "without a reason"), 60)
    return (
        f"{name_of(case, closed)}, which held it, had been closed on purpose ({reason}): the "
        "cluster was scaled down, or the worker was retired, restarted or closed"
    )


def _remedy_actor_lost(slug: str) -> str:
    keep = (
        "Keep an actor's state outside its worker (in a database, a file), or recreate "
        "the actor when it is lost: catch the error, submit its class again and repeat "
        "the calls"
    )
    if slug == "unknown":
        return f"{keep}."
    return (
        f"{keep}. Also fix the cause of its worker's death: `dask blackbox rules "
        f"{slug}`."
    )


def _given_up(actor: ActorLost | None) -> Iterator[Evidence]:
    if actor is not None:
        text = (
            f"The scheduler gave up on the actor {actor.subject}: its worker was gone."
        )
        yield Evidence(text=text, source="events", at=actor.at)


_BEYOND = 1.5
"""Times of the limit from which a task ran on although its time was over."""


@dataclass(frozen=True, kw_only=True)
class TimedOutTask:
    """A task that reached its own time limit.

    Attributes:
        limit: Seconds.
        setting: The host's name of the limit.
        ran: Seconds that it ran, its host's attempts together; None: not recorded.
        attempts: How often its host may have tried it in that time.
        others: Seconds that each finished execution of its kind took, sorted.
        prefix: What tasks of its kind are called.
    """

    limit: float
    setting: str
    ran: float | None
    attempts: int
    others: tuple[float, ...]
    prefix: str

    def title(self, task: str) -> str:
        """Return what happened to a task, in a few words."""
        return f"{task} exceeded its {self.setting} of {self.limit:g} s"

    def cause(self, key: str) -> str:
        """Return what happened, with how long it and others of its kind ran."""
        text = self.title(quoted_key(key))
        if self.ran is not None:
            text += f": it ran for {duration(self.ran)}"
        if self.ran is not None and self.attempts > 1:
            text += f" in up to {counted(self.attempts, 'attempt')}"
        if self.ran is not None and self.ran > _BEYOND * self.limit * self.attempts:
            text += (
                ", because in a worker's thread the limit takes effect only once a "
                "blocking call has returned"
            )
        if not self.others:
            return f"{text}. No other task of '{self.prefix}' finished"
        took = f"{duration(self.others[0])} to {duration(self.others[-1])}"
        if len(self.others) == 1:
            took = duration(self.others[0])
        return f"{text}. {counted(len(self.others), 'task')} of '{self.prefix}' finished in {took}"

    def remedy(self, retries: str) -> str:
        """Return what to do.

        Args:
            retries: What retries such a task, as code, if it was not retried.
        """
        text = (
            f"If it needs that long, raise `{self.setting}` of '{self.prefix}' or give it "
            "less to do. If it waited for something else, give that call a timeout of "
            "its own"
        )
        if self.attempts > 1:
            return f"{text}: {counted(self.attempts, 'attempt')} did not help."
        return f"{text}, and {retries} retries only this task, not the whole run."


def timed_out(run: RunTables, key: str) -> TimedOutTask | None:
    """Return the time limit that ended a task, if one did."""
    known = {each.subject: each for each in reversed(run.of(TaskTimedOut))}
    time_limit = known.get(key)
    if time_limit is None or not time_limit.limit:
        return None
    finished = run.tasks.filter(FINISHED).with_columns(
        seconds=(pl.col("stop") - pl.col("start")).dt.total_microseconds() / 1e6
    )
    mine = finished.filter(pl.col("key") == key)
    prefix = str(mine["prefix"][0]) if len(mine) else key.rpartition("-")[0]
    others = finished.filter(
        (pl.col("prefix") == prefix) & ~pl.col("key").is_in(list(known))
    )
    return TimedOutTask(
        limit=time_limit.limit,
        setting=time_limit.setting or "time limit",
        ran=float(mine["seconds"].sum()) if len(mine) else None,
        attempts=1 + host_retries(run).get(key, 0),
        others=tuple(sorted(float(each) for each in others["seconds"])),
        prefix=prefix,
    )
