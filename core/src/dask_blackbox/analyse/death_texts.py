"""The texts of findings about deaths: which workers died of what, running which tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from dask_blackbox.analyse.blame import closed_connection_to
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.suspects import (
    TaskAtExit,
    frame_at_exit,
    suspects_of,
)
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.frozen_workers import native_evidence
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.run_state import signal_of_driver
from dask_blackbox.events import GraphUpdated, WorkerClosing, WorkerRemoved
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice, Subject
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    duration,
    listed,
    quoted,
    quoted_key,
    short,
    size,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch

_SHOWN = 4
_FEW = 3
_BOTH = 2
_MOST_OTHERS = 20


def deaths_blamed_on(case: Case, slug: str) -> tuple[WorkerExit, ...]:
    """Return the deaths of this cause that explain the run's failure; none if others do."""
    if case.blame.cause != slug:
        return ()
    return tuple(d for d in case.blame.deaths if case.cause_of(d).slug == slug)


def verdict_on_deaths(
    case: Case,
    rule: Rule,
    *,
    did: str,
    how: str,
    remedy: str,
    more: str = "",
    retry_advice: RetryAdvice | None = None,
    retry_confidence: Confidence | None = None,
    worker_memory: int | None = None,
) -> Iterator[Finding]:
    """Yield the verdict that deaths explain the failure: those of the cause that is blamed.

    Args:
        did: What each of them did: `died`.
        how: And how: `at their memory limit`.
        more: Sentences to add to the cause.
        retry_advice: If this differs from the rule's.
        retry_confidence: How sure that is, at most, if this differs from the rule's.
        worker_memory: Bytes that the remedy asks for, for each worker.
    """
    blame = case.blame
    deaths = deaths_blamed_on(case, blame.cause or "")
    times = "A worker" if len(deaths) == 1 else "Workers"
    often = "" if len(deaths) == 1 else f" {len(deaths)} times"
    names = names_at_fault(case, deaths)
    doing = f" while running {names}" if names else ""
    order = (doing, f" {how}") if how.startswith("because") else (f" {how}", doing)
    title = f"{times} {did}{often}{''.join(order)}"
    yield rule.found(
        title,
        cause=" ".join(x for x in (_reported(case, deaths), more) if x),
        remedy=remedy,
        confidence=blame.confidence,
        subject=Subject(
            key=blame.guilty,
            prefix=_running_prefix(case, deaths),
            worker=deaths[-1].address,
        ),
        evidence=(*evidence_of(case, deaths), *case.exception_evidence()),
        retry_advice=retry_advice,
        retry_confidence=retry_confidence,
        worker_memory=worker_memory,
    )


def names_at_fault(case: Case, deaths: tuple[WorkerExit, ...]) -> str:
    """Return the tasks that may be guilty, for people: `'load' or 'clean'`; empty: unknown.

    A fused task has the prefix of one of Dask's own, such as `from_sequence`.  The user's
    functions in it are added: those whose names are in its key, else those in the stack.
    """
    suspects = _prefixes_at_fault(case, deaths)
    names = [f"'{short(each, 40)}'" for each in suspects]
    parts = bounded(r"[-(),' ]+").split(case.blame.guilty or "")
    own = _functions_of(case, suspects[0]) if names else []
    if own and not suspects[0].startswith(tuple(own)):
        fused = [each for each in dict.fromkeys(parts) if each in own]
        fused = fused or [each for each in own if _in_a_stack(each, deaths)]
        names[0] += f" ({listed(fused)})" if fused else ""
    return " or ".join(names)


def _in_a_stack(function: str, deaths: tuple[WorkerExit, ...]) -> bool:
    line = bounded(rf" in {re.escape(function)}$", re.MULTILINE)
    return any(line.search(death.stack) for death in deaths)


def _functions_of(case: Case, prefix: str) -> list[str]:
    """Return the names of the user's own functions in the tasks of a prefix, in their order."""
    names = (
        name.rpartition(":")[2]
        for graph in case.run.of(GraphUpdated)
        for name in graph.functions.get(prefix, ())
    )
    return list(dict.fromkeys(names))


def _prefixes_at_fault(case: Case, deaths: tuple[WorkerExit, ...]) -> tuple[str, ...]:
    """Return the prefixes of the tasks that may be guilty: several if nothing decides."""
    first = _running_prefix(case, deaths)
    if first is None:
        return ()
    return (first, *case.blame.tied) if len(case.blame.tied) < _FEW else (first,)


