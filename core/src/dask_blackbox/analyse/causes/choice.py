"""Which of what had happened before a verdict led to it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had handled.  Such a verdict is not proved while one is on record:
the first such error is named before the symptom, and both with medium confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.end import End
from dask_blackbox.analyse.causes.earlier.incident import (
    AT_ONCE,
    SHOWN,
    SURE,
    Earlier,
    Program,
    ended_with,
)
from dask_blackbox.analyse.causes.earlier.of_lines import (
    EXHAUSTED,
    words,
    words_of_line,
)
from dask_blackbox.analyse.causes.earlier.of_tasks import attempts_of, is_unrelated
from dask_blackbox.analyse.causes.kinds import RAISED, REMOVED
from dask_blackbox.analyse.causes.links import LINKS
from dask_blackbox.analyse.causes.telling import (
    led_by,
    with_evidence,
)
from dask_blackbox.analyse.driver_output import without_log_prefix
from dask_blackbox.analyse.exception_context import HANDLED
from dask_blackbox.analyse.side_effects import names_exit_of
from dask_blackbox.analyse.symptoms import (
    is_leftover,
    is_refusal,
    is_wait,
    lacks_something,
)
from dask_blackbox.events import GraphUpdated
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_NAME_LACKED = bounded(r"'(?P<name>[^']{3,})'")

_REPORTED = 1.0  # seconds between what a call raises and the line on it


_FEWEST_WORDS = 4  # of a message that is its own even without its class, less one
"""Characters of an error, and of a line, in which one is looked for in the other."""


def with_first_cause(case: Case, verdict: Finding) -> Finding:
    """Return a verdict that begins with what led to it, if the recording shows that."""
    end = End(case, verdict)
    found = [e for row in LINKS if not row.state for e in row.before_verdict(end)]
    removal = next((each for each in found if each.kind == REMOVED), None)
    others = _unexplained(case, verdict, (e for e in found if e is not removal))
    first, shown = _leading(case, verdict, others), others[:SHOWN]
    # What was to write a file again, and failed, came after that was removed.
    if removal is not None and (first is None or first.at <= removal.at):
        first, shown = removal, [removal]
    if first is not None:
        return led_by(case, first, verdict, shown)
    return _with_state(case, with_evidence(verdict, shown) if shown else verdict)


def _with_state(case: Case, verdict: Finding) -> Finding:
    """Return a verdict with how something was found as it failed, of the first row that finds it."""
    end = End(case, verdict)
    found = (e for row in LINKS if row.state for e in row.before_verdict(end))
    state = None if verdict.before else next(found, None)
    return verdict if state is None else led_by(case, state, verdict, [state])


def _unexplained(
    case: Case, verdict: Finding, found: Iterable[Earlier]
) -> list[Earlier]:
    """Return what came before a verdict and is not what it already reports, by time."""
    reported = " ".join([*(each.text for each in verdict.before), verdict.title])
    texts = " ".join([reported, *_texts(case, verdict)])
    raised = tuple(_raised(case))
    kept = [
        each
        for each in found
        if not _is_explained(
            each, reported if each.root or each.grade == "given" else texts
        )
        and not _reports(each, raised)
        and not _reports_wait(case, each)
    ]
    return _once(sorted(kept, key=lambda each: each.at))


def _leading(case: Case, verdict: Finding, found: list[Earlier]) -> Earlier | None:
    """Return what of it a verdict begins with; None if none of it need have led there."""
    given = next((each for each in found if each.grade == "given"), None)
    if given is not None:
        return given
    lacking = _is_lacking(case, verdict)
    leading = [
        each
        for each in found
        if _may_lead(each, lacking=lacking) and not _is_ruled_out(case, each)
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


def _is_ruled_out(case: Case, earlier: Earlier) -> bool:
    """Return whether the run shows that something did not lead to its end."""
    return (
        _lacks_another(case, earlier)
        or is_unrelated(case, earlier)
        or _was_repeated(case, earlier)
    )


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


def _once(found: list[Earlier]) -> list[Earlier]:
    """Return each message once, of what a logger and its handler wrote."""
    kept = list[Earlier]()
    for each in found[: 10 * SHOWN]:
        text = _said(each)
        if not any(text in _said(one) for one in kept):
            kept = [one for one in kept if _said(one) not in text]
            kept.append(each)
    return kept


def _said(earlier: Earlier) -> str:
    return earlier.message or earlier.words.text


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
