"""Did a task raise an exception that ended the run?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dask_blackbox.analyse.advice import NO_SPACE, advice_on_text
from dask_blackbox.analyse.around import (
    dead_at,
    died_before,
    errors_before,
    how_it_came,
    how_it_was_lost,
    raised_before,
    where_it_was,
)
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import came_from_a_task, end_of, user_frame
from dask_blackbox.analyse.hints import hint_on
from dask_blackbox.analyse.lone_worker import LoneWorker, lone_worker
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.setups import setup_failed_before
from dask_blackbox.analyse.words import (
    article,
    class_of,
    counted,
    listed,
    quoted,
    short,
)
from dask_blackbox.finding import (
    Confidence,
    Evidence,
    Finding,
    RetryAdvice,
    Subject,
)

__all__ = ["TASK_EXCEPTION"]


_NOT_TASKS = {
    r'distributed/client\.py", line \d+, in _run(?:_on_scheduler)?\n': (
        "code run on the cluster",
        "It was run there by `client.run` or `run_on_scheduler`, and is no task.",
    ),
    r'distributed/worker\.py", line \d+, in actor_execute\n': (
        "an actor's method",
        "It was a method of an actor, not a task; the actor itself lives on.",
    ),
}
"""What runs on a cluster beside tasks: where a traceback shows it, and how to say it."""
_PIECE = re.compile(r"^\(.+, (?P<number>\d+)\)$")
_HANDLED = (
    "If the driver counts on that, let the function return a value that says so, and "
    "nothing is said here. If not, its result lacks these tasks'. "
)
_OF_PREFECT = "/prefect/task_engine.py"
"""In the traceback of a task of Prefect's, of which Dask's own retries know nothing."""


def _ask(case: Case) -> Iterator[Finding]:
    blamed = case.blame.failure
    if blamed is not None and blamed.killed:
        blamed = None
    if blamed is not None and not case.explained:
        # What a second attempt met may be what the first one left, with its worker.
        alone = case.blame.proven and not dead_at(case, blamed)
        sure: Confidence = "high" if alone else "medium"
        yield _finding(case, [blamed], "failure", sure)
    elif blamed is None:
        yield from _unrecorded(case)
    spoken_for = {finding.subject.key for finding in case.found}
    alike_blamed = blamed and (blamed.prefix, blamed.exception)
    others = [
        failure
        for failure in case.failures
        if failure is not blamed
        and not failure.killed
        and failure.key not in spoken_for
        and (failure.prefix, failure.exception) != alike_blamed
    ]
    for alike in _alike(others):
        yield _finding(case, alike, "warning", "high")


def _unrecorded(case: Case) -> Iterator[Finding]:
    """A task whose failure only the driver's own traceback tells of."""
    exception = case.exception
    if case.explained or case.blame.failure is not None or exception is None:
        return
    if case.raised("KilledWorker") or not came_from_a_task(exception.traceback):
        return
    name, frame = class_of(exception.exception), user_frame(exception.traceback)
    where = f", at {frame}" if frame else ""
    what, how = next(
        (
            told
            for pattern, told in _NOT_TASKS.items()
            if re.search(pattern, exception.traceback)
        ),
        ("a task", "Which task that was is not recorded."),
    )
    yield TASK_EXCEPTION.found(
        f"{name} in {what}: {short(exception.message, 80)}".rstrip(": "),
        cause=(
            "The driver's traceback goes on into code that ran on the cluster: "
            f"{name}: {short(exception.message, 300)}{where}. {how}"
        ),
        remedy=f"Look at {frame.file}:{frame.line}."
        if frame
        else "Look at its traceback.",
        confidence="medium",
        evidence=case.exception_evidence(),
        retry_advice=advice_on_text(exception.exception, exception.message),
    )


def _alike(failures: list[TaskFailure]) -> list[list[TaskFailure]]:
    """Return failures grouped by prefix and class, the most frequent first; three at most."""
    groups: dict[tuple[str, str], list[TaskFailure]] = {}
    for failure in failures:
        groups.setdefault((failure.prefix, failure.exception), []).append(failure)
    return sorted(groups.values(), key=len, reverse=True)[:3]


