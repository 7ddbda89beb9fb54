"""Could the scheduler not read the graph?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import Frame, root_of_chain, user_frame
from dask_blackbox.analyse.modules import (
    driver_has_package,
    missing_module,
    own_module,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, short
from dask_blackbox.finding import Evidence, Finding

__all__ = ["GRAPH_NOT_DESERIALIZABLE"]


_CHAINED = "\nThe above exception was the direct cause"
_OF_PACKAGES = ("ModuleNotFoundError", "ImportError", "AttributeError")
_ABSENT = "No such file or directory"


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.exception is None:
        return
    if not case.said("Error during deserialization of the task graph"):
        return
    root = root_of_chain(case.exception.traceback)
    because = f"{class_of(root[0])}: {short(root[1], 160)}" if root else None
    frame = _frame(case.exception.traceback) if root else None
    at = f", at {frame}" if frame else ""
    if frame and frame.code:
        at += f" (`{short(frame.code, 100)}`)"
    failed = case.run.details("graph-failed")
    yield GRAPH_NOT_DESERIALIZABLE.found(
        "The scheduler could not read the graph" + (f": {because}" if because else ""),
        cause=(
            "The driver sent a graph that the scheduler could not unpickle"
            + (f": {because}{at}. " if because else ". ")
            + "Its environment lacks something that the driver has, or has it in another "
            "version."
        ),
        remedy=_remedy(case, root, frame),
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


def _frame(traceback: str) -> Frame | None:
    """Return the user's line that was run when the scheduler read the graph, if there is one.

    A class that is not there is missed by Dask's own line.
    """
    return user_frame(traceback.partition(_CHAINED)[0])


def _remedy(case: Case, root: tuple[str, str] | None, frame: Frame | None) -> str:
    name, said = (class_of(root[0]), root[1]) if root else ("", "")
    image = "most simply, use one image for driver, scheduler and workers."
    module = missing_module(said)
    if module is None and _ABSENT in said:
        return (
            "Something in the graph opens that file when it is unpickled, which the scheduler "
            "does, too: open it in the task instead, or put the file where scheduler and "
            "workers see it under that path."
        )
    if module is None and frame is not None and name not in _OF_PACKAGES:
        return (
            f"Look at {frame.file}:{frame.line}: that is run wherever the object is read, "
            "first by the scheduler. Give the scheduler and the workers what it asks for (a "
            "variable, a file, a service), or send plain values and make the object inside "
            "of the task."
        )
    if module is None:
        return (
            "Install the same packages, your own modules included, where the scheduler "
            f"runs; {image}"
        )
    version = driver_has_package(case, module)
    if version:
        name = module.partition(".")[0]
        return f"Install '{name}=={version}', as the driver has it, where the scheduler runs; {image}"
    own = own_module(case, module)
    if own is not None and own.loaded_by_a_host:
        return (
            "Define the function inside the task's own function: what stands at the top of "
            "a DAG or flow file is pickled by that file's name, which only the host knows."
        )
    return (
        f"Install '{module}' where the scheduler runs, or, if it is a file of your own, "
        "ship it there before the work (`client.register_plugin(UploadDirectory(…))`, a "
        f"package); {image}"
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
