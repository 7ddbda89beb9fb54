"""Could the scheduler not read the graph?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, short
from dask_blackbox.finding import Evidence, Finding

__all__ = ["GRAPH_NOT_DESERIALIZABLE"]


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None:
        return
    if not case.said("Error during deserialization of the task graph"):
        return
    root = root_of_chain(case.exception.traceback)
    because = f"{class_of(root[0])}: {short(root[1], 160)}" if root else None
    failed = case.run.details("graph-failed")
    yield GRAPH_NOT_DESERIALIZABLE.found(
        "The scheduler could not read the graph" + (f": {because}" if because else ""),
        cause=(
            "The driver sent a graph that the scheduler could not unpickle"
            + (f": {because}. " if because else ". ")
            + "Its environment lacks something that the driver has, or has it in another "
            "version."
        ),
        remedy=(
            "Install the same packages, your own modules included, where the scheduler "
            "runs; most simply, use one image for driver, scheduler and workers."
        ),
        confidence="high",
        evidence=(
            *case.exception_evidence(),
            *(
                Evidence(
                    text="The scheduler refused a graph.",
                    source="events",
                    at=fact["at"].timestamp(),
                )
                for fact in failed[-1:]
            ),
        ),
    )


GRAPH_NOT_DESERIALIZABLE = Rule(
    slug="graph-not-deserializable",
    title="The scheduler could not read the graph",
    question="Did the scheduler fail to unpickle the graph?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "The scheduler unpickles graphs, so it needs the modules that they refer to. "
            "Where its environment differs, `compute()` fails before any task starts."
        ),
        evidence=(
            "The driver's exception (“Error during deserialization of the task graph”) and "
            "the root of its chain."
        ),
        remedy="One image for all roles.",
        before="image: daskdev/dask   # scheduler\nimage: my-team/etl    # driver",
        after="image: my-team/etl    # scheduler, workers and driver",
    ),
)