def _finding(
    case: Case, failures: list[TaskFailure], severity: str, confidence: Confidence
) -> Finding:
    first = failures[0]
    name = first.raised.name or "an exception"
    prefix = short(first.prefix or case.prefix_of(first.key), 40)
    if severity == "failure":
        title = f"{name} in '{prefix}': {_said_or_done(first)}".rstrip(": ")
    else:
        title = f"{counted(len(failures), 'task')} of '{prefix}' failed with {name}"
    lone = lone_worker(case, first)
    handled = "" if case.failed else _HANDLED
    return TASK_EXCEPTION.found(
        title,
        cause=_cause(case, failures, lone),
        remedy=handled + _remedy(case, first, lone),
        confidence=confidence,
        severity="failure" if severity == "failure" else "warning",
        subject=Subject(
            key=first.key, prefix=first.prefix or None, worker=first.worker
        ),
        evidence=_evidence(case, first),
        retry_advice=_advice(case, first, lone),
    )


def _said_or_done(failure: TaskFailure) -> str:
    """Return the message; of a group, its first; without a word, the line that raised."""
    if failure.members:
        name, message = failure.members[0]
        more = len(failure.members) - 1
        first = f"{class_of(name)}: {short(message, 60)}".rstrip(": ")
        return f"{first} and {more} more" if more else first
    if failure.raised.message or failure.frame is None or not failure.frame.code:
        return short(failure.raised.message, 80)
    return f"`{short(failure.frame.code, 60)}` in {failure.frame.function}"


def _cause(case: Case, failures: list[TaskFailure], lone: LoneWorker | None) -> str:
    first = failures[0]
    where = f" on {case.name_of(first.worker)}" if first.worker else ""
    sentences = [f"'{short(first.key, 80)}' raised {short(str(first), 300)}{where}"]
    if first.frame is not None:
        sentences[0] += f", at {first.frame}"
        if first.frame.code:
            sentences[0] += f" (`{short(first.frame.code, 100)}`)"
    sentences.extend(where_it_was(case, first))
    sentences.extend(how_it_came(first))
    sentences.extend(how_it_was_lost(case, first))
    sentences.extend(died_before(case, first))
    if lone is not None:
        sentences.append(lone.told)
    if first.attempts > 1:
        earlier = raised_before(case, first)
        before = f"; before, it had raised {listed(earlier)}" if earlier else ""
        sentences.append(f"It was tried {first.attempts} times{before}")
    if first.dependents:
        sentences.append(
            f"{counted(first.dependents, 'task')} that needed it could not run"
        )
    if len(failures) > 1:
        sentences.append(f"So did {quoted([f.key for f in failures[1:]])}")
    if not case.failed:
        them = "it" if len(failures) == 1 else "them"
        sentences.append(f"The driver went on without {them}")
    verdict = case.failed and first is case.blame.failure
    others = [f for f in case.failures if verdict and f is not first and not f.killed]
    if others:
        by_prefix = Counter(f.prefix for f in others)
        sentences.append(
            f"{counted(len(others), 'other task')} failed too, of {quoted(by_prefix)}"
        )
    if case.failed and not case.blame.proven and first is case.blame.failure:
        own = "exception does not say" if case.exception else "exit code does not prove"
        sentences.append(f"The driver's own {own} that it came from there")
    return ". ".join(sentences) + "."


def _advice(case: Case, failure: TaskFailure, lone: LoneWorker | None) -> RetryAdvice:
    advice = advice_on_text(*failure.telling)
    before = _lasting_before(case, failure)
    if before is not None and advice in ("code", "data"):
        advice = advice_on_text(*before)
    # What went well on other workers may do so again.
    otherwise = lone is not None or dead_at(case, failure)
    return "unknown" if otherwise and advice in ("code", "data") else advice


def _look(failure: TaskFailure) -> str:
    """Return where to look; without a line of the user's own, it is at the input."""
    if failure.frame is not None:
        return f"Look at {failure.frame.file}:{failure.frame.line}"
    called = f"'{short(failure.prefix or failure.key, 40)}'"
    look = f"Look at what {called} was given: no line of your own raised"
    piece = _PIECE.search(failure.key)
    if piece is None or not failure.traceback:
        return look if failure.traceback else f"Look at what {called} calls"
    several = ", each of several files" if "fused" in failure.prefix else ""
    return f"{look}. It is piece {piece['number']} (the first is 0{several})"