def _running_prefix(case: Case, deaths: tuple[WorkerExit, ...]) -> str | None:
    """Return the prefix of the guilty task; else the one that all were running."""
    if case.blame.guilty:
        return case.prefix_of(case.blame.guilty)
    prefixes = {case.prefix_of(key) for death in deaths for key in death.running_on}
    return prefixes.pop() if len(prefixes) == 1 else None


def last_line_text(deaths: tuple[WorkerExit, ...]) -> str:
    """Return a sentence on the line of code that the last stack shows, or nothing."""
    for death in reversed(deaths):
        frame = frame_at_exit(death)
        if frame is not None:
            return f"Python was at {frame}."
    return ""


def name_of(case: Case, death: WorkerExit) -> str:
    """Return a dead worker's name, address and process."""
    return case.name_of(death.address, death.pid)


def _reported(case: Case, deaths: tuple[WorkerExit, ...]) -> str:
    """Return sentences about some deaths."""
    last = deaths[-1]
    sentences = [_raised_before(case, deaths), _running_task_text(case, deaths)]
    who = name_of(case, last)
    died = (
        f"The last to die was {who}"
        if len(deaths) > 1
        else f"{capital(who)} {_ended(last)}"
    )
    sentences.append(f"{died}: {case.cause_of(last).because}.")
    others = [
        d for d in case.deaths if case.cause_of(d).slug != case.cause_of(last).slug
    ]
    if others:
        sentences.append(
            f"In addition, {counted(len(others), 'worker')} died{how_died(case, others)}."
        )
    sentences.append(_counted_besides(case))
    sentences.append(_waited_until(case))
    return " ".join(sentence for sentence in sentences if sentence)


def how_died(case: Case, deaths: Sequence[WorkerExit]) -> str:
    """Return what follows "2 workers died": " because of …", or the causes, counted."""
    causes = Counter(case.cause_of(death).died for death in deaths)
    if len(causes) == 1:
        return f" {next(iter(causes))}"
    return f": {listed([f'{n:,} {how}' for how, n in causes.most_common()])}"


def died_running(case: Case, deaths: Sequence[WorkerExit]) -> str:
    """Return how workers died, and what the last of them ran: `died at … while running 'hog'`."""
    prefixes = dict.fromkeys(case.prefix_of(key) for key in deaths[-1].executing)
    running = f" while running {quoted(prefixes)}" if prefixes else ""
    return f"died{how_died(case, deaths)}{running}"


def _counted_besides(case: Case) -> str:
    """Return a sentence on closed workers that Dask counts as deaths of the same task."""
    died = {death.address for death in case.deaths}
    reasons = {fact.subject: fact.reason or "" for fact in case.run.of(WorkerClosing)}
    closed = [
        fact.subject
        for fact in case.run.of(WorkerRemoved)
        if fact.subject not in died
        and not fact.expected
        and case.blame.blamed in fact.processing
        and reasons.get(fact.subject)
    ]
    if not closed or case.blame.failure is None:
        return ""
    why = sorted({short(reasons[address], 40) for address in closed})
    dropped = ""
    if any(reason.startswith("nanny-close") for reason in why):
        dropped = (
            "; a cluster object closes workers that are still restarting after "
            "`distributed.deploy.lost-worker-timeout`"
        )
    return (
        f"For that task, Dask also counts {counted(len(closed), 'worker')} that closed "
        f"while holding it ({', '.join(why)}{dropped})."
    )


def _waited_until(case: Case) -> str:
    """Return a sentence on how a driver ended that learned of no failure, or nothing."""
    if case.blame.failure is not None:
        return ""
    empty = "no worker was left" if case.no_worker_left else ""
    if case.state in ("aborted", "lost"):
        by = signal_of_driver(case.run)
        waited = f"the driver waited until it was stopped{f' by {by}' if by else ''}"
        if case.run.continues:
            waited = "the driver is waiting"
        return f"No exception was raised: {empty}{', and ' if empty else ''}{waited}."
    if empty and case.only_waited:
        return f"No task raised an exception: {empty}, and the driver kept waiting."
    return ""


def _raised_before(case: Case, deaths: tuple[WorkerExit, ...]) -> str:
    """Return a sentence on errors of the guilty task before its worker died, or nothing."""
    key = case.blame.guilty
    if key is None:
        return ""
    errors = case.run.errors.filter(
        (pl.col("outcome") == "retried")
        & (pl.col("key") == key)
        & (epoch("at") <= deaths[-1].at)
    ).sort("at")
    if not len(errors):
        return ""
    last = errors.row(-1, named=True)
    name, often = class_of(last["exception"] or ""), len(errors)
    times = "once" if often == 1 else f"{often} times"
    return (
        f"{quoted_key(key)} had raised {name} {times} before "
        f"({short(last['message'] or '', 160)}) and was retried; then its worker died."
    )


