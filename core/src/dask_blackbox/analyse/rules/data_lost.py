"""Was data that only one worker held lost with it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.obituary import evidence_of, name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import quoted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["DATA_LOST"]

_PIECE = r"\(.+, \d+\)"
_GONE = (
    r"computation on lost data\. Final key is .+ with missing dependency (?P<key>.+)"
)


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None:
        return
    said = case.said(
        rf"(?P<key>{_PIECE}|\S+) cancelled for reason: "
        r"(?:already forgotten|lost dependencies)"
    )
    if not said:
        return
    losses = [death for death in case.deaths if death.lost_scattered]
    lost = sorted({key for death in losses for key in death.lost_scattered})
    key, missing = said["key"], _missing(case)
    left = [] if losses else _left_with(case, {key, missing[0] if missing else key})
    if left:
        yield _left_in_order(case, key, left[-1])
        return
    if not losses and missing is not None:
        yield _released(case, key, missing)
        return
    who = (
        f"It was held by {name_of(case, losses[-1])}, which died{_doing(case, losses[-1])}: "
        f"{case.cause_of(losses[-1]).because}. "
        if losses
        else ""
    )
    what = quoted(lost) if lost else f"'{short(key, 80)}'"
    yield DATA_LOST.found(
        f"Data that could not be recomputed was lost: {what}",
        cause=(
            f"'{short(key, 80)}' was asked for, but its data was gone. {who}Scattered data "
            "lives on the workers that received it, and Dask cannot make it again."
        ),
        remedy=(
            "Load the data in a task instead of scattering it, so that Dask can repeat it; "
            "or `client.scatter(…, broadcast=True)`, so that one lost worker does not "
            "matter. " + _mend(case, losses)
        ),
        confidence="high" if losses else "medium",
        subject=Subject(
            key=lost[0] if lost else key,
            worker=losses[-1].address if losses else None,
        ),
        evidence=(
            *case.exception_evidence(),
            *(
                Evidence(
                    text=f"With {name_of(case, death)} went {quoted(death.lost_scattered)}.",
                    source="events",
                    at=death.at,
                )
                for death in losses[-3:]
            ),
            *(evidence_of(case, tuple(losses[-1:])) if losses else ()),
        ),
    )


def _doing(case: Case, death: Death) -> str:
    running = quoted(dict.fromkeys(case.prefix_of(key) for key in death.executing))
    return f" while it was executing {running}" if death.executing else ""


def _mend(case: Case, losses: list[Death]) -> str:
    """Return what else to do: what the worker died of comes first."""
    slug = case.cause_of(losses[-1]).slug if losses else "unknown"
    if slug == "unknown":
        return "Keep a reference to futures that are still needed."
    return f"And mend what the worker died of: `dask blackbox rules {slug}`."


def _missing(case: Case) -> tuple[str, float] | None:
    """Return the key that the scheduler says is gone, and when it said so."""
    logs = case.run.logs
    said = logs.filter(
        (logs["role"] == "scheduler") & logs["message"].str.contains(_GONE)
    )
    for row in said.sort("at", descending=True).iter_rows(named=True):
        found = re.search(_GONE, row["message"])
        if found:
            return found["key"].strip("'"), row["at"].timestamp()
    return None


def _left_with(case: Case, keys: set[str]) -> list[dict[str, Any]]:
    """Return the departures that took scattered data along, though nobody died."""
    return [
        fact
        for fact in case.run.details("worker-removed")
        if keys & set(fact.get("lost_scattered") or ())
    ]


def _left_in_order(case: Case, key: str, gone: dict[str, Any]) -> Finding:
    """Return that a worker was restarted, retired or closed with the only copy."""
    worker, lost = gone["subject"], list(gone["lost_scattered"])
    reasons = {
        f["subject"]: f.get("reason") for f in case.run.details("worker-closing")
    }
    why = f", which was closed on purpose ({short(str(reasons[worker]), 60)})"
    return DATA_LOST.found(
        f"Data that could not be recomputed was lost: {quoted(lost)}",
        cause=(
            f"'{short(key, 80)}' was asked for, but the only copy of {quoted(lost)} was on "
            f"{case.name_of(worker)}{why if reasons.get(worker) else ', which left'}. "
            "Scattered data lives on the workers that received it, and Dask cannot make it "
            "again."
        ),
        remedy=(
            "Scatter again after workers were restarted, or load the data in a task instead, "
            "so that Dask can repeat it; `client.scatter(…, broadcast=True)` keeps a copy on "
            "every worker."
        ),
        confidence="high",
        subject=Subject(key=lost[0], prefix=case.prefix_of(lost[0]), worker=worker),
        evidence=(
            *case.exception_evidence(),
            Evidence(
                text=f"With {case.name_of(worker)} went {quoted(lost)}.",
                source="events",
                at=gone["at"].timestamp(),
            ),
        ),
    )


def _released(case: Case, key: str, missing: tuple[str, float]) -> Finding:
    """Return that nobody had kept what was asked for, though no worker died with it."""
    gone, at = missing
    evidence = (
        Evidence(
            text=f"The scheduler was asked for {key}, with {gone} missing.",
            source="logs",
            at=at,
            see=case.see("logs", "--role", "scheduler", "--filter", "lost data"),
        ),
        *case.exception_evidence(),
    )
    if not _was_ever_asked_for(case, gone):
        return _never_here(case, key, gone, evidence)
    return DATA_LOST.found(
        f"'{short(gone, 60)}' was needed, and had been released before",
        cause=(
            f"'{short(key, 80)}' needs '{short(gone, 80)}', which the scheduler no longer "
            "knew: its last future had been released (deleted, out of scope, cancelled), and no "
            "worker that held scattered data died."
        ),
        remedy=(
            f"Keep a reference to the future of '{short(case.prefix_of(gone), 40)}' for as "
            "long as others need it, and hand futures on as arguments rather than by their "
            "keys; or put what belongs together into one graph."
        ),
        confidence="high",
        subject=Subject(key=gone, prefix=case.prefix_of(gone)),
        evidence=evidence,
    )


def _was_ever_asked_for(case: Case, key: str) -> bool:
    """Say whether a key may have been on this cluster; of scattered data nobody knows."""
    if not re.fullmatch(_PIECE, key):
        return True
    prefix = case.prefix_of(key)
    graphs = case.run.details("graph-updated")
    return any(prefix in (graph.get("prefixes") or ()) for graph in graphs) or bool(
        (case.run.tasks["prefix"] == prefix).any()
    )


def _never_here(
    case: Case, key: str, gone: str, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return that a piece of a collection was taken for granted, and nobody had made it."""
    prefix = short(case.prefix_of(gone), 40)
    return DATA_LOST.found(
        f"'{short(gone, 60)}' was needed, and nobody has made it on this cluster",
        cause=(
            f"'{short(key, 80)}' needs '{short(gone, 80)}', of which the scheduler does not "
            f"know: no graph of this run had tasks of '{prefix}'. The collection was "
            "persisted by another client, in another session, or under another name, and "
            "what was sent here refers to it as if it were done."
        ),
        remedy=(
            "Compute with the client that persisted the collection; let others read the data "
            "themselves, from files or a table, rather than a collection that is held for "
            "them."
        ),
        confidence="medium",
        subject=Subject(key=gone, prefix=case.prefix_of(gone)),
        evidence=evidence,
    )


DATA_LOST = Rule(
    slug="data-lost",
    title="Data that could not be recomputed was lost",
    question="Did the run fail because scattered or forgotten data was gone?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "Scattered data lives only on the workers that received it. If those leave, "
            "or if its last future was released, tasks that need it are cancelled."
        ),
        evidence=(
            "The driver's exception (“cancelled for reason: already forgotten” or “lost "
            "dependencies”) and the keys of scattered data that went with a dead worker."
        ),
        remedy="Load in a task, or broadcast.",
        before="table = client.scatter(frame)",
        after="table = client.submit(read_table, path)   # or scatter(…, broadcast=True)",
    ),
)
