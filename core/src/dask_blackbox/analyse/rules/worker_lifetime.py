"""Did workers reach the end of their `--lifetime` with work in their hands?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang_evidence import evidence_of_hang, how_it_ended
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, quoted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["WORKER_LIFETIME"]


_REMEDY = (
    "Give workers a `--lifetime` that is longer than the longest task, with "
    "`--lifetime-stagger` so that they don't all leave at once, and "
    "`--lifetime-restart` so that others can take over their data."
)


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_LIFETIME.slug)
    if not deaths:
        yield from _in_silence(case)
        yield from _again_and_again(case)
        return
    yield from verdict_on_deaths(
        case,
        WORKER_LIFETIME,
        deaths,
        did="left",
        how="at the end of its lifetime"
        if len(deaths) == 1
        else "at the end of their lifetime",
        remedy=_REMEDY,
    )


def _in_silence(case: Case) -> Iterator[Finding]:
    """Yield that all workers had left at the end of their lifetime, in good order."""
    hang = case.hang
    in_vain = case.raised("NoWorkerError", "NoValidWorkerError")
    waited = case.exception is not None and only_waited(case.exception)
    nobody = waited or (hang is not None and not hang.workers and bool(hang.wanted))
    left = case.run.workers["left"]
    if not case.failed or case.explained or not (nobody or in_vain):
        return
    if not len(left) or left.has_nulls() or case.deaths:
        return
    said = [
        fact
        for fact in case.run.details("worker-closing")
        if str(fact.get("reason")).startswith("worker-lifetime")
    ]
    if not said:
        return
    last = said[-1]
    had = [
        str(key)
        for fact in case.run.details("worker-removed")
        if fact["subject"] == last["subject"]
        for key in fact.get("processing") or ()
    ]
    stood = f" {how_it_ended(case, hang)}" if hang is not None else ""
    yield WORKER_LIFETIME.found(
        f"Every worker left at the end of its lifetime, with {_work(case)} still wanted",
        cause=(
            f"{counted(len(said), 'worker')} came to the end of `--lifetime` and left; no "
            f"other took the place. The last one, {case.name_of(last['subject'])}, had "
            f"{quoted(had) if had else 'nothing'} in hand.{stood}"
        ),
        remedy=_REMEDY,
        confidence=case.sure_of_the_hang if nobody else "high",
        subject=Subject(key=had[0] if had else None, worker=last["subject"]),
        evidence=(
            *(
                Evidence(
                    text=f"{case.name_of(fact['subject'])}: {fact['reason']}.",
                    source="events",
                    at=fact["at"].timestamp(),
                    see=case.see("logs", "--worker", fact["subject"]),
                )
                for fact in said[-3:]
            ),
            *(evidence_of_hang(case, hang) if hang else case.exception_evidence()),
        ),
    )


def _again_and_again(case: Case) -> Iterator[Finding]:
    """Yield that a task takes longer than workers live, and so begins again for ever."""
    given_up = case.exception is None or only_waited(case.exception)
    if not case.failed or case.explained or not given_up:
        return
    leaving = {
        fact["subject"]: fact
        for fact in case.run.details("worker-closing")
        if str(fact.get("reason")).startswith("worker-lifetime")
    }
    in_hand = Counter(
        str(key)
        for fact in case.run.details("worker-removed")
        if fact["subject"] in leaving
        for key in fact.get("processing") or ()
    )
    tasks = case.run.tasks
    ended = set(tasks.filter(tasks["outcome"] == "finished")["key"].to_list())
    again = [(key, n) for key, n in in_hand.most_common() if n > 1 and key not in ended]
    if not again:
        return
    key, times = again[0]
    yield WORKER_LIFETIME.found(
        f"Workers reached the end of their lifetime with '{short(key, 40)}' in hand "
        f"{times} times",
        cause=(
            f"{counted(len(leaving), 'worker')} came to the end of `--lifetime`; "
            f"{counted(len(again), 'task')} had been given to several of them and never "
            f"ended, such as '{short(key, 80)}': what takes longer than a worker lives "
            "begins again for ever."
        ),
        remedy=_REMEDY,
        retry_advice="environment",
        confidence="high" if case.hang is not None else "medium",
        subject=Subject(key=key, worker=list(leaving)[-1]),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(fact['subject'])}: {fact['reason']}.",
                source="events",
                at=fact["at"].timestamp(),
                see=case.see("logs", "--worker", fact["subject"]),
            )
            for fact in list(leaving.values())[-3:]
        ),
    )


def _work(case: Case) -> str:
    return counted(case.hang.wanted, "task") if case.hang is not None else "work"


WORKER_LIFETIME = Rule(
    slug="worker-lifetime",
    title="Workers reached the end of their lifetime",
    question="Did the run fail because workers' lifetime ended while they were at work?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's `--lifetime` ended, nobody could take over its data, and the task that "
            "it was running was killed."
        ),
        evidence=(
            "The closing reason `worker-lifetime-reached` and a removal that the scheduler "
            "did not expect; or, where all workers are gone, such reasons and work that was "
            "still wanted. Silent where the worker could hand everything on."
        ),
        remedy="Longer lifetimes, staggered, with restart.",
        before="dask worker … --lifetime 5m",
        after="dask worker … --lifetime 1h --lifetime-stagger 5m --lifetime-restart",
    ),
)