def _running_task_text(case: Case, deaths: tuple[WorkerExit, ...]) -> str:
    guilty = case.blame.guilty
    if not guilty:
        running_tasks = sorted({key for death in deaths for key in death.running_on})
        if not running_tasks:
            return _no_task(case)
        return f"Running at that time: {quoted(running_tasks)}."
    with_it = [death for death in deaths if guilty in death.executing]
    if not with_it:
        return (
            f"Dask blames {quoted_key(guilty)}, which was assigned to the workers "
            "that died."
        )
    with_tasks = [death for death in deaths if death.executing]
    sentences = (
        f"{quoted_key(guilty)} was running {_at_deaths(len(with_it), len(deaths))}"
        + _alike_text(case, guilty, with_tasks, len(deaths), more_than=len(with_it)),
        _blamed_text(case, with_tasks),
        _others_beside(case, with_tasks, with_it),
        _others_elsewhere(with_tasks, with_it, rest=len(deaths) - len(with_it)),
    )
    return ". ".join(filter(None, sentences)) + "."


def _alike_text(
    case: Case,
    guilty: str,
    with_tasks: list[WorkerExit],
    deaths: int,
    *,
    more_than: int,
) -> str:
    """Return at how many deaths a task like one was running, if at more than that one was."""
    prefix = case.prefix_of(guilty)
    alike = sum(
        any(case.prefix_of(key) == prefix for key in death.executing)
        for death in with_tasks
    )
    if alike <= more_than:
        return ""
    number = f"{alike} of them"
    if alike == deaths:
        number = "both" if deaths == _BOTH else f"all {alike}"
    return f", and a task of '{short(prefix, 40)}' at {number}"


def _ran_blamed(case: Case, with_tasks: list[WorkerExit]) -> bool:
    """Return whether the task that Dask blames may itself have ended a worker."""
    return any(case.blame.blamed in suspects_of(death) for death in with_tasks)


def _waiting(case: Case) -> set[str]:
    """Return the tasks that were only waiting when their worker died."""
    return {
        each.key for each in case.blame.evidence if not each.suspect and each.waited
    }


def _blamed_text(case: Case, with_tasks: list[WorkerExit]) -> str:
    """Return why the task that Dask blames is not the one, if it is another."""
    blamed = case.blame.blamed
    if not blamed or blamed == case.blame.guilty or _ran_blamed(case, with_tasks):
        return ""
    innocent = "was only assigned to the same worker"
    if blamed in _waiting(case):
        innocent = "was only waiting"
    elif any(blamed in death.executing for death in with_tasks):
        innocent = "only ran on the same worker"
    return f"Dask blames {quoted_key(blamed)}, which {innocent}"


def _others_beside(
    case: Case, with_tasks: list[WorkerExit], with_it: list[WorkerExit]
) -> str:
    """Return which other tasks ran beside the one that ended workers."""
    named = {case.blame.guilty}
    if not _ran_blamed(case, with_tasks):
        named.add(case.blame.blamed)
    others = sorted({key for death in with_it for key in death.executing} - named)
    if not others or len(others) > _MOST_OTHERS:
        return ""
    only = " (only waiting)" if _waiting(case).issuperset(others) else ""
    return f"Also running on that worker: {quoted(others, most=2)}{only}"


def _others_elsewhere(
    with_tasks: list[WorkerExit], with_it: list[WorkerExit], *, rest: int
) -> str:
    """Return which tasks ran at the deaths at which the one that ended workers did not."""
    others = sorted(
        {key for death in with_tasks if death not in with_it for key in death.executing}
    )
    if not others or len(others) > _MOST_OTHERS:
        return ""
    deaths = "other death" if rest == 1 else "other deaths"
    return f"Running at the {deaths}: {quoted(others, most=2)}"


def _at_deaths(times: int, deaths: int) -> str:
    """Return at how many of the deaths something was running."""
    if deaths == 1:
        return "when the worker died"
    if times == deaths:
        return "at both deaths" if deaths == _BOTH else f"at all {deaths} deaths"
    return f"at {times} of the {deaths} deaths"


