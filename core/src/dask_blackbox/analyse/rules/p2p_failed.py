"""Did a P2P shuffle fail for another reason than a full disk?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.shuffles import Shuffle, shuffle_behind
from dask_blackbox.analyse.words import class_of, counted, short
from dask_blackbox.finding import Evidence, Finding, RetryAdvice, Subject

__all__ = ["P2P_FAILED"]

_PHASE = re.compile(
    r"P2P (?:shuffling |rechunk\w* )?(?P<id>[0-9a-f]{8,})? ?failed during (?P<phase>\w+) phase"
)
_CLASSES = (
    "P2PConsistencyError",
    "P2PIllegalStateError",
    "ShuffleClosedError",
    "DataUnavailable",
)
_SHUFFLING = "distributed/shuffle/"
_FILES = ("FileNotFoundError", "NotADirectoryError", "PermissionError")
_SCRATCH = "dask-scratch-space"
_UNREACHED = ("CommClosedError", "TimeoutError", "OSError", "ConnectionError")


def _ask(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    if not case.failed or case.explained or (failure is not None and failure.killed):
        return
    texts = [
        *([failure.message, failure.traceback] if failure is not None else []),
        *([case.exception.message, case.exception.traceback] if case.exception else []),
    ]
    phase = next((m for m in map(_PHASE.search, texts) if m), None)
    named = failure is not None and class_of(failure.exception) in _CLASSES
    inside = failure is not None and _is_inside(failure)
    if phase is None and not named and not inside and not case.raised(*_CLASSES):
        return
    shuffle = shuffle_behind(case, None if phase is None else phase["id"])
    root = _root(case, failure)
    during = f" during its {phase['phase']} phase" if phase else ""
    began = f"It began with {root[0]}: {short(root[1], 200)}. " if root else ""
    title = f" in its {phase['phase']} phase" if phase else ""
    yield P2P_FAILED.found(
        f"A shuffle failed{title}: {root[0]}: {short(root[1], 80)}".rstrip(": ")
        if root
        else f"A shuffle failed{title}",
        cause=(
            f"{shuffle.named} failed{during}. {began}{_left_during(case, root)}"
            f"{shuffle.progress()}"
        ),
        remedy=_remedy(case, root, shuffle),
        confidence="high" if phase or named else "medium",
        retry_advice=_advice(case, root),
        subject=Subject(
            key=failure.key if failure is not None else None,
            prefix=failure.prefix if failure is not None else None,
            worker=failure.worker if failure is not None else None,
        ),
        evidence=(
            *_of_failure(case, failure),
            *shuffle.evidence(),
            *case.exception_evidence(),
        ),
    )


def _is_inside(failure: TaskFailure) -> bool:
    """Say whether a task failed in the shuffle's own code, not in the user's."""
    return _SHUFFLING in failure.traceback and failure.frame is None


def _root(case: Case, failure: TaskFailure | None) -> tuple[str, str] | None:
    """Return what it began with: class and message."""
    for text in (
        failure.traceback if failure is not None else "",
        case.exception.traceback if case.exception is not None else "",
    ):
        root = root_of_chain(text)
        if root is not None:
            return class_of(root[0]), root[1]
    if failure is not None and class_of(failure.exception) not in _CLASSES:
        return class_of(failure.exception), failure.message
    return None


def _felt(case: Case, root: tuple[str, str] | None) -> tuple[Death, ...]:
    """Return the deaths that may be why it failed: not if it has another cause."""
    own = root is not None and not root[0].endswith(_UNREACHED)
    return () if own and root is not None and root[0] not in _CLASSES else case.deaths


def _left_during(case: Case, root: tuple[str, str] | None) -> str:
    deaths = _felt(case, root)
    if not deaths:
        return ""
    causes = sorted({case.cause_of(death).slug for death in deaths})
    return (
        f"{counted(len(deaths), 'worker')} died in this run "
        f"({', '.join(causes)}), and each time the shuffle has to begin anew. "
    )


def _advice(case: Case, root: tuple[str, str] | None) -> RetryAdvice:
    if _felt(case, root) or (root is not None and root[0].endswith(_UNREACHED)):
        return "transient"
    return "code" if root is not None and root[0] not in _CLASSES else "unknown"


def _remedy(case: Case, root: tuple[str, str] | None, shuffle: Shuffle) -> str:
    if deaths := _felt(case, root):
        slug = case.cause_of(deaths[-1]).slug
        what = f" (`dask blackbox rules {slug}`)" if slug != "unknown" else ""
        return (
            f"See what the workers died of{what}; keep workers that may be taken away out of "
            "the shuffle, or `method='tasks'`, which repeats only what was lost."
        )
    if root is not None and root[0].endswith(_UNREACHED):
        return (
            "A worker did not answer the others: look at its event loop and its network; "
            "raise `distributed.comm.timeouts.connect` and `.tcp`, and "
            "`distributed.p2p.comm.retry.count`. Then try again."
        )
    if root is not None and root[0] in _FILES and _SCRATCH in root[1]:
        return (
            "The workers' scratch folder was removed, or cannot be reached, while they used "
            "it: a job that cleans up temporary files, a disk that went away. Let them keep "
            "it where nobody cleans (`--local-directory`, `temporary-directory`)."
        )
    if root is not None:
        return (
            f"Look at what {root[0]} says of the data: partitions whose columns or types "
            "differ from the collection's `meta` are the usual reason. Compare "
            "`ddf.dtypes` with `ddf.map_partitions(lambda d: d.dtypes)` before the "
            f"{shuffle.kind}, and give `meta=` what is really there."
        )
    return (
        "See the first error of the workers in that time; `method='tasks'` shuffles without "
        "P2P meanwhile."
    )


def _of_failure(case: Case, failure: TaskFailure | None) -> Iterator[Evidence]:
    if failure is None:
        return
    yield Evidence(
        text=f"{failure.key} on {failure.worker}: {short(str(failure), 400)}",
        source="errors",
        at=failure.at,
        see=case.see("logs", "--worker", failure.worker) if failure.worker else None,
    )
    tail = failure.traceback.strip().splitlines()[-8:]
    if tail:
        yield Evidence(text="\n".join(tail)[:1500], source="errors", at=failure.at)


P2P_FAILED = Rule(
    slug="p2p-failed",
    title="A shuffle failed",
    question="Did a P2P shuffle or rechunk fail in one of its phases?",
    severity="failure",
    retry_advice="unknown",
    ask=_ask,
    page=Page(
        detects=(
            "A P2P shuffle or rechunk failed in its transfer, barrier or unpack phase: "
            "partitions that are not what the collection says, workers that left in the "
            "middle, workers that did not answer each other."
        ),
        evidence=(
            "“P2P … failed during … phase”, `P2PConsistencyError` or `ShuffleClosedError`, "
            "with the first error of its chain, and how many workers died and how often the "
            "shuffle was restarted. An error that was raised in the shuffle's own code, without "
            "those words, counts with medium confidence. Silent where the disks were full (`p2p-out-of-disk`) and "
            "where Dask gave up a task because its workers died."
        ),
        remedy="Mend the root error that it names; keep workers in place during a shuffle.",
        before="ddf.map_partitions(clean, meta=ddf).merge(other, on='id')   # clean adds a column",
        after="ddf.map_partitions(clean, meta=clean(ddf._meta)).merge(other, on='id')",
    ),
)
