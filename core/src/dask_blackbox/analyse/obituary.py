"""How a finding about deaths is told: who died of what, at which work, and who is innocent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.blame import closed_connection_to, only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.crashes import suspects_of
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.frames import frame_of_stack
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.state import signal_of_driver
from dask_blackbox.analyse.words import (
    class_of,
    counted,
    prefix_of,
    quoted,
    short,
    size,
)
from dask_blackbox.finding import Evidence, Finding, RetryAdvice, Subject

__all__ = [
    "deaths_blamed_on",
    "evidence_of",
    "name_of",
    "prefixes_at_fault",
    "verdict_on_deaths",
    "where_it_was",
]

_SHOWN = 4
_FEW = 3


def deaths_blamed_on(case: Case, slug: str) -> tuple[Death, ...]:
    """Return the deaths of this cause that explain the run's failure; none if others do."""
    if case.blame.cause != slug or case.explained:
        return ()
    return tuple(d for d in case.blame.deaths if case.cause_of(d).slug == slug)


def verdict_on_deaths(
    case: Case,
    rule: Rule,
    deaths: tuple[Death, ...],
    *,
    did: str,
    how: str,
    remedy: str,
    more: str = "",
    retry_advice: RetryAdvice | None = None,
) -> Iterator[Finding]:
    """Yield the verdict that these deaths explain the failure.

    Args:
        case: The run.
        rule: Whose verdict it is.
        deaths: What it is about, by time; at least one.
        did: What each of them did: `died`.
        how: And how: `at their memory limit`.
        remedy: What to do.
        more: Sentences to add to the cause.
        retry_advice: If this differs from the rule's.
    """
    blame = case.blame
    times = "A worker" if len(deaths) == 1 else "Workers"
    often = "" if len(deaths) == 1 else f" {len(deaths)} times"
    title = f"{times} {did}{often} {how}{_while_running(case, deaths)}"
    yield rule.found(
        title,
        cause=" ".join(x for x in (_told(case, deaths), more) if x),
        remedy=remedy,
        confidence=blame.confidence,
        subject=Subject(
            key=blame.guilty,
            prefix=_prefix_at_work(case, deaths),
            worker=deaths[-1].address,
        ),
        evidence=(*evidence_of(case, deaths), *case.exception_evidence()),
        retry_advice=retry_advice,
    )


def _while_running(case: Case, deaths: tuple[Death, ...]) -> str:
    """Return ` while running 'hog'`, or nothing if it is unknown what ran."""
    suspects = prefixes_at_fault(case, deaths)
    if not suspects:
        return ""
    return " while running " + " or ".join(f"'{short(each, 40)}'" for each in suspects)


def prefixes_at_fault(case: Case, deaths: tuple[Death, ...]) -> tuple[str, ...]:
    """Return the prefixes of the tasks that may be guilty: several if nothing decides.

    What ran at as many deaths as the one that Dask blames may have caused them as well.
    """
    first = _prefix_at_work(case, deaths)
    if first is None:
        return ()
    # By their names alone: of keys that never ended, nobody recorded what Dask makes of them.
    times = Counter(
        prefix for death in deaths for prefix in set(map(prefix_of, suspects_of(death)))
    )
    own = prefix_of(case.blame.guilty) if case.blame.guilty else first
    alike = [prefix for prefix, n in times.items() if n >= times[own] and n > 1]
    others = sorted(set(alike) - {own})
    return (first, *others) if len(others) < _FEW else (first,)


def _prefix_at_work(case: Case, deaths: tuple[Death, ...]) -> str | None:
    """Return the prefix of the guilty task; else the one that all had in hand."""
    if case.blame.guilty:
        return case.prefix_of(case.blame.guilty)
    prefixes = {case.prefix_of(key) for death in deaths for key in death.at_work_on}
    return prefixes.pop() if len(prefixes) == 1 else None


def where_it_was(deaths: tuple[Death, ...]) -> str:
    """Return a sentence on the line of code that the last stack shows, or nothing."""
    for death in reversed(deaths):
        frame = frame_of_stack(death.stack)
        if frame is not None:
            return f"Python was at {frame}."
    return ""


def name_of(case: Case, death: Death) -> str:
    """Return a dead worker's name, address and process."""
    called = case.name_of(death.address)
    if death.pid is None:
        return called
    if called.endswith(")"):
        return f"{called[:-1]}, pid {death.pid})"
    return f"{called} (pid {death.pid})"


def _told(case: Case, deaths: tuple[Death, ...]) -> str:
    """Return the story of some deaths in sentences."""
    last = deaths[-1]
    sentences = [_raised_before(case, deaths), _the_guilty(case, deaths)]
    which = "The last of them: " if len(deaths) > 1 else ""
    sentences.append(f"{which}{name_of(case, last)}: {case.cause_of(last).because}.")
    others = [
        d for d in case.deaths if case.cause_of(d).slug != case.cause_of(last).slug
    ]
    if others:
        by_cause = Counter(case.cause_of(d).slug for d in others)
        sentences.append(
            "Beside these, "
            + ", ".join(
                f"{counted(n, 'worker')} died of {slug}"
                if slug != "unknown"
                else f"{counted(n, 'worker')} died without a known cause"
                for slug, n in by_cause.most_common()
            )
            + "."
        )
    sentences.append(_counted_besides(case))
    sentences.append(_waited_until(case))
    return " ".join(sentence for sentence in sentences if sentence)


