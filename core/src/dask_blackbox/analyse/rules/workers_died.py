"""Did workers die although the run failed of something else, or not at all?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.obituary import evidence_of, name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, listed, quoted
from dask_blackbox.finding import Finding, RetryAdvice, Subject

__all__ = ["WORKERS_DIED"]

_TAKEN_ALONG = ("actor-lost", "data-lost")
_ADVICE: dict[str, RetryAdvice] = {
    "worker-memory-limit": "memory",
    "kernel-oom": "memory",
    "worker-preempted": "transient",
    "worker-host-lost": "transient",
}


def _ask(case: Case) -> Iterator[Finding]:
    deaths = tuple(death for death in case.deaths if not _is_told(case, death))
    if not deaths:
        return
    by_cause: dict[str, list[Death]] = {}
    for death in deaths:
        by_cause.setdefault(case.cause_of(death).slug, []).append(death)
    alone = len(by_cause) == 1
    causes = [
        slug
        if alone and slug != "unknown"
        else "without a known cause"
        if alone
        else f"{len(of)} of {slug}"
        if slug != "unknown"
        else f"{len(of)} without a known cause"
        for slug, of in sorted(by_cause.items(), key=lambda pair: -len(pair[1]))
    ]
    main = max(by_cause, key=lambda slug: len(by_cause[slug]))
    last = deaths[-1]
    at_work = list(
        dict.fromkeys(case.prefix_of(k) for d in deaths for k in d.at_work_on)
    )
    doing = f" At work then: {quoted(at_work)}." if at_work else ""
    ended = "and the run succeeded nevertheless" if case.state == "succeeded" else ""
    yield WORKERS_DIED.found(
        f"{counted(len(deaths), 'worker')} died: {listed(causes)}",
        cause=(
            f"{counted(len(deaths), 'worker')} died{f', {ended}' if ended else ''}: "
            f"{listed(causes)}. The last one, {name_of(case, last)}: "
            f"{case.cause_of(last).because}.{doing}{_cost(case)}"
        ),
        remedy=(
            f"{_luck(case, main)} `dask blackbox rules {main}` says what to do."
            if main != "unknown"
            else _look_at(case, last)
        ),
        confidence="high",
        subject=Subject(worker=last.address, prefix=at_work[0] if at_work else None),
        evidence=evidence_of(case, deaths),
        retry_advice=_ADVICE.get(main, "unknown"),
    )


def _luck(case: Case, main: str) -> str:
    """Return why it matters, in a sentence: of a failed run, luck is no word."""
    if case.state == "succeeded":
        return f"It went well by luck: what dies of {main} this time can fail the run next time."
    return f"The verdict says what failed the run in the end; {main} may fail the next one."


def _look_at(case: Case, death: Death) -> str:
    """Return what to do about a death that nobody can explain."""
    lives = case.run.workers
    own = lives.filter(lives["address"] == death.address)["nanny"].drop_nulls()
    if not len(own):
        return "Run workers with a nanny, so that their exit codes are recorded."
    see = case.see("logs", "--worker", death.address)
    return f"See what it said last (`{see}`), and what its host says of that moment."


def _is_told(case: Case, death: Death) -> bool:
    """Say whether the verdict tells of a death already."""
    for finding in case.found:
        if finding.severity != "failure" or finding.rule == "unknown":
            continue
        if finding.rule in _TAKEN_ALONG and death.address == finding.subject.worker:
            return True
        ours = finding.rule in (case.blame.cause, "module-not-shipped")
        if ours and death in case.blame.deaths:
            return True
    return False


def _cost(case: Case) -> str:
    killed = case.run.tasks.filter(pl.col("outcome") == "killed")
    seconds = float(killed["compute"].sum() or 0)
    again = sum(
        fact.get("lost_computed") or 0 for fact in case.run.details("worker-removed")
    )
    costs = []
    if len(killed):
        lost = f" ({duration(seconds)} of work)" if seconds else ""
        costs.append(f"{counted(len(killed), 'execution')} cut short{lost}")
    if again:
        costs.append(f"{counted(again, 'result')} to be computed again")
    return f" It cost {listed(costs)}." if costs else ""


WORKERS_DIED = Rule(
    slug="workers-died",
    title="Workers died",
    question="Did workers die without that being why the run failed?",
    severity="warning",
    ask=_ask,
    page=Page(
        detects=(
            "Workers died, each with its cause, and the run succeeded nevertheless or failed "
            "of something else. Their work was done again elsewhere."
        ),
        evidence=(
            "The same as for the verdicts: removals, exit codes, events and last words. Silent "
            "on workers that were retired, restarted on request, or closed with the cluster."
        ),
        remedy="See the page of the cause that it names.",
        before="2 workers died: worker-memory-limit",
        after="0 deaths",
    ),
)