def _remedy(case: Case, failure: TaskFailure, lone: LoneWorker | None) -> str:
    look = _look(failure)
    if dead := dead_at(case, failure):
        return (
            f"{look}, and at what an attempt leaves behind whose worker dies: write aside "
            "and rename, or let a second attempt write over it. And mend what the worker "
            f"died of: `dask blackbox rules {next(iter(dead))}`."
        )
    if more := _of_its_worker(case, failure, lone) or _of_the_first(case, failure):
        return f"{look}{more}"
    name = class_of(failure.telling[0])
    advice = advice_on_text(*failure.telling)
    if NO_SPACE.search(failure.telling[1]):
        return (
            f"{look}: the disk that it writes to is full, and stays so when it is tried "
            "again. Free space or write elsewhere, and remove what an attempt that failed "
            "has left."
        )
    if advice == "transient":
        return (
            f"{look}. {article(name).capitalize()} {name} often passes: {_retries(failure)} tries this task again "
            "without the rest of the run."
        )
    if advice == "unknown":
        return (
            f"{look}. Whether {article(name)} {name} passes by itself depends on what was called; if it "
            f"may, {_retries(failure)} tries this task again without the rest of the run."
        )
    same = (
        "The same input fails in the same way, so trying again as it is won't help: mend "
        "the code, or check the input of this key before it."
    )
    return f"{look}. {hint_on(failure.raised.message) or same}"


def _lasting_before(case: Case, failure: TaskFailure) -> tuple[str, str] | None:
    """Return what an earlier attempt had raised, if that does not pass by itself."""
    return next(
        (
            error
            for error in errors_before(case, failure)
            if advice_on_text(*error) in ("environment", "memory")
        ),
        None,
    )


def _of_the_first(case: Case, failure: TaskFailure) -> str | None:
    """Return what to do of an attempt that may only have met what the first one left."""
    before = _lasting_before(case, failure)
    if before is None:
        return None
    full = " (a disk that is full)" if NO_SPACE.search(before[1]) else ""
    return (
        f"; but begin with {class_of(before[0])}{full}, which an earlier attempt raised. "
        "What a later one meets may be what that left behind: half a file, an input that "
        "was changed in place."
    )


def _of_its_worker(
    case: Case, failure: TaskFailure, lone: LoneWorker | None
) -> str | None:
    """Return what to do about the worker, if it is the worker that was different."""
    if setup_failed_before(case, failure):
        return (
            ": does it need what failed to set up on that worker? Then mend that, and let "
            "`setup` succeed on workers that start later, with what is left of the first "
            "ones: Dask runs on without it, and logs it only there."
        )
    return None if lone is None else f". {lone.remedy}"


def _retries(failure: TaskFailure) -> str:
    """Return what tries a task again: Dask, or the host whose task it is."""
    if _OF_PREFECT in failure.traceback:
        return "`@task(retries=3, retry_delay_seconds=10)` of Prefect's"
    return "`client.submit(…, retries=3)` or `dask.annotate(retries=3)`"


def _evidence(case: Case, failure: TaskFailure) -> tuple[Evidence, ...]:
    tail = end_of(failure.traceback)
    facts = [
        Evidence(
            text=f"{_placed(failure.key, failure.worker)}: {short(str(failure), 500)}",
            source="errors",
            at=failure.at,
            see=case.see("logs", "--worker", failure.worker)
            if failure.worker
            else None,
        )
    ]
    if tail:
        facts.append(Evidence(text=tail[:1500], source="errors", at=failure.at))
    if unset := setup_failed_before(case, failure):
        facts.append(unset[1])
    return (*facts, *(case.exception_evidence() if case.failed else ()))


TASK_EXCEPTION = Rule(
    slug="task-exception",
    title="A task raised an exception",
    question="Did a task raise an exception, and was it that which ended the run?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "Code in a task raised. The finding names the task that failed of itself, not "
            "those that inherited its error, with the line of your code, the worker, the "
            "number of attempts and the root of chained exceptions."
        ),
        evidence=(
            "The scheduler's record of the failed task and its traceback, tied to the "
            "driver's exception by key, by class and message, or by a message quoted in "
            "it, or by what it was handling when it raised `from None`; with medium confidence, if the driver raises by itself that some have "
            "failed. Failed tasks that the driver handled are warnings, not verdicts. Silent on "
            "tasks whose workers died, and on errors that other rules explain better."
        ),
        remedy="Mend the line that is named; `retries=` (Dask's, or that of the host's own task) for errors that pass.",
        before="def parse(row):\n    return int(row['amount'])",
        after="def parse(row):\n    return int(row['amount'] or 0)",
    ),
)


def _placed(key: str, worker: str | None) -> str:
    return f"{key} on {worker}" if worker else key