def _counted_besides(case: Case) -> str:
    """Return a sentence on closed workers that Dask counts as deaths of the same task."""
    died = {death.address for death in case.deaths}
    reasons = {
        fact["subject"]: str(fact.get("reason") or "")
        for fact in case.run.details("worker-closing")
    }
    closed = [
        fact["subject"]
        for fact in case.run.details("worker-removed")
        if fact["subject"] not in died
        and not fact.get("expected")
        and case.blame.blamed in (fact.get("processing") or ())
        and reasons.get(fact["subject"])
    ]
    if not closed or case.blame.failure is None:
        return ""
    why = sorted({short(reasons[address], 40) for address in closed})
    dropped = (
        "; a cluster object gives up workers that still restart after "
        "`distributed.deploy.lost-worker-timeout`"
        if any(reason.startswith("nanny-close") for reason in why)
        else ""
    )
    return (
        f"Dask also counts against that task {counted(len(closed), 'worker')} that had it "
        f"in hand when closed ({', '.join(why)}{dropped})."
    )


def _waited_until(case: Case) -> str:
    """Return a sentence on how a driver ended that was told of no failure, or nothing."""
    if case.blame.failure is not None:
        return ""
    deserted = not case.run.workers["left"].has_nulls()
    empty = "no worker was left" if deserted else ""
    if case.state in ("aborted", "lost"):
        by = signal_of_driver(case.run)
        waited = f"the driver waited until it was ended{f' by {by}' if by else ''}"
        return f"Nothing was raised: {empty}{', and ' if empty else ''}{waited}."
    if empty and case.exception is not None and only_waited(case.exception):
        return f"Nothing was raised by a task: {empty}, and the driver waited in vain."
    return ""


def _raised_before(case: Case, deaths: tuple[Death, ...]) -> str:
    """Return a sentence on errors of the guilty task before its worker died, or nothing."""
    key = case.blame.guilty
    if key is None:
        return ""
    errors = case.run.errors.filter(
        (pl.col("outcome") == "retried")
        & (pl.col("key") == key)
        & (pl.col("at").dt.epoch("us") / 1e6 <= deaths[-1].at)
    ).sort("at")
    if not len(errors):
        return ""
    last = errors.row(-1, named=True)
    name, often = class_of(last["exception"] or ""), len(errors)
    times = "once" if often == 1 else f"{often} times"
    return (
        f"First '{short(key, 80)}' had raised {name} {times} "
        f"({short(last['message'] or '', 160)}) and was tried again; then its worker died."
    )


def _the_guilty(case: Case, deaths: tuple[Death, ...]) -> str:
    blame = case.blame
    if not blame.guilty:
        at_work = sorted({key for death in deaths for key in death.at_work_on})
        return f"At work then: {quoted(at_work)}." if at_work else _no_task(case)
    certified = [death for death in deaths if death.executing]
    times = sum(blame.guilty in death.executing for death in certified)
    if not times:
        return f"Dask blames '{short(blame.guilty, 80)}', which they had been given."
    prefix = case.prefix_of(blame.guilty)
    alike = sum(
        any(case.prefix_of(key) == prefix for key in death.executing)
        for death in certified
    )
    often = (
        "when it happened"
        if len(deaths) == 1
        else f"at {times} of the {len(deaths)} deaths"
    )
    sentence = f"'{short(blame.guilty, 80)}' was executing {often}"
    if alike > times:
        sentence += f", some task of '{short(prefix, 40)}' at {alike} of them"
    was_running = any(blame.blamed in suspects_of(death) for death in certified)
    if blame.blamed and blame.blamed != blame.guilty and not was_running:
        sentence += (
            f"; '{short(blame.blamed, 80)}', which Dask blames, "
            "was only on the same worker"
        )
    with_it = [d for d in certified if blame.guilty in d.executing]
    beside = sorted({k for d in with_it for k in d.executing} - {blame.guilty})
    if beside and len(beside) <= 20:  # noqa: PLR2004
        sentence += f"; beside it on the same worker: {quoted(beside, most=2)}"
    others = sorted({k for d in certified if d not in with_it for k in d.executing})
    if others and len(others) <= 20:  # noqa: PLR2004
        sentence += f"; at the other deaths: {quoted(others, most=2)}"
    return sentence + "."


def _no_task(case: Case) -> str:
    """Return a sentence on what workers did for the driver apart from tasks, or nothing."""
    exception = case.exception
    if exception is None or closed_connection_to(exception) is None:
        return ""
    at = f", at {exception.file}:{exception.line}" if exception.file else ""
    return (
        "No task was at work then: the driver had asked workers for something by itself "
        f"(as `client.run` does{at}), and lost the connection while it was done."
    )


def evidence_of(case: Case, deaths: tuple[Death, ...]) -> tuple[Evidence, ...]:
    """Return what is known of each of the last few deaths."""
    evidence = []
    for death in reversed(deaths[-_SHOWN:]):
        cause = case.cause_of(death)
        text = f"{name_of(case, death)} died: {cause.because}"
        if death.exit_code is not None and "code" not in cause.because:
            text += f"; exit code {death.exit_code}"
        if death.executing:
            text += f"; executing {quoted(death.executing)}"
        if death.peak_memory:
            text += f"; last seen with {size(death.memory[-1][1]) if death.memory else size(death.peak_memory)}"
        evidence.append(
            Evidence(
                text=f"{text}.",
                source="workers",
                at=death.at,
                see=case.see("logs", "--worker", death.address),
            )
        )
    evidence.extend(_last_words(case, deaths[-1]))
    return tuple(evidence)


def _last_words(case: Case, death: Death) -> Iterator[Evidence]:
    frame = frame_of_stack(death.stack)
    if frame is not None:
        yield Evidence(
            text=f"Python's stack at its end: the task was at {frame}.",
            source="events",
            at=death.at,
        )
    if death.last_lines:
        yield Evidence(
            text=f"Its last log line: {short(death.last_lines[-1], 300)}",
            source="logs",
            see=case.see("logs", "--worker", death.address),
        )
