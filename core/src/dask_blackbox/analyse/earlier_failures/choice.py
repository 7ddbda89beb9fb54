"""Which of what had failed before a verdict is named before it, and what the verdict then is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import without_log_prefix
from dask_blackbox.analyse.earlier_failures.incident import (
    AT_ONCE,
    KINDS,
    RAISED,
    SHOWN,
    SURE,
    Earlier,
    Program,
    ended_with,
    what_ended,
)
from dask_blackbox.analyse.earlier_failures.links import incidents_before
from dask_blackbox.analyse.earlier_failures.of_lines import (
    EXHAUSTED,
    words,
    words_of_line,
)
from dask_blackbox.analyse.earlier_failures.of_tasks import attempts_of, is_unrelated
from dask_blackbox.analyse.exception_context import HANDLED, end_after_handled_errors
from dask_blackbox.analyse.explanations import (
    explained_exception,
    explained_failure,
    hint_on,
)
from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.analyse.side_effects import (
    ended_by_driver_at,
    files_of_task,
    names_exit_of,
    one_file,
)
from dask_blackbox.analyse.signatures.python import NO_SPACE_LEFT, OPEN_FILES_EXHAUSTED
from dask_blackbox.analyse.symptoms import (
    is_leftover,
    is_refusal,
    is_symptom,
    is_wait,
    lacks_something,
    reported_symptom,
)
from dask_blackbox.events import GraphUpdated, WorkerClosing
from dask_blackbox.finding import ChainStep, Evidence, Finding
from dask_blackbox.formatting import class_of, code_line, short, uncapitalised
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_EXHAUSTED_RULES = (
    (OPEN_FILES_EXHAUSTED, "too-many-open-files"),
    (NO_SPACE_LEFT, "disk-full"),
)
"""Of these, what has a name of its own."""

_NAME_LACKED = bounded(r"'(?P<name>[^']{3,})'")

_REPORTED = 1.0  # seconds between what a call raises and the line on it


_FEWEST_WORDS = 4  # of a message that is its own even without its class, less one
"""Characters of an error, and of a line, in which one is looked for in the other."""


def with_earlier_failures(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a symptom with what had failed before it, and less sure."""
    found = _unexplained(case, verdict) if _may_follow(case, verdict) else []
    if not found:
        return verdict
    given = next((each for each in found if each.grade == "given"), None)
    if given is not None:
        return _beginning_with(given, verdict)
    evidence = tuple(map(_evidence, found[:SHOWN]))
    verdict = msgspec.structs.replace(
        verdict,
        confidence="low" if verdict.confidence == "low" else "medium",
        evidence=(*verdict.evidence, *evidence),
    )
    first = _leading(case, verdict, found)
    return verdict if first is None else _following(case, first, verdict, evidence)


def _may_follow(case: Case, verdict: Finding) -> bool:
    """Return whether a verdict is about something that may follow from something else."""
    if verdict.rule == "cancelled":
        return ended_by_driver_at(case) is not None
    if verdict.rule == "data-lost":
        return not _was_closed(case, verdict.subject.worker)  # which is why
    return verdict.rule in KINDS | RAISED


def _unexplained(case: Case, verdict: Finding) -> list[Earlier]:
    """Return what came before a verdict and is not what it already reports, by time."""
    reported = " ".join([*(each.text for each in verdict.before), verdict.title])
    texts = " ".join([reported, *_texts(case, verdict)])
    raised = tuple(_raised(case))
    found = [
        each
        for each in incidents_before(case, verdict)
        if not _is_explained(
            each, reported if each.root or each.grade == "given" else texts
        )
        and not _reports(each, raised)
        and not _reports_wait(case, each)
    ]
    return _once(sorted(found, key=lambda each: each.at))


def _leading(case: Case, verdict: Finding, found: list[Earlier]) -> Earlier | None:
    """Return what of it a verdict begins with; None if none of it need have led there."""
    lacking = _is_lacking(case, verdict)
    leading = [
        each
        for each in found
        if _may_lead(each, lacking=lacking)
        and not _lacks_another(case, each)
        and not is_unrelated(case, each)
        and not _was_repeated(case, each)
    ]
    leading = [each for each in leading if each.grade == "proved"] or leading
    if not leading:
        return None
    at_once = [each for each in leading if each.at - leading[0].at <= AT_ONCE]
    first = _most_telling(at_once)
    if first.root is None:
        return first
    # A task that failed before may itself have met what its first attempt had begun.
    return next(attempts_of(case, first.root), first)


def _is_lacking(case: Case, verdict: Finding) -> bool:
    """Return whether what ended the run reports something missing, refused or left over."""
    if case.exception is None and case.outcome.survived:
        return False  # the verdict names what the driver had handled last
    return verdict.rule not in RAISED or any(
        ended_with(case, test) for test in (lacks_something, is_refusal, is_leftover)
    )


