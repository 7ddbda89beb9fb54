"""Which of what had happened before a verdict led to it.

A file that is missing, a wait that was given up or a count that is wrong may follow from an
error that the run itself had handled.  Such a verdict is not proved while one is on record:
the first such error is named before the symptom, and both with medium confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
    what_ended,
)
from dask_blackbox.analyse.causes.earlier.of_lines import (
    EXHAUSTED,
    words,
    words_of_line,
)
from dask_blackbox.analyse.causes.earlier.of_tasks import attempts_of, is_unrelated
from dask_blackbox.analyse.causes.kinds import OF_THE_DRIVER, RAISED, REMOVED
from dask_blackbox.analyse.causes.links import LINKS
from dask_blackbox.analyse.causes.telling import (
    led_by,
    with_evidence,
)
from dask_blackbox.analyse.driver_output import last_output, without_log_prefix
from dask_blackbox.analyse.exception_context import thread_that_was_missed
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import raised_in
from dask_blackbox.analyse.side_effects import names_exit_of
from dask_blackbox.analyse.symptoms import (
    is_leftover,
    is_refusal,
    lacks_something,
)
from dask_blackbox.events import GraphUpdated
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_NAME_LACKED = bounded(r"'(?P<name>[^']{3,})'")

_COMPARED = 60  # characters of a message
_FEWEST_WORDS = 4  # of a message that is its own even without its class, less one


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
    candidates = list(found)
    if not candidates:
        return []
    known, raised = _Known.of(case, verdict), tuple(_raised(case))
    kept = [
        each
        for each in candidates
        if not known.explains(each) and not _reports(each, raised)
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


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What a verdict reports already.

    Attributes:
        own: Class and message of the errors that it is about, if it is about any.
        raised: The same of all that it names: what those were chained to, the last failed task,
            and the last line of the driver.
        shown: When that happened which its evidence shows, epoch seconds.
    """

    own: tuple[tuple[str, str], ...]
    raised: tuple[tuple[str, str], ...]
    shown: frozenset[float]

    @classmethod
    def of(cls, case: Case, verdict: Finding) -> _Known:
        """Return what a verdict reports."""
        own = tuple(_own_errors(case, verdict))
        # Of an exit code, nothing is known but what was handled and printed last.
        exited = case.exception is None and verdict.rule in OF_THE_DRIVER
        handled = case.outcome.survived[-1:] if exited else ()
        last = last_output(case.run) if exited else None
        failed = case.unhandled_failures if verdict.rule in OF_THE_DRIVER else ()
        chained = (case.exception, case.blame.failure, *failed[-1:])
        return cls(
            own=own,
            raised=(
                *own,
                *((class_of(e.exception), e.message) for e in handled),
                *(each for error in chained for each in _in_chain(error)),
                *((("", last),) if last else ()),
            ),
            shown=frozenset(e.at for e in verdict.evidence if e.at is not None),
        )

    def explains(self, earlier: Earlier) -> bool:
        """Return whether it is what the verdict reports: the same error, row or exit code."""
        about_it = earlier.root is not None or earlier.grade == "given"
        if not about_it and earlier.at in self.shown:
            return True
        if isinstance(earlier, Program):
            program = earlier.program
            return any(names_exit_of(program, text) for _, text in self.raised)
        errors = self.own if about_it else self.raised
        message = without_log_prefix(earlier.message)[:_COMPARED]
        if message and any(message in f"{name}: {text}" for name, text in errors):
            return True
        if earlier.grade in SURE or not earlier.name:
            return False  # the same class may well have another text
        return any(name == earlier.name for name, _ in errors)


def _own_errors(case: Case, verdict: Finding) -> Iterator[tuple[str, str]]:
    """Yield class and message of what a verdict on an error is about."""
    exception, ended = case.exception, what_ended(case)
    if exception is None:
        return
    if ended is not None and not case.only_waits:
        yield class_of(ended[0]), ended[1]
    # Of a stall, the thread that was to end it is what came before.
    about_thread = verdict.rule in OF_THE_DRIVER
    thread = thread_that_was_missed(case, exception) if about_thread else None
    if thread is not None:
        yield thread.exception, thread.message


def _in_chain(error: DriverException | TaskFailure | None) -> Iterator[tuple[str, str]]:
    """Yield class and message of an error, and of those that it was chained to or holds."""
    if error is None:
        return
    yield class_of(error.exception), error.message
    if isinstance(error, TaskFailure):
        yield error.raised[:2]
    else:
        yield "", error.traceback  # a job may print what is in its own code
        yield from ((class_of(name), "") for name in error.chain)
    for name, message in raised_in(error.traceback):
        yield class_of(name), message


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
