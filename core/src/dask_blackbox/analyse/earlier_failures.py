"""What had failed before a symptom, and is not explained by it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had handled.  Such a verdict is not proved while one is on record:
the first such error is named before the symptom, and both with medium confidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import how_died, name_of
from dask_blackbox.analyse.driver_output import (
    NOISE,
    OF_DASK,
    PrintedFailure,
    last_output,
    own_lines,
    printed_failures,
    without_log_prefix,
)
from dask_blackbox.analyse.driver_position import shared_object_in
from dask_blackbox.analyse.exception_context import (
    HANDLED,
    end_after_handled_errors,
    ended_thread,
    errors_before,
    setup_failed_before,
)
from dask_blackbox.analyse.explanations import (
    explained_exception,
    explained_failure,
    hint_on,
    message_text,
    printed_error,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.facts.suspects import suspects_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    lacked_a_program,
    raised_at_end,
    raised_by_a_check,
    raised_on_purpose,
    root_of_chain,
    user_frame,
)
from dask_blackbox.analyse.hang_texts import not_released_by
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice, advice_on_text
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.side_effects import (
    UNIQUE_KEYS,
    brief_command,
    cancel_of_driver,
    code_owner,
    ended_by_driver_at,
    failed_programs,
    files_of_task,
    how_retired,
    is_related,
    names_exit_of,
    one_file,
    program_exit_text,
    removed_by_itself,
    sentence_on_reused,
    why_cancelled,
)
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    CLIENT_CANCELS,
    CONNECT_TIMED_OUT,
    FUNCTION_RUN_FAILED,
    SCHEDULER_CANCELS,
    WORK_CANCELLED,
)
from dask_blackbox.analyse.signatures.python import (
    NO_SPACE_LEFT,
    OPEN_FILES_EXHAUSTED,
)
from dask_blackbox.analyse.symptoms import (
    is_absence,
    is_incomplete,
    is_leftover,
    is_of_a_system,
    is_refusal,
    is_symptom,
    is_wait,
    lacks_something,
    number_of_failures,
    reported_symptom,
)
from dask_blackbox.analyse.worker_memory import memory_need
from dask_blackbox.events import (
    ClusterRestarted,
    DriverAttached,
    DriverCancel,
    DriverRaised,
    DriverRestart,
    DriverSkipped,
    GraphUpdated,
    KeyReused,
    ProgramFailed,
    TestFailed,
    WorkerClosing,
    WorkerRemoved,
)
from dask_blackbox.finding import ChainStep, Evidence, Finding
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
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_EXHAUSTED = (
    r"(?i:too many open files|no space left|file too large|disk quota exceeded|"
    r"read-only file system|input/output error|cannot allocate memory|\bMemoryError\b)"
)
"""What systems say where a resource is used up, or broken.

Data has many reasons to be wrong, and jobs handle that; a system that refuses has one, and what
fails afterwards in any way may follow from it.
"""

_EXHAUSTED_RULES = (
    (OPEN_FILES_EXHAUSTED, "too-many-open-files"),
    (NO_SPACE_LEFT, "disk-full"),
)
"""Of these, what has a name of its own."""

_ERROR_WORDS = (
    r"(?i)\b[A-Z]\w*(?:Error|Exception)\b|\b(?:errors?|fail(?:ed|ure|s)?|skipp(?:ed|ing)|"
    r"unknown|unsupported|invalid|unrecogni[sz]ed|corrupt\w*|problems?|could not|cannot|can't|unable|unavailable|refused|denied|giving up|gave up)\b|"
    rf"{_EXHAUSTED}"
)
"""What a job prints or logs of an error that it handles."""

_NONE_FAILED = (
    r"(?i)(?:^|[,;:(]\s*|\b(?:and|with) )0 (?:\w+ )?(?:errors?|fail(?:ed|ures?))\b|"
    r"\b(?:no|without) (?:\w+ )?(?:errors?|failures?)\b|"
    r"\b(?:errors?|fail(?:ed|ures?)) ?[:=]? ?0\b"
)
"""What a job prints where nothing has failed."""

_KINDS = frozenset(
    {
        "cannot-connect",
        "data-lost",
        "stalled",
        "worker-start-failed",
        "workers-never-arrived",
    }
)
"""Verdicts about what was not there."""

_RAISED = frozenset({"driver-exception", "task-exception"})
_RAISED_IN_LINE = bounded(r"\b(?P<name>[A-Z]\w*(?:Error|Exception))\b")
_INFORMATION = bounded(r"^\[?(?:DEBUG|INFO)\b")
_NAME_LACKED = bounded(r"'(?P<name>[^']{3,})'")
_AT_ONCE = 5.0  # seconds between what one process prints and its exit
_REPORTED = 1.0  # seconds between what a call raises and the line on it
_DELAY = 0.05
"""Seconds by which a worker's estimate of its scheduler's clock may be off."""
_SHOWN = 3
_MOST = 1_000
"""The first lines of a job that are looked at: a flood of them takes no longer."""
_SET_UP_AGAIN = (
    "Data that exists only in a worker's process (set by `client.run`, in a global "
    "variable or an attribute of the worker) is lost when the process is replaced: "
    "create it in `setup` of a worker plugin (`client.register_plugin`), which runs in "
    "each new process, or pass it to the tasks."
)
_NOT_RELEASED = (
    "its task did not release what it held or finish what it had begun (a lock, a file)"
)
_MOST_TEXTS = 200
"""Different texts of failed tasks that are looked for in lines."""
_WARNING = 30
_OF_A_COMMAND = bounded(r"/(?:dask/cli|distributed/cli/\w+)\.py")
_DEATH_TIMEOUT = bounded(r"--death-timeout[ =](?P<seconds>\S+)")
_WORKERS_COMMAND = bounded(r"\bdask[ -](?:worker|spec)\b")
_TELLING = 12
"""Characters from which on the text of an exception is found in a line by no accident."""
_LONGEST_ERROR, _LONGEST_LINE = 100, 2_000
_FEWEST_WORDS = 4  # of a message that is its own even without its class, less one
"""Characters of an error, and of a line, in which one is looked for in the other."""


@dataclass(frozen=True, kw_only=True)
class _Earlier:
    """Something that had failed.

    Attributes:
        at: Epoch seconds.
        name: Name of the exception's class; empty: not known.
        text: A sentence, without its end.
        message: What was raised or printed.
        source: Of the evidence.
        headline: What it was, for a title; empty: it may well have nothing to do with
            the verdict, and is only evidence.
        advice: Whether a retry helps after it.
        line: Where the job's own code raised it (`etl.py:12`); empty: not known.
        root: The task that failed, where what ended the run is what its failure led to:
            then the verdict is about that task.
        rule: The verdict's rule then; empty: that of a failed task, or as it was.
        known: The verdict's own rule gives it as the reason: it only has to begin the
            headline.
        spoils: Results were wrong after it, so that any exception of the job's may follow.
        remedy: What helps against it; empty: nothing more than its line.
        prefix: Of the tasks that failed so.
        number: How many they were.
        of_task: A task, or a worker, printed it.
        proved: The driver's code shows that what ended it followed from this.
    """

    at: float
    name: str = ""
    text: str
    message: str
    source: str
    headline: str = ""
    advice: Advice = UNKNOWN
    line: str = ""
    root: TaskFailure | None = None
    rule: str = ""
    known: bool = False
    spoils: bool = False
    remedy: str = ""
    prefix: str = ""
    number: int = 1
    of_task: bool = False
    proved: bool = False


def _of_task(
    failure: TaskFailure, raised: tuple[str, str] | None = None, **more: Any
) -> _Earlier:
    """Return the failure of a task.

    Args:
        raised: Class and message to show, if these are not what arrived.
        more: Other fields; with `root`, the verdict is about that task.
    """
    name, message = raised or (class_of(failure.exception), failure.message)
    return _Earlier(
        at=failure.at,
        name=name,
        message=message,
        headline=f"{name} in '{short(failure.called, 40)}': {message_text(name, message)}",
        advice=advice_on_text(failure.exception, failure.message, failure.bases),
        line=code_line(failure.frame),
        **more,
    )


@dataclass(frozen=True, kw_only=True)
class _Program(_Earlier):
    """A program that had failed."""

    program: ProgramFailed


def with_earlier_failures(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a symptom with what had failed before it, and less sure."""
    cancelled = verdict.rule == "cancelled" and ended_by_driver_at(case) is not None
    if verdict.rule not in _KINDS | _RAISED and not cancelled:
        return verdict
    if verdict.rule == "data-lost" and _was_closed(case, verdict.subject.worker):
        return verdict  # which is why
    reported = " ".join([*(each.text for each in verdict.before), verdict.title])
    texts = " ".join([reported, *_texts(case, verdict)])
    raised = tuple(_raised(case))
    found = [
        each
        for each in _earlier(case, verdict)
        if not _is_explained(each, reported if each.root or each.known else texts)
        and not _reports(each, raised)
        and not _reports_wait(case, each)
    ]
    if not found:
        return verdict
    found = _once(sorted(found, key=lambda each: each.at))
    known = next((each for each in found if each.known), None)
    if known is not None:
        return _beginning_with(known, verdict)
    evidence = tuple(map(_evidence, found[:_SHOWN]))
    verdict = msgspec.structs.replace(
        verdict,
        confidence="low" if verdict.confidence == "low" else "medium",
        evidence=(*verdict.evidence, *evidence),
    )
    lacking = verdict.rule not in _RAISED or any(
        _ended_with(case, test) for test in (lacks_something, is_refusal, is_leftover)
    )
    if case.exception is None and case.outcome.survived:
        lacking = False  # the verdict names what the driver had handled last
    leading = [
        each
        for each in found
        if each.headline
        and (
            lacking
            or each.spoils
            or each.proved
            or bounded(_EXHAUSTED).search(each.message)
        )
        and not _lacks_another(case, each)
        and not _is_unrelated(case, each)
        and not _was_repeated(case, each)
    ]
    if not leading:
        return verdict
    leading = [each for each in leading if each.proved] or leading
    at_once = [each for each in leading if each.at - leading[0].at <= _AT_ONCE]
    first = _most_telling(at_once)
    # A task that failed before may itself have met what its first attempt had begun.
    if first.root is not None:
        first = next(_attempts_of(case, first.root), first)
    return _following(case, first, verdict, evidence)