def _may_lead(earlier: Earlier, *, lacking: bool) -> bool:
    """Return whether something is sure enough to be named as what led to a verdict.

    Args:
        lacking: What ended the run reports something missing, refused or left over.
    """
    if earlier.grade in SURE:
        return True
    exhausted = bounded(EXHAUSTED).search(earlier.message) is not None
    return earlier.grade != "evidence" and (lacking or exhausted)


def _was_closed(case: Case, worker: str | None) -> bool:
    """Return whether a worker had been closed on purpose, and did not die."""
    closed = any(each.subject == worker for each in case.run.of(WorkerClosing))
    return closed and not any(each.address == worker for each in case.deaths)


def _most_telling(at_once: Sequence[Earlier]) -> Earlier:
    """Return the most specific of the failures of one time, and of equal ones the first.

    Of several kinds of failures among tasks of one prefix, it is the most frequent: what fails
    more often leaves more out.
    """
    found = max(at_once, key=_tells)
    alike = [each for each in at_once if each.prefix and each.prefix == found.prefix]
    return max(alike, key=lambda each: each.number, default=found)


def _tells(earlier: Earlier) -> int:
    """Return how specific a failure is."""
    if earlier.name:
        return 2
    return 1 if isinstance(earlier, Program) else 0


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
    of_symptom = ended_with(case, is_symptom) or ended_with(case, is_refusal)
    if verdict.rule not in RAISED or verdict.confidence != "high" or not of_symptom:
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
    ended = what_ended(case)
    return "what failed" if ended is None else reported_symptom(*ended)


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
    name, message = what_ended(case) or ("", "")
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


def _evidence(earlier: Earlier) -> Evidence:
    return Evidence(text=earlier.text, source=earlier.source, at=earlier.at)


def _beginning_with(earlier: Earlier, verdict: Finding) -> Finding:
    """Return a verdict whose headline begins with the reason that it already gives."""
    step = ChainStep(
        at=earlier.at, text=earlier.headline, evidence=(_evidence(earlier),)
    )
    rule = earlier.rule or verdict.rule
    return msgspec.structs.replace(verdict, rule=rule, before=(step, *verdict.before))


def _following(
    case: Case, earlier: Earlier, verdict: Finding, evidence: tuple[Evidence, ...]
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
        verdict = msgspec.structs.replace(
            verdict, rule=rule, subject=earlier.subject or verdict.subject
        )
    because = earlier.because or (
        "The job continued, and the later failure may be a consequence."
    )
    return msgspec.structs.replace(
        verdict,
        cause=(
            f"{verdict.cause} Before that, {uncapitalised(earlier.text)}. {because}"
        ),
        remedy=_look_first(case, earlier),
        worker_memory=None,
        before=(step, *earlier.then, *verdict.before),
        retry_advice=earlier.advice.advice,
        retry_confidence=earlier.advice.confidence,
    )


def _exhausted(message: str) -> str | None:
    """Return the rule of a resource that was used up, if a text says so."""
    return next((rule for said, rule in _EXHAUSTED_RULES if said.search(message)), None)


def _look_first(case: Case, earlier: Earlier) -> str:
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


def _once(found: list[Earlier]) -> list[Earlier]:
    """Return each message once, of what a logger and its handler wrote."""
    kept = list[Earlier]()
    for each in found[: 10 * SHOWN]:
        text = each.message or each.text
        if not any(text in (one.message or one.text) for one in kept):
            kept = [one for one in kept if (one.message or one.text) not in text]
            kept.append(each)
    return kept


def _texts(case: Case, verdict: Finding) -> Iterator[str]:
    yield from (verdict.cause, verdict.remedy or "")
    evidence = (each.text for each in verdict.evidence)
    yield from (text for text in evidence if not text.startswith(HANDLED))
    exception = case.exception
    if exception is not None:
        yield from (exception.message, exception.traceback, *exception.chain)


def _is_explained(earlier: Earlier, texts: str) -> bool:
    if isinstance(earlier, Program):
        return names_exit_of(earlier.program, texts)
    message = without_log_prefix(earlier.message)[:60]
    if message and message in texts:
        return True
    if earlier.grade in SURE:
        return False  # the same class may well have another text
    return (
        bool(earlier.name) and bounded(rf"\b{earlier.name}\b").search(texts) is not None
    )


def _raised(case: Case) -> Iterator[str]:
    """Yield the errors of the verdict, as words: class and message, and a telling message alone."""
    for error in (case.blame.failure, case.exception):
        if error is None:
            continue
        message = words(error.message)
        yield words(f"{class_of(error.exception)} {message}")
        if message.count(" ") >= _FEWEST_WORDS:
            yield message


def _reports(earlier: Earlier, raised: tuple[str, ...]) -> bool:
    """Return whether a line only reports the error that the verdict is about."""
    line = words_of_line(earlier.message)
    return any(f" {each}" in line for each in raised if " " in each)


def _reports_wait(case: Case, earlier: Earlier) -> bool:
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


def _lacks_another(case: Case, earlier: Earlier) -> bool:
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


def _was_repeated(case: Case, earlier: Earlier) -> bool:
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
