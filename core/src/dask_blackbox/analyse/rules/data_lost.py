"""Was data that only one worker held lost with it?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import evidence_of, name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import quoted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["DATA_LOST"]


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None:
        return
    said = case.said(
        r"(?P<key>\S+) cancelled for reason: (?:already forgotten|lost dependencies)"
    )
    if not said:
        return
    losses = [death for death in case.deaths if death.lost_scattered]
    lost = sorted({key for death in losses for key in death.lost_scattered})
    key = said["key"]
    who = (
        f"{name_of(case, losses[-1])} held it and died: "
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
            "matter. Keep a reference to futures that are still needed."
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