def _was_closed(case: Case, worker: str | None) -> bool:
    """Return whether a worker had been closed on purpose, and did not die."""
    closed = any(each.subject == worker for each in case.run.of(WorkerClosing))
    return closed and not any(each.address == worker for each in case.deaths)


def _most_telling(at_once: Sequence[_Earlier]) -> _Earlier:
    """Return the most specific of the failures of one time, and of equal ones the first.

    Of several kinds of failures among tasks of one prefix, it is the most frequent: what fails
    more often leaves more out.
    """
    found = max(at_once, key=_tells)
    alike = [each for each in at_once if each.prefix and each.prefix == found.prefix]
    return max(alike, key=lambda each: each.number, default=found)


def _tells(earlier: _Earlier) -> int:
    """Return how specific a failure is."""
    if earlier.name:
        return 2
    return 1 if isinstance(earlier, _Program) else 0


def with_end(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on an error that the driver had handled, with how it then ended.

    That one led to the other is read from the code, name by name: probable, and no proof.
    """
    reason, end = case.outcome.reason, end_after_handled_errors(case)
    if reason is None:
        return verdict
    place = code_line(reason, " at ", name_only=True)
    name = class_of(reason.exception)
    return msgspec.structs.replace(
        verdict,
        ended=end,
        cause=f"{verdict.cause} The driver handled {name}{place}, and its code shows that this "
        f"led to its end: {end}.",
        confidence="low" if verdict.confidence == "low" else "medium",
    )


def with_doubt(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on what the run itself was to deliver as no more than probable.

    The exception says what was not there.  Where that came from other tasks, why it was not
    there may be found in them, though none of them raised: of such verdicts in the sets of
    scripts from outside, two in three named the root (history of the benchmark).
    """
    of_symptom = _ended_with(case, is_symptom) or _ended_with(case, is_refusal)
    if verdict.rule not in _RAISED or verdict.confidence != "high" or not of_symptom:
        return verdict
    made_by = _what_made_it(case)
    if verdict.before or case.outcome.source == "test" or not made_by:
        return verdict
    return msgspec.structs.replace(
        verdict,
        confidence="medium",
        cause=f"{verdict.cause} The exception reports {_symptom(case)}, not why: "
        f"{made_by}.",
    )


def _symptom(case: Case) -> str:
    """Return what the exception that ended the run reports."""
    ended = _what_ended(case)
    return "what failed" if ended is None else reported_symptom(*ended)


def _what_ended(case: Case) -> tuple[str, str] | None:
    """Return class and message of what ended the run; None for an exit code."""
    failure, exception = case.blame.failure, case.exception
    if failure is not None:
        return failure.raised[:2]
    return None if exception is None else (exception.exception, exception.message)


def _lacked_a_program(case: Case) -> bool:
    """Return whether what ended the run is that a program could not be started."""
    ended = case.blame.failure or case.exception
    return ended is not None and lacked_a_program(ended.traceback)


def _what_made_it(case: Case) -> str:
    """Return which part of the run made what an exception is about; may be empty."""
    failure, tasks = case.blame.failure, case.run.tasks
    if _says_why(case):
        return ""
    if failure is None:
        if tasks.filter(FINISHED).is_empty():
            return ""
        return "the reason may be in the results or files of earlier tasks"
    own = tasks.filter(pl.col("key") == failure.key)["last_input"].drop_nulls()
    if own.is_empty():
        return ""
    maker = short(case.prefix_of(str(own[0])), 40)
    if not maker:
        return "the reason may be in its input, which no recorded task produced"
    return f"the reason may be in '{maker}', which produced its input"


def _says_why(case: Case) -> bool:
    """Return whether an exception reports what is wrong, not only what is missing.

    A module, a setting or a service is not made by tasks, and neither is the file that a task
    is given to read.
    """
    failure, exception = case.blame.failure, case.exception
    name, message = _what_ended(case) or ("", "")
    explained = None if exception is None else explained_exception(exception)
    if failure is not None:
        explained = explained_failure(case.run, failure)
        if case.none_result_behind(failure) is not None:
            return True
        if one_file(files_of_task(case.run, failure.key)) is not None:
            return True
    if class_of(name) in ("ImportError", "ModuleNotFoundError") or hint_on(message):
        return True
    return (
        explained is not None
        and explained.fix is not None
        and not explained.is_about_data
        and explained.missing_file is None
    )


def _evidence(earlier: _Earlier) -> Evidence:
    return Evidence(text=earlier.text, source=earlier.source, at=earlier.at)


def _beginning_with(earlier: _Earlier, verdict: Finding) -> Finding:
    """Return a verdict whose headline begins with the reason that it already gives."""
    step = ChainStep(
        at=earlier.at, text=earlier.headline, evidence=(_evidence(earlier),)
    )
    rule = earlier.rule or verdict.rule
    return msgspec.structs.replace(verdict, rule=rule, before=(step, *verdict.before))


def _following(
    case: Case, earlier: _Earlier, verdict: Finding, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return a verdict whose headline begins with the failure that may have led to it.

    Args:
        case: The run.
        earlier: That failure.
        verdict: The verdict.
        evidence: What of it is on what failed earlier.
    """
    step = ChainStep(at=earlier.at, text=earlier.headline, evidence=evidence)
    root = earlier.root
    if root is not None:
        verdict = msgspec.structs.replace(
            verdict, rule=earlier.rule or "task-exception", subject=root.subject
        )
    elif rule := earlier.rule or _exhausted(earlier.message):
        verdict = msgspec.structs.replace(verdict, rule=rule)
    return msgspec.structs.replace(
        verdict,
        cause=(
            f"{verdict.cause} Before that, {uncapitalised(earlier.text)}. The job "
            "continued, and the later failure may be a consequence."
        ),
        remedy=_look_first(case, earlier),
        worker_memory=None,
        before=(step, *verdict.before),
        retry_advice=earlier.advice.advice,
        retry_confidence=earlier.advice.confidence,
    )


def _exhausted(message: str) -> str | None:
    """Return the rule of a resource that was used up, if a text says so."""
    return next((rule for said, rule in _EXHAUSTED_RULES if said.search(message)), None)


def _look_first(case: Case, earlier: _Earlier) -> str:
    """Return the remedy: what would fix the consequence (a retry, say) does not help here."""
    failure, exception = case.blame.failure, case.exception
    frame = None if failure is None else failure.frame
    if failure is None and exception is not None:
        frame = user_frame(exception.traceback)
    at = f" at {earlier.line}" if earlier.line else ""
    ended = f", at {code_line(frame)}," if frame is not None else ""
    return (
        f"Start with the earlier failure: {uncapitalised(earlier.headline)}{at}. What then ended the run{ended} is "
        f"probably its consequence. {earlier.remedy}"
    ).rstrip()


def _once(found: list[_Earlier]) -> list[_Earlier]:
    """Return each message once, of what a logger and its handler wrote."""
    kept = list[_Earlier]()
    for each in found[: 10 * _SHOWN]:
        text = each.message or each.text
        if not any(text in (one.message or one.text) for one in kept):
            kept = [one for one in kept if (one.message or one.text) not in text]
            kept.append(each)
    return kept


def _ended_with(case: Case, test: Callable[[str, str], bool]) -> bool:
    """Return whether a test of class and message holds for what ended the run."""
    ended, exception = _what_ended(case), case.exception
    if _lacked_a_program(case):
        return False  # which no task makes
    if ended is None or test(*ended):
        return True  # of an exit code, nothing is known
    if case.blame.failure is not None or exception is None:
        return False
    # What is printed and exits, or is raised on purpose, was raised for another.
    root = root_of_chain(exception.traceback) if len(exception.chain) > 1 else None
    return root is not None and test(*root)


def _texts(case: Case, verdict: Finding) -> Iterator[str]:
    yield from (verdict.cause, verdict.remedy or "")
    evidence = (each.text for each in verdict.evidence)
    yield from (text for text in evidence if not text.startswith(HANDLED))
    exception = case.exception
    if exception is not None:
        yield from (exception.message, exception.traceback, *exception.chain)


def _is_explained(earlier: _Earlier, texts: str) -> bool:
    if isinstance(earlier, _Program):
        return names_exit_of(earlier.program, texts)
    message = without_log_prefix(earlier.message)[:60]
    if message and message in texts:
        return True
    if earlier.spoils:
        return False  # the same class may well have another text
    return (
        bool(earlier.name) and bounded(rf"\b{earlier.name}\b").search(texts) is not None
    )


def _raised(case: Case) -> Iterator[str]:
    """Yield the errors of the verdict, as words: class and message, and a telling message alone."""
    for error in (case.blame.failure, case.exception):
        if error is None:
            continue
        message = _words(error.message)
        yield _words(f"{class_of(error.exception)} {message}")
        if message.count(" ") >= _FEWEST_WORDS:
            yield message


def _words(text: str) -> str:
    """Return a text without punctuation, which `str` and `repr` of an error set differently."""
    return " ".join(bounded(r"\w+").findall(text))[:_LONGEST_ERROR]


def _reports(earlier: _Earlier, raised: tuple[str, ...]) -> bool:
    """Return whether a line only reports the error that the verdict is about."""
    line = _words_of_line(earlier.message)
    return any(f" {each}" in line for each in raised if " " in each)


def _reports_wait(case: Case, earlier: _Earlier) -> bool:
    """Return whether a line reports an earlier wait, which timed out as the last one did.

    A driver that waits once more for the same work met the same twice.
    """
    exception = case.exception
    if exception is None or not is_wait(exception.exception, exception.message):
        return False
    name = class_of(exception.exception)
    return name in earlier.message and any(
        class_of(each.exception) == name and 0 <= earlier.at - each.at <= _REPORTED
        for each in case.outcome.survived
    )


def _words_of_line(line: str) -> str:
    words = bounded(r"\w+").findall(line[:_LONGEST_LINE])
    return f" {' '.join(words)} "


def _earlier(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    failure = case.blame.failure
    until = _since(case, verdict) if failure is None else failure.at
    if verdict.rule == "stalled" and case.standstill is not None:
        until = case.standstill.since + CLOCKS  # later, the job may report its own wait
    lines = [*_lines_of_the_job(case)]
    if _has_a_reason_of_its_own(case, verdict):
        lines = [e if e.root or e.of_task else replace(e, headline="") for e in lines]
    lines = [replace(e, headline="") if _is_unrelated(case, e) else e for e in lines]
    # What the job did about a failure, or another task met of it, has its own name.
    if verdict.rule not in _RAISED or failure is not None:
        lines = [replace(each, root=None) for each in lines]
    found = [*lines, *_attempts(case), *_setups(case)]
    found += _holding_attempts(case) if verdict.rule == "stalled" else ()
    found += _reused_keys(case)
    symptom = verdict.rule not in _RAISED or _ended_with(case, is_symptom)
    found += _killed(case, verdict)
    raised = case.exception is not None and verdict.rule in _RAISED
    # Before the same failures as no more than evidence.
    found += _skipped(case) if raised else ()
    of_tasks = tuple(_tasks(case, verdict))
    if symptom or _ended_with(case, is_leftover):
        found += [*of_tasks, *_processes(case, verdict), *_deaths(case)]
    else:
        found += [each for each in of_tasks if each.spoils]
    if symptom or _ended_with(case, lacks_something):
        found += _restarts(case)
    found += [*_cancellations(case), *_lost_data(case)] if raised else ()
    refused = _ended_with(case, is_refusal) or _ended_with(case, is_leftover)
    if symptom or refused or _cancelled_after_a_wait(case):
        functions = tuple(_functions(case))
        known = {(each.name, each.message) for each in functions}
        printed = (e for e in _printed(case) if (e.name, e.message) not in known)
        found += [*functions, *printed, *_logged(case), *_programs(case, verdict)]
    for each in found:
        if until is None or each.at < until or _had_ended(case, each, until):
            yield each


def _has_a_reason_of_its_own(case: Case, verdict: Finding) -> bool:
    """Return whether nothing that the job printed before is likely to be why something failed.

    What waits in a call of the system waits for a program or a service, and a task that failed
    on its only file failed for what is in it, whatever the driver had printed.
    """
    if verdict.rule == "stalled":
        longest = None if case.hang is None else case.hang.longest
        beyond = () if longest is None else longest.beyond
        return bool(beyond) and shared_object_in(beyond) is None
    failure = case.blame.failure
    if failure is None or _ended_with(case, is_wait):
        return False
    return one_file(files_of_task(case.run, failure.key)) is not None


def _since(case: Case, verdict: Finding) -> float | None:
    """Return when it happened what a verdict without a failed task is about."""
    decided = case.outcome.decided_at
    own = [
        each.at
        for each in verdict.evidence
        if each.at is not None and each.source != "driver"
    ]
    if verdict.rule not in _KINDS or not own:
        return decided
    return min(own) if decided is None else min(*own, decided)


def _had_ended(case: Case, earlier: _Earlier, failed: float) -> bool:
    """Return whether a program had ended before the driver received the failure of a task.

    A program for which nobody waits is looked at when a call to Dask raises: when it really
    ended is not known then.
    """
    decided = case.outcome.decided_at
    if not isinstance(earlier, _Program) or decided is None:
        return False
    if case.blame.failure is None:
        return False
    started = earlier.program.started
    return started is not None and started < failed and earlier.at <= decided


def _tasks(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    """Yield the kinds of failures of tasks, but those that another test may expect.

    What a task held when it failed, others wait for, what it had begun, the job's next
    attempt meets, and a job that one failed cancels others, or closes its cluster; else tasks
    have their own reasons.
    """
    stalled = verdict.rule == "stalled"
    ended = ended_by_driver_at(case) if verdict.rule == "cancelled" else None
    failed = [
        each
        for each in case.failures
        if not each.killed
        and each is not case.blame.failure
        and (case.outcome.source != "test" or each.key in case.unreceived)
    ]
    numbers = Counter((each.prefix, each.exception) for each in failed)
    by_time = sorted(failed, key=lambda each: each.at)
    for (prefix, exception), number in numbers.items():
        kind = (prefix, exception)
        first = next(f for f in by_time if (f.prefix, f.exception) == kind)
        name = class_of(exception)
        # A driver that sends more work after a failure cancels it for another reason.
        cancelled = (
            ended is not None
            and first.at < ended + _DELAY
            and not any(
                first.at < each.at < ended for each in case.run.of(GraphUpdated)
            )
        )
        again = _is_met_again(case, first)
        waited = _ended_with(case, is_wait)
        starved = waited and _ended_thread(case, first)
        leads = cancelled or again or waited
        if stalled:
            leads = first.key in case.unreceived
            starved = leads and _ran_beside_the_hang(case, first)
        # What tasks were to deliver is not there: that follows from one that failed.
        lacked = case.blame.failure is None and _ended_with(case, is_absence)
        proved = not (stalled or cancelled) and _led_to_the_end(case, first)
        missed = not (stalled or cancelled) and (
            proved
            or _is_missed(case, first, {number, len(failed)})
            or _ended_upon(case, first)
        )
        found = _of_task(
            first,
            text=f"{counted(number, 'task')} of '{prefix}' had failed with {name}: "
            f"{short(first.message, 120)}; {_received(case, first)}",
            source="tasks",
            root=first if cancelled or again or lacked or missed or starved else None,
            spoils=missed,
            prefix=prefix or "",
            number=number,
            proved=proved,
        )
        yield found if leads or lacked or missed else replace(found, headline="")


def _led_to_the_end(case: Case, failure: TaskFailure) -> bool:
    """Return whether the driver's code ties a failure that it had handled to what ended it."""
    if case.exception is None or case.outcome.reason is not None:
        return False  # such an error is the outcome itself
    return case.outcome.led_to_the_end(failure.key, failure.exception, failure.message)


def _ran_beside_the_hang(case: Case, failure: TaskFailure) -> bool:
    """Return whether a task failed while one that then hung was already running.

    Tasks that run at the same time and exchange something are made to: one that starts after
    a failure may have nothing to do with it.
    """
    hang = case.hang
    return hang is not None and any(
        hang.at - (task.executing_for or 0.0) < failure.at for task in hang.executing
    )


def _ended_thread(case: Case, failure: TaskFailure) -> bool:
    """Return whether a thread of the driver's ended with the exception of a failed task."""
    exception = case.exception
    thread = None if exception is None else ended_thread(case, exception)
    return (
        thread is not None
        and thread.exception == class_of(failure.exception)
        and thread.message == failure.message.partition("\n")[0].strip()
    )


def _killed(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    """Yield the deaths of workers whose tasks the driver gave up, and then continued."""
    killed = sorted((f for f in case.failures if f.killed), key=lambda each: each.at)
    if not killed or case.blame.failure is killed[0]:
        return
    # Dask gives up on all that a worker held: it need not have run, or be what ended the worker.
    ran = {key for death in case.deaths for key in death.executing}
    suspects = {key for death in case.deaths for key in suspects_of(death)}
    first = min(
        killed, key=lambda each: (each.key not in suspects, each.key not in ran)
    )
    if not (
        _is_lacked_later(case, first)
        or _is_missed(case, first, {len(killed)})
        or _is_restarted_after(case, verdict, first)
        or _ended_upon(case, first)
        or _led_to_the_end(case, first)
        or any(first.key in each.keys for each in _calls_that_skipped(case))
    ):
        return
    deaths = [each for each in case.deaths if first.key in each.executing]
    if not deaths:
        return
    how, cause = how_died(case, deaths), case.cause_of(deaths[-1])
    who = "A worker died" if len(deaths) == 1 else f"Workers died {len(deaths)} times"
    headline = f"{who}{how} while running '{short(first.prefix, 40)}'"
    yield _Earlier(
        at=deaths[0].at,
        text=f"{headline} ({cause.because}), with {quoted_key(first.key)}; the driver had "
        f"received {class_of(first.exception)} and continued",
        message=f"{first.key} {headline}",
        source="workers",
        headline=headline,
        advice=Advice(read_page(cause.slug)[0].retry_advice, "medium"),
        root=first,
        rule=cause.slug,
        spoils=True,
        remedy=_remedy_of_deaths(case, deaths),
    )


def _remedy_of_deaths(case: Case, deaths: list[WorkerExit]) -> str:
    """Return what helps against deaths: how much memory, or which rule says what to do."""
    slug = case.cause_of(deaths[-1]).slug
    if slug == "worker-memory-limit":
        return memory_need(case, tuple(deaths)).advice()
    if slug == "unknown":
        return ""
    return f"`dask blackbox rules {slug}` says what to do about such deaths."


def _is_lacked_later(case: Case, earlier: TaskFailure) -> bool:
    """Return whether what the run then lacked may be what a killed task was to make.

    Of a task that lacked it, only if no task of its kind had run before: else its own input
    is as likely.
    """
    if not _ended_with(case, is_absence):
        return False
    of_key = case.run.tasks.filter(FINISHED & (pl.col("key") == earlier.key))
    if len(of_key):
        return False  # it was done after all
    failure = case.blame.failure
    if failure is None:
        return not case.outcome.call
    return _began_after(case, failure, earlier)


def _lacks_another(case: Case, earlier: _Earlier) -> bool:
    """Return whether the driver lacked a name that no failed task has, of a kind that mostly ran.

    A driver that skips a few of many pieces then lacks a part that is called like one of them.
    """
    exception, failure = case.exception, earlier.root
    if exception is None or failure is None or case.blame.failure is not None:
        return False
    if failure.killed:
        return False  # that a worker dies is nothing that a job skips
    name = _NAME_LACKED.fullmatch(exception.message)
    if name is None or class_of(exception.exception) != "KeyError":
        return False
    alike = [each for each in case.failures if each.prefix == failure.prefix]
    of_prefix = case.run.tasks.filter(pl.col("prefix") == failure.prefix)
    if 2 * len(alike) >= of_prefix["key"].n_unique():
        return False
    return not any(name["name"] in f"{each.key} {each.message}" for each in alike)


def _is_unrelated(case: Case, earlier: _Earlier) -> bool:
    """Return whether the driver ended on purpose, and its code ties no failed task to that."""
    failure, exception = earlier.root, case.exception
    if failure is None or exception is None or case.blame.failure is not None:
        return False
    exits = exception.exception.endswith("SystemExit")
    on_purpose = exits or raised_by_a_check(exception.traceback)
    return on_purpose and case.outcome.is_unrelated(
        failure.key, failure.exception, failure.message
    )


def _was_repeated(case: Case, earlier: _Earlier) -> bool:
    """Return whether the job sent all tasks like one that failed again, and they finished."""
    prefix, at = earlier.prefix, earlier.at
    if not prefix:
        return False
    graphs = [
        (each.at, each.prefixes.get(prefix, 0)) for each in case.run.of(GraphUpdated)
    ]
    before = max((number for sent, number in graphs if sent <= at), default=0)
    again = [sent for sent, number in graphs if sent > at and number >= before > 0]
    if not again:
        return False
    done = case.run.tasks.filter(
        FINISHED & (pl.col("prefix") == prefix) & (epoch("start") > again[0])
    )
    return done["key"].n_unique() >= before


def _began_after(case: Case, failure: TaskFailure, earlier: TaskFailure) -> bool:
    """Return whether no task like one that failed had run before another one failed."""
    alike = case.run.tasks.filter(pl.col("prefix") == failure.prefix)
    began = (alike["start"].dt.epoch("us") / 1e6).min()
    return isinstance(began, float) and earlier.at <= began + CLOCKS


def _ended_upon(case: Case, failure: TaskFailure) -> bool:
    """Return whether a failure that the driver handled was the last it had of its cluster.

    It then submits nothing more, and lacks something a moment later.
    """
    decided = case.outcome.decided_at
    received = [
        each.at
        for each in case.outcome.survived
        if each.key == failure.key or each.message == failure.message
    ]
    if decided is None or not received or case.exception is None:
        return False  # an exit code alone says nothing of what had been handled
    if case.blame.failure is not None:
        return False
    went_on = any(each.at > received[-1] for each in case.run.of(GraphUpdated))
    at_once = decided - received[-1] <= _AT_ONCE
    return at_once and not went_on and _ended_with(case, is_symptom)


def _is_restarted_after(case: Case, verdict: Finding, earlier: TaskFailure) -> bool:
    """Return whether data was lost by a restart that the driver asked for after a failure."""
    return verdict.rule == "data-lost" and any(
        earlier.at - CLOCKS <= each.at for each in case.run.of(DriverRestart)
    )


def _is_missed(case: Case, failure: TaskFailure, numbers: set[int]) -> bool:
    """Return whether the driver's own code met, or counted, what failed tasks did not return.

    Where no call received their exception, the driver continued without their results, and an
    exception that reports too few of something follows; a check that names how many failed
    reports these.
    """
    exception, received = case.exception, case.blame.failure
    if received is not None:  # of a task that was given what there was
        left_out = failure.key in case.unreceived and _began_after(
            case, received, failure
        )
        return left_out and _ended_with(case, is_incomplete)
    if case.outcome.call:
        return False
    if exception is None:
        # A `SystemExit` with a message: only what it prints is known.
        last = last_output(case.run) if case.outcome.kind == "exit-code" else None
        return number_of_failures(last or "") in numbers
    if failure.key in case.unreceived and _ended_with(case, is_incomplete):
        return True
    return raised_on_purpose(exception.traceback) and any(
        bounded(rf"(?<![\d.,]){number}(?![.,]?\d)").search(exception.message)
        and (
            number > 1
            or bounded(rf"{_ERROR_WORDS}|\b1 of \d").search(exception.message)
            is not None
            or _was_printed_at_the_end(case, failure)
        )
        for number in numbers
    )


def _was_printed_at_the_end(case: Case, failure: TaskFailure) -> bool:
    """Return whether the driver's own code named the exception of a task just before it ended."""
    name, decided = class_of(failure.exception), case.outcome.decided_at
    if decided is None:
        return False
    just_before = epoch("at").is_between(decided - _AT_ONCE, decided)
    lines = own_lines(case.run).filter((pl.col("role") == "driver") & just_before)
    return any(
        bounded(rf"\b{re.escape(name)}\b").search(each) for each in lines["message"]
    )


def _is_met_again(case: Case, earlier: TaskFailure) -> bool:
    """Return whether what a failed task's attempt had left unfinished was met again.

    By a task of its kind, or by the driver, which had received that failure and tried again.
    """
    failure = case.blame.failure
    if failure is None and earlier.key in case.unreceived:
        return False
    kind = failure is None or failure.prefix == earlier.prefix
    return kind and case.exception is not None and _ended_with(case, is_leftover)


def _setups(case: Case) -> Iterator[_Earlier]:
    """Yield what had failed to set up on the worker whose task lacked something."""
    failure = case.blame.failure
    unset = None if failure is None else setup_failed_before(case, failure)
    if unset is not None and _ended_with(case, lacks_something):
        yield _Earlier(
            at=unset.evidence.at or 0.0,
            text=unset.sentence,
            message=unset.title,
            source="logs",
            headline=unset.title,
            known=True,
            rule="worker-start-failed",
        )


def _attempts(case: Case) -> Iterator[_Earlier]:
    """Yield what the first attempt of a task raised, where the last met what it had begun.

    Or lacked what that attempt had removed.
    """
    failure = case.blame.failure or _handled_last(case)
    if failure is not None:
        yield from _attempts_of(case, failure)


def _holding_attempts(case: Case) -> Iterator[_Earlier]:
    """Yield attempts that failed with the lock for which others waited ever since."""
    retried = case.run.errors.filter(pl.col("outcome") == "retried").sort("at")
    columns = ("key", "exception", "message", epoch("at"), "traceback")
    for key, exception, message, at, trace in (
        retried.select(columns).head(_MOST_TEXTS).iter_rows()
    ):
        held = not_released_by(case, at, trace or "")
        if held and exception:
            name, prefix = class_of(exception), case.prefix_of(key)
            yield _Earlier(
                at=at,
                name=name,
                text=f"An attempt of {quoted_key(key)} raised {name}: "
                f"{short(message or '', 120)}. {held}",
                message=message or "",
                source="tasks",
                headline=f"{name} in '{short(prefix, 40)}': {message_text(name, message or '')}",
                advice=advice_on_text(exception, message or ""),
                line=code_line(user_frame(trace or "")),
                spoils=True,
            )


def _attempts_of(case: Case, failure: TaskFailure) -> Iterator[_Earlier]:
    if not is_leftover(*failure.raised[:2]) and not removed_by_itself(case, failure):
        return
    for exception, message, at, traceback in errors_before(case, failure)[:1]:
        name = class_of(exception)
        yield _Earlier(
            at=at,
            name=name,
            text=f"An earlier attempt of the task had raised {name}: {short(message, 120)}",
            message=message,
            source="tasks",
            headline=f"{name} in '{short(failure.called, 40)}': {message_text(name, message)}",
            advice=advice_on_text(exception, message),
            line=code_line(user_frame(traceback)),
            root=failure,
            spoils=True,
        )


def _handled_last(case: Case) -> TaskFailure | None:
    """Return the failed task whose error the driver had received last when it exited."""
    survived = case.outcome.survived
    if case.exception is not None or not survived:
        return None
    last = (survived[-1].exception, survived[-1].message)
    return next((f for f in case.failures if (f.exception, f.message) == last), None)


def _reused_keys(case: Case) -> Iterator[_Earlier]:
    """Yield the first key that was given to two tasks, where the failure is about its result."""
    reused = sorted(case.run.of(KeyReused), key=lambda each: each.at)
    if (failure := case.blame.failure) is not None:
        tasks = case.run.tasks.filter(pl.col("key") == failure.key)
        used = {failure.key, *tasks["last_input"].drop_nulls()}
        reused = [each for each in reused if each.key in used]
    if not reused:
        return
    keys = list(dict.fromkeys(each.key for each in reused))
    yield _Earlier(
        at=reused[0].at,
        text=f"The key {sentence_on_reused(reused[0])}",
        message=f"key-reused {keys[0]}",
        source="driver",
        headline=f"Different tasks had the same key, {quoted(keys, most=1)}: Dask returned "
        "the first result for both",
        advice=Advice("code", "high"),
        line=code_line(reused[0]),
        spoils=True,
        remedy=UNIQUE_KEYS,
    )


def _processes(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    """Yield the exceptions that had ended earlier processes of the command.

    A shell, or a driver that does not look at an exit code, starts the next step all the same.
    """
    raised = sorted(case.run.of(DriverRaised), key=lambda each: each.at)
    related = {raised[-1].pid, *raised[-1].parents} if raised else set()
    # The exit code of a program tells its parent nothing of its exception.
    ignored = set[int]()
    if verdict.rule in _RAISED:
        ignored = {each.program_pid or 0 for each in case.run.of(ProgramFailed)}
    for each in raised[:-1]:
        ancestors = {each.pid, *each.parents}
        related_too = raised[-1].pid in ancestors and each.pid not in ignored
        if each.pid is None or each.pid in related or related_too:
            continue
        if verdict.rule == "worker-start-failed" and _OF_A_COMMAND.search(
            each.traceback or ""
        ):
            continue  # a `dask worker` that did not start: what the verdict is about
        name, message = class_of(each.exception or ""), each.message or ""
        named = (f for f in case.failures if class_of(f.exception) == name)
        root = next((f for f in named if f.message == message), None)
        where = f" in '{short(root.called, 40)}'" if root is not None else ""
        line = code_line(each)
        by_driver = each.pid in ignored
        process = "a program of the driver" if by_driver else "an earlier process"
        yield _Earlier(
            at=each.at,
            name=name,
            text=(
                f"Process {each.pid} of the command had ended with {name}: "
                f"{short(message, 120)}{f' at {line}' if line else ''}, and the process that "
                "started it had continued"
            ),
            message=message,
            source="driver",
            headline=f"{name}{where}: {message_text(name, message)} in {process}",
            advice=advice_on_text(each.exception or "", message, each.bases),
            line=line,
            root=root,
        )


def _deaths(case: Case) -> Iterator[_Earlier]:
    """Yield the deaths of workers whose successor lacked something, or met what was begun.

    What a process had been given (`client.run`, a global of a module) ends with it; what its
    task had begun or held (a file, a lock until its lease is over) does not.
    """
    failure = case.blame.failure
    if failure is None:
        return
    lacks, meets = (_ended_with(case, t) for t in (lacks_something, is_leftover))
    own = case.run.tasks.filter(
        (pl.col("prefix") == failure.prefix)
        & pl.col("worker").eq_missing(failure.worker)
        & FINISHED
    )
    joined = _joined(case, failure.worker)
    for death in case.deaths:
        prefixes = dict.fromkeys(case.prefix_of(key) for key in death.executing)
        met = meets and failure.prefix in prefixes
        lost = lacks and joined >= death.at and not len(own)
        # Of a task that was itself tried again, the verdict says so.
        if failure.key in death.executing or not (met or lost):
            continue
        how, cause = how_died(case, [death]), case.cause_of(death)
        running = f" while running {quoted(prefixes)}" if prefixes else ""
        yield _Earlier(
            at=death.at,
            text=(
                f"{capital(name_of(case, death))} had died{how}{running}; "
                + (
                    _NOT_RELEASED
                    if met
                    else "the data that only its process held was lost"
                )
            ),
            message=f"{death.address} died{how}",
            source="workers",
            headline=f"A worker died{how}{running}",
            root=failure,
            rule=cause.slug if cause.slug != "unknown" else "",
            remedy=f"{_remedy_of_deaths(case, [death])} {'' if met else _SET_UP_AGAIN}".strip(),
        )


_LOST = ("lost dependencies", "already forgotten")


def _lost_data(case: Case) -> Iterator[_Earlier]:
    """Yield the loss of scattered data without which the driver's calls were cancelled."""
    cancelled = (
        (e.at, WORK_CANCELLED.search(e.message)) for e in case.outcome.survived
    )
    called = [at for at, found in cancelled if found and found["reason"] in _LOST]
    losses = [
        each
        for each in case.run.of(WorkerRemoved)
        if each.lost_scattered and called and each.at <= max(called) + CLOCKS
    ]
    for left in losses[:1]:
        lost = quoted(left.lost_scattered, most=3)
        deaths = [e for e in case.deaths if e.address == left.subject]
        how = how_died(case, deaths) if deaths else f", {how_retired(case, left)}"
        slug = case.cause_of(deaths[-1]).slug if deaths else "unknown"
        fix = f" Also see `dask blackbox rules {slug}`." if slug != "unknown" else ""
        yield _Earlier(
            at=left.at,
            text=(
                f"{capital(case.name_of(left.subject))}, which held the only copy of "
                f"{lost}, had {'died' if deaths else 'left'}{how}; Dask cannot recompute "
                "scattered data, and cancels tasks that need it"
            ),
            message=f"lost: {lost}",
            source="workers",
            headline=f"Data that could not be recomputed was lost with its worker{how}",
            rule="data-lost",
            remedy="Load the data in a task instead of scattering it, or scatter it with "
            f"`broadcast=True`, so that losing one worker does not matter.{fix}",
        )


def _restarts(case: Case) -> Iterator[_Earlier]:
    """Yield the driver's own restart of the workers, where a task then lacked something.

    Tasks like it had finished on the processes before.
    """
    failure = case.blame.failure
    if failure is None or not _ended_with(case, lacks_something):
        return
    joined = _joined(case, failure.worker)
    finished = case.run.tasks.filter((pl.col("prefix") == failure.prefix) & FINISHED)
    stops = finished["stop"].dt.epoch("us") / 1e6
    for restart in case.run.of(ClusterRestarted):
        if restart.at <= joined and (stops < restart.at).any():
            yield _Earlier(
                at=restart.at,
                text="The driver had restarted all workers (`client.restart`); the data that "
                "only their processes held was lost",
                message="client.restart",
                source="events",
                headline="The driver restarted all workers (`client.restart`)",
                remedy=_SET_UP_AGAIN,
            )


def _joined(case: Case, worker: str | None) -> float:
    """Return when a worker joined, epoch seconds; 0 where that is not recorded."""
    if worker is None:
        return 0.0
    rows = case.run.workers.filter(pl.col("address") == worker)
    joined = (rows["joined"].dt.epoch("us") / 1e6).max()
    return float(joined) if isinstance(joined, int | float) else 0.0


def _cancelled_after_a_wait(case: Case) -> bool:
    """Return whether the driver cancelled what it had waited for in vain: its results are lacking."""
    survived = case.outcome.survived
    waits = [each.at for each in survived if is_wait(each.exception, each.message)]
    calls = case.run.of(DriverCancel)
    return any(0 <= call.at - at <= _AT_ONCE for call in calls for at in waits)


def _cancellations(case: Case) -> Iterator[_Earlier]:
    """Yield that the driver's own client had cancelled tasks, as the scheduler logs that."""
    own = {each.client for each in case.run.of(DriverAttached)}
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    keys = logs["message"].str.extract(SCHEDULER_CANCELS.pattern).drop_nulls()
    prefixes = sorted({case.prefix_of(str(key)) for key in keys.head(_MOST)})
    for row in logs.filter(printed_by(CLIENT_CANCELS)).sort("at").iter_rows(named=True):
        found = CLIENT_CANCELS.match(row["message"])
        if found is None or found["client"] not in own or not prefixes:
            continue
        at = row["at"].timestamp()
        what = f"{counted(int(found['number']), 'task')} ({quoted(prefixes)})"
        what += why_cancelled(cancel_of_driver(case, at))
        yield _Earlier(
            at=at,
            text=f"The driver's own client had cancelled {what}",
            message=row["message"],
            source="logs",
            headline=f"The job's own code cancelled {what}",
            rule="cancelled",
            remedy="Find `future.cancel()` or `client.cancel(…)` in the job's own "
            "code: a watchdog, a time limit, or cleanup after an error. A cancelled "
            "future has no result.",
        )


def _skipped(case: Case) -> Iterator[_Earlier]:
    """Yield the failed tasks whose results the driver left out by `gather(…, errors="skip")`.

    Any exception about values may follow, as there are fewer of them; one of a system, or of
    a service, has another reason.
    """
    failure = case.blame.failure
    for call in _calls_that_skipped(case):
        failed = [each for each in case.failures if each.key in call.keys]
        if not failed:  # they needed the results of tasks that had failed
            before = (each for each in case.failures if each.at <= call.at)
            failed = [each for each in before if each.key in case.unreceived]
        # What had failed by then does not follow; deaths say more than `KilledWorker`.
        if not failed or failure in failed or all(each.killed for each in failed):
            continue
        first = min(failed, key=lambda each: each.at)
        name = class_of(first.exception)
        line = code_line(call, " at ", name_only=True)
        yield _of_task(
            first,
            text=f"{counted(call.skipped, 'task')} of {call.futures} had no result, since "
            f"'{short(first.called, 40)}' had failed with {name}: {short(first.message, 120)}; the driver "
            f'left out their results{line} (`errors="skip"`)',
            source="driver",
            root=first,
            spoils=True,
            remedy='`client.gather(…, errors="skip")` leaves out the results of '
            "failed futures: compare the number of results with the number of futures, "
            'or remove `errors="skip"`.',
        )


def _calls_that_skipped(case: Case) -> Iterator[DriverSkipped]:
    """Yield the calls whose missing results the driver may have failed for."""
    if _ended_with(case, is_of_a_system):
        return
    failure, decided = case.blame.failure, case.outcome.decided_at
    ended = decided if failure is None else failure.at
    # What is only gathered while the run ends does not count.
    latest = float("inf") if ended is None else ended + case.outcome.clocks
    for call in case.run.of(DriverSkipped):
        # Another test expects what it leaves out.
        if call.at <= latest and not _is_of_another_test(case, call.function):
            yield call


def _is_of_another_test(case: Case, function: str | None) -> bool:
    """Return whether a function is a test, and none of those that failed; fixtures are none."""
    tests = case.run.of(TestFailed) if case.outcome.source == "test" else ()
    if not tests or not (function or "").startswith("test"):
        return False
    return not any(
        each.test.partition("[")[0].endswith(function or "") for each in tests
    )


def _functions(case: Case) -> Iterator[_Earlier]:
    """Yield what functions raised that the driver ran on its workers (`client.run`)."""
    logs = case.run.logs.filter(
        (pl.col("role") == "worker") & printed_by(FUNCTION_RUN_FAILED)
    )
    for row in logs.sort("at").head(_SHOWN).iter_rows(named=True):
        found = FUNCTION_RUN_FAILED.search(row["message"])
        raised = raised_at_end(row["message"])
        if found is None or raised is None:
            continue
        name, message = class_of(raised[0]), raised[1]
        yield _Earlier(
            at=row["at"].timestamp(),
            name=name,
            text=f"{name}: {short(message, 120)} had been raised by "
            f"'{found['function']}', which the driver had run on its workers "
            "(`client.run`)",
            message=message,
            source="logs",
            headline=f"{name} in '{short(found['function'], 40)}' on a worker (`client.run`): "
            f"{message_text(name, message)}",
            advice=advice_on_text(raised[0], message),
            line=code_line(user_frame(row["message"])),
        )


def _received(case: Case, failure: TaskFailure) -> str:
    if failure.key in case.unreceived:
        return "no call of the driver received this exception"
    return "the driver had received this exception and continued"


def _printed(case: Case) -> Iterator[_Earlier]:
    of_tasks = {
        (class_of(f.exception), f.message.partition("\n")[0]): f for f in case.failures
    }
    for each in case.run.once(printed_failures):
        frame = user_frame(each.traceback)
        if each.traceback and frame is None:
            continue
        failure = of_tasks.get((each.exception, each.message))
        if failure is not None and failure is not case.blame.failure:
            yield _handled_failure(failure, "The driver had printed", each.text)
            continue
        of_worker = _ended_a_worker(case, each)
        where = (
            f"{each.place} of the driver"
            if each.place
            else "a command that should have started a worker"
            if of_worker
            else "a program of the driver"
        )
        at = f", at {code_line(frame)}" if of_worker and frame else ""
        yield _Earlier(
            at=each.at,
            name=each.exception,
            text=f"{short(each.text, 160)} had been raised in {where}{at}",
            message=each.message,
            source="logs",
            headline=f"{printed_error(each)} in {where}",
            advice=advice_on_text(each.exception, each.message),
            line=code_line(frame),
            rule="worker-start-failed" if of_worker else "",
        )


def _patience(program: ProgramFailed) -> str:
    """Return for how long a command of a worker waits for a scheduler, if it ends then."""
    given = _DEATH_TIMEOUT.search(program.command)
    if given is None or not _WORKERS_COMMAND.search(program.command):
        return ""
    return (
        f"; with `--death-timeout {given['seconds']}`, a worker exits when no scheduler "
        "has answered for that long"
    )


def _ended_a_worker(case: Case, printed: PrintedFailure) -> bool:
    """Return whether an exception ended a command that was to start workers."""
    return _OF_A_COMMAND.search(printed.traceback) is not None and any(
        _WORKERS_COMMAND.search(each.command) for each in failed_programs(case)
    )


def _programs(case: Case, verdict: Finding) -> Iterator[_Earlier]:
    """Yield programs whose exit codes the driver, or a task, had ignored."""
    unreached = verdict.rule == "workers-never-arrived" and any(
        CONNECT_TIMED_OUT.search(each.message)
        for each in case.run.once(printed_failures)
    )
    for each in failed_programs(case):
        of_workers = _WORKERS_COMMAND.search(each.command)
        if of_workers and (unreached or verdict.rule == "worker-start-failed"):
            continue  # that it exited is what the verdict is about
        how = program_exit_text(each)
        had = f"had {how.replace('was ended', 'been ended', 1)}"
        owner = code_owner(case, each.subject)
        name = f"Program “{short(brief_command(each.command), 60)}” of {owner} {how}"
        related = is_related(each, case.blame.failure)
        yield _Program(
            program=each,
            at=each.at,
            text=f"A program of {owner}, {short_with_paths(each.command, 160)}, {had}"
            f"{_patience(each)}",
            message=each.error or f"{each.command} {how}",
            source="driver" if each.subject == "driver" else "tasks",
            headline=name if related else "",
        )


def _error_pattern(case: Case) -> str:
    """Return a pattern for what a job says of errors: words, and texts of those it received."""
    received = (" ".join(e.message.split()) for e in case.outcome.survived)
    texts = {text[:_LONGEST_ERROR] for text in received if len(text) >= _TELLING}
    return "|".join([_ERROR_WORDS, *map(re.escape, sorted(texts))])


def _lines_of_the_job(case: Case) -> Iterator[_Earlier]:
    """Yield what the job's own code printed or logged of errors."""
    own = pl.col("message")
    logs = own_lines(case.run).filter(
        own.str.contains(_error_pattern(case))
        & ~own.str.contains(_NONE_FAILED)
        & ~own.str.contains(r"^\s|^Traceback|^[\w.]+(?:Error|Exception)\b")
    )
    if case.dialect.notices:
        logs = logs.filter(~own.str.contains(case.dialect.notices))
    first = logs.sort("at").unique("message", keep="first", maintain_order=True)
    texts_of_failures = _texts_of_failures(case)
    logged = _logged_by_workers(case)
    # What a task waits for, and does not come from a task, comes from the driver.
    waited = case.blame.failure is not None and _ended_with(case, is_wait)
    for at, role, line, key in (
        first.head(_MOST).select(epoch("at"), "role", "message", "key").iter_rows()
    ):
        message, name = _as_one_line(str(line))
        # Workers share the standard error of their driver.
        by = [text for text in logged if role == "driver" and str(line).endswith(text)]
        of_driver = role == "driver" and not by
        of_task = _task_or_worker(case, logged[by[0]] if by else key)
        who = "The driver" if of_driver else of_task
        quoted_failure = _quoted_by(message, texts_of_failures)
        if quoted_failure is not None:
            yield _handled_failure(quoted_failure, f"{who} had printed", message)
            continue
        yield _Earlier(
            at=at,
            name=name,
            text=f"{who} had printed: {short(message, 160)}",
            message=message,
            source="logs",
            # What the job calls information is no failure to it.
            headline=""
            if _INFORMATION.match(message)
            else f"{who} printed “{short_with_paths(without_log_prefix(message), 80)}”",
            advice=_advice_on_line(message),
            rule="driver-exception" if waited and of_driver else "",
            of_task=not of_driver,
        )


def _task_or_worker(case: Case, key: str | None) -> str:
    """Return who printed or logged something, as the beginning of a sentence."""
    return "A worker" if key is None else f"'{short(case.prefix_of(key), 40)}'"


def _logged_by_workers(case: Case) -> dict[str, str | None]:
    """Return some different warnings that loggers of workers recorded, and the tasks."""
    logs = case.run.logs.filter(
        (pl.col("role") == "worker")
        & (pl.col("level") >= _WARNING)
        & (pl.col("message").str.len_chars() >= _TELLING)
    )
    first = logs.unique("message", keep="first", maintain_order=True).head(_MOST_TEXTS)
    return dict(first.select("message", "key").iter_rows())


def _logged(case: Case) -> Iterator[_Earlier]:
    """Yield warnings and errors of the job's own loggers."""
    errors = _error_pattern(case)
    logs = case.run.logs.filter(
        (pl.col("level") >= _WARNING)
        & pl.col("role").is_in(["driver", "worker"])
        & ~pl.col("logger").fill_null("").str.contains(f"^(?:{OF_DASK})")
        & ~pl.col("logger").is_in(["stdout", "stderr", ""])
        & ~pl.any_horizontal(
            pl.col("message").str.contains(each, literal=True) for each in NOISE
        )
    )
    if case.dialect.notices:
        logs = logs.filter(~pl.col("message").str.contains(case.dialect.notices))
    texts = logs.group_by("logger", "message", maintain_order=True).agg(
        pl.col("at").min().dt.epoch("us") / 1e6, pl.col("key").first()
    )
    texts_of_failures = _texts_of_failures(case)
    for row in texts.sort("at", "message").head(_MOST).iter_rows(named=True):
        message, name = _as_one_line(row["message"])
        who = row["logger"]
        if row["key"] is not None:
            who = _task_or_worker(case, row["key"])
        quoted_failure = _quoted_by(message, texts_of_failures)
        if quoted_failure is not None:
            yield _handled_failure(quoted_failure, f"{who} had logged", message)
            continue
        yield _Earlier(
            at=row["at"],
            name=name,
            text=f"{who} had logged: {short(message, 160)}",
            message=message,
            source="logs",
            headline=f"{who} logged “{short_with_paths(message, 80)}”"
            if bounded(errors).search(message)
            else "",
            advice=_advice_on_line(message),
            line=code_line(user_frame(row["message"])),
        )


def _texts_of_failures(case: Case) -> dict[str, TaskFailure]:
    """Return the texts of failed tasks that a line can quote, and the first task with each."""
    found = dict[str, TaskFailure]()
    for each in sorted(case.failures, key=lambda failure: failure.at):
        text = _words(each.raised.message)
        if len(text) < _TELLING:  # such as of a `KeyError`: only with its class
            text = _words(f"{each.raised.name} {each.raised.message}")
        if not each.killed and each is not case.blame.failure and len(text) >= _TELLING:
            found.setdefault(text, each)
        if len(found) >= _MOST_TEXTS:
            break
    return found


def _quoted_by(line: str, texts: dict[str, TaskFailure]) -> TaskFailure | None:
    """Return the failed task whose text a line of the job quotes; the line names no task."""
    words = _words_of_line(line)
    for text, failure in texts.items():
        if f" {text} " in words or (len(text) == _LONGEST_ERROR and text in words):
            return failure
    return None


def _handled_failure(failure: TaskFailure, who: str, message: str) -> _Earlier:
    """Return the failure of a task that the job handled, and what it said of it."""
    name, text = failure.raised[:2]
    return _of_task(
        failure,
        (name, text),
        text=f"A task of '{failure.prefix}' had failed with {name}: {short(text, 120)}; "
        f"{uncapitalised(who)}: {short(message, 160)}",
        source="tasks",
        root=failure,
        prefix=failure.prefix,
    )


def _as_one_line(message: str) -> tuple[str, str]:
    """Return what was printed as one line, and the class that a traceback in it ends with."""
    first, _, rest = message.partition("\n")
    raised = raised_at_end(rest)
    if raised is None:
        return " ".join(message.split()), ""
    name = class_of(raised[0])
    return f"{first.strip()}: {name}: {raised[1]}".rstrip(": "), name


def _advice_on_line(line: str) -> Advice:
    """Return the retry advice on the exception in a printed line."""
    raised = _RAISED_IN_LINE.search(line)
    return UNKNOWN if raised is None else advice_on_text(raised["name"], line)