def _no_task(case: Case) -> str:
    """Return a sentence on what workers did for the driver apart from tasks, or nothing."""
    exception = case.exception
    if exception is None or closed_connection_to(exception) is None:
        return ""
    at = code_line(exception, ", at ")
    return (
        "No task was running: the driver had called workers directly (as `client.run` "
        f"does{at}) and lost the connection during the call."
    )


def evidence_of(case: Case, deaths: tuple[WorkerExit, ...]) -> tuple[Evidence, ...]:
    """Return what is known of the last few deaths: in full of the last, equal ones merged."""
    groups: dict[tuple[object, ...], list[WorkerExit]] = {}
    for death in reversed(deaths):
        groups.setdefault(_group_key(case, death), []).append(death)
    evidence = []
    for alike in list(groups.values())[:_SHOWN]:
        evidence.append(_death_evidence(case, alike[0]))
        if len(alike) > 1:
            evidence.append(_other_deaths_evidence(case, alike[1:]))
    evidence.extend(native_evidence(deaths[-1].when_killed, deaths[-1].at))
    evidence.extend(_last_lines(case, deaths[-1]))
    if deaths[-1] in case.blame.deaths:
        evidence.extend(_for_and_against(case))
    return tuple(evidence)


def _group_key(case: Case, death: WorkerExit) -> tuple[object, ...]:
    """Return by what deaths are merged into one line: cause, exit code and tasks."""
    cause = case.cause_of(death)
    return (
        cause.slug,
        cause.confidence,
        death.exit_code,
        tuple(sorted(death.executing)),
    )


def _ended(death: WorkerExit) -> str:
    """Return the verb for the end of a worker's process."""
    return "exited" if death.exit_code == 0 else "died"


def _death_evidence(case: Case, death: WorkerExit) -> Evidence:
    cause = case.cause_of(death)
    text = f"{capital(name_of(case, death))} {_ended(death)}: {cause.because}"
    if death.exit_code is not None and "code" not in cause.because:
        text += f"; exit code {death.exit_code}"
    if death.executing:
        text += f"; running {quoted(death.executing)}"
    if death.peak_memory:
        last = death.memory[-1][1] if death.memory else death.peak_memory
        text += f"; last sample: {size(last)}"
    see = case.show_command("logs", "--worker", death.address)
    return Evidence(text=f"{text}.", source="workers", at=death.at, see=see)


def _other_deaths_evidence(case: Case, deaths: list[WorkerExit]) -> Evidence:
    """Return one line for the deaths that are like the one before them."""
    peaks = [each.peak_memory for each in deaths if each.peak_memory]
    which = listed([name_of(case, each) for each in deaths], most=_SHOWN)
    with_memory = f" (last samples: up to {size(max(peaks))})" if peaks else ""
    did = "running the same tasks" if deaths[0].executing else "without a task"
    died = f"{counted(len(deaths), 'more worker')} died in the same way"
    text = f"{died}, {did}{with_memory}: {which}."
    return Evidence(text=text, source="workers", at=deaths[0].at)


def _for_and_against(case: Case) -> Iterator[Evidence]:
    """Yield what is known of each task that ran beside others when their worker ended."""
    known = [
        each for each in case.blame.evidence if each.cpu is not None or each.growth
    ]
    for task in known[:_SHOWN]:
        yield Evidence(text=_on_task(task), source="events")


def _on_task(task: TaskAtExit) -> str:
    """Return what speaks for or against a task, in a sentence."""
    facts = []
    if task.seconds is not None:
        facts.append(f"had run for {duration(task.seconds)}")
    if task.cpu is not None:
        facts.append(f"had used {duration(task.cpu)} of CPU time")
    if task.growth is not None:
        grown = (
            f"memory had grown by {size(max(task.growth.grown, 0))} since it started"
        )
        if not task.suspect and task.growth.quiet >= 1:
            grown += f", but not in its first {duration(task.growth.quiet)}"
        facts.append(grown)
    reported = f"{quoted_key(task.key)} {listed(facts)}"
    return f"{reported}{'; it was only waiting' if task.waited and not task.suspect else ''}."


def _last_lines(case: Case, death: WorkerExit) -> Iterator[Evidence]:
    frame = frame_at_exit(death)
    if frame is not None:
        yield Evidence(
            text=f"Python's stack when the worker died: the task was at {frame}.",
            source="events",
            at=death.at,
        )
    if death.last_lines:
        yield Evidence(
            text=f"Its last log line: {short(death.last_lines[-1], 300)}",
            source="logs",
            see=case.show_command("logs", "--worker", death.address),
        )
