"""Was an actor lost with its worker?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import WINDOW, Death
from dask_blackbox.analyse.obituary import evidence_of, name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject

__all__ = ["ACTOR_LOST"]

_SAID = r"Worker holding Actor was lost|Unable to contact Actor's worker"


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None or case.explained:
        return
    lost = case.run.details("actor-lost")
    said = bool(case.said(_SAID))
    in_vain = bool(lost) and only_waited(case.exception)
    if not said and not in_vain:
        return
    actor = _actor_of(case, lost)
    key, worker = actor.get("subject") or None, actor.get("worker")
    death = _death_with(case, worker, actor)
    who = f"the actor '{short(key, 80)}'" if key else "an actor"
    why = f": {case.cause_of(death).because}" if death else ""
    where = (
        f"{name_of(case, death)} held it and died{why}"
        if death
        else f"{case.name_of(worker)} held it and is gone"
        if worker
        else "the worker that held it is gone"
    )
    prefix = case.prefix_of(key) if key else None
    sure: Confidence = "high" if said and (death or actor) else "medium"
    yield ACTOR_LOST.found(
        f"{who[0].upper()}{who[1:]} was lost with its worker",
        cause=(
            f"The driver needed {who}, and {where}. An actor's state lives on one worker "
            "only, and Dask does not make it again."
        ),
        remedy=_remedy(case, death),
        confidence=sure,
        subject=Subject(key=key, prefix=prefix, worker=worker),
        evidence=(
            *case.exception_evidence(),
            *_told(actor),
            *(evidence_of(case, (death,)) if death else ()),
        ),
    )


def _actor_of(case: Case, lost: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the loss that the driver met: the one whose key it names, else the last."""
    text = "" if case.exception is None else case.exception.message
    named = [fact for fact in lost if fact["subject"] and fact["subject"] in text]
    return next(iter((named or lost)[-1:]), {})


def _death_with(case: Case, worker: str | None, actor: dict[str, Any]) -> Death | None:
    """Return the death that took the actor along; without a word of it, the last one."""
    if not actor:
        return case.deaths[-1] if len(case.deaths) == 1 else None
    at = actor["at"].timestamp()
    near = [
        death
        for death in case.deaths
        if death.address == worker and abs(death.at - at) <= WINDOW
    ]
    return near[-1] if near else None


def _remedy(case: Case, death: Death | None) -> str:
    keep = (
        "Keep an actor's state where a lost worker does not take it (a database, a file), "
        "or make the actor anew when it is lost: catch the error, submit its class again "
        "and repeat what it had been told"
    )
    slug = case.cause_of(death).slug if death else "unknown"
    if slug == "unknown":
        return f"{keep}."
    return f"{keep}; and mend what its worker died of: `dask blackbox rules {slug}`."


def _told(actor: dict[str, Any]) -> Iterator[Evidence]:
    if actor:
        yield Evidence(
            text=f"The scheduler gave up the actor {actor['subject']}: its worker was gone.",
            source="events",
            at=actor["at"].timestamp(),
        )


ACTOR_LOST = Rule(
    slug="actor-lost",
    title="An actor was lost with its worker",
    question="Did the run need an actor whose worker was gone?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "An actor (`actor=True`) lives on one worker. When that worker goes, Dask can "
            "neither move nor repeat it: who calls it gets an error, or waits for ever."
        ),
        evidence=(
            "The driver's exception (“Worker holding Actor was lost”, “Unable to contact "
            "Actor's worker”), the scheduler's giving up of the actor, and the death of its "
            "worker with its cause. Medium confidence where the driver only ran out of "
            "patience."
        ),
        remedy="Keep the state elsewhere, or make the actor anew; mend what the worker died of.",
        before="counter = client.submit(Counter, actor=True).result()\ncounter.add().result()",
        after="client.submit(add_in_database, url).result()",
    ),
)
