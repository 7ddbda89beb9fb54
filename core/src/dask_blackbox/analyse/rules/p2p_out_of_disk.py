"""Did a P2P shuffle run out of disk?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.shuffles import Shuffle, shuffle_behind
from dask_blackbox.analyse.words import counted, listed, short
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject

__all__ = ["P2P_OUT_OF_DISK"]

_CLASS = "P2POutOfDiskError"
_SAID = "P2P ran out of available disk space"


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained:
        return
    failure = case.blame.failure
    named = failure is not None and (
        failure.exception.endswith(_CLASS) or _SAID in failure.traceback
    )
    if not named and not case.raised(_CLASS) and not case.said(_SAID):
        return
    shuffle = shuffle_behind(case)
    said = _said_by(case)
    where = _directories(case, [worker for worker, _ in said])
    sure: Confidence = "high" if case.raised(_CLASS) or said else "medium"
    yield P2P_OUT_OF_DISK.found(
        f"A shuffle ran out of disk space on {counted(len(said), 'worker')}"
        if said
        else "A shuffle ran out of disk space",
        cause=(
            f"{shuffle.named} writes all of its data to the workers' disks once, and there "
            f"was no space left"
            + (
                f" on {listed([case.name_of(w) for w, _ in said], most=2)}"
                if said
                else ""
            )
            + (f", in {listed(where, most=2)}" if where else "")
            + f". {shuffle.progress()}"
        ),
        remedy=_remedy(case, shuffle, where),
        confidence=sure,
        subject=Subject(
            key=failure.key if failure is not None else None,
            prefix=failure.prefix if failure is not None else None,
            worker=said[-1][0] if said else None,
        ),
        evidence=(
            *(
                Evidence(
                    text=f"worker {worker}: {_SAID}.",
                    source="logs",
                    at=at,
                    see=case.see("logs", "--worker", worker),
                )
                for worker, at in said[:3]
            ),
            *shuffle.evidence(),
            *case.exception_evidence(),
        ),
    )


def _said_by(case: Case) -> list[tuple[str, float]]:
    """Return the workers that met the end of the disk, and when first."""
    logs = case.run.logs
    lines = logs.filter(
        (logs["role"] == "worker") & logs["message"].str.contains(_SAID, literal=True)
    )
    first = lines.sort("at").unique("source", keep="first", maintain_order=True)
    return [
        (row["source"], row["at"].timestamp()) for row in first.iter_rows(named=True)
    ]


def _directories(case: Case, workers: list[str]) -> list[str]:
    """Return the folders that those workers write to (of all workers, if none is known)."""
    told = {
        fact["subject"]: str(fact["local_directory"]).rpartition("/")[0]
        for fact in case.run.details("worker-added")
        if fact.get("local_directory")
    }
    chosen = [told[worker] for worker in workers if worker in told]
    return sorted(set(chosen or told.values()))


def _remedy(case: Case, shuffle: Shuffle, where: list[str]) -> str:
    workers = len(case.run.workers["address"].unique())
    sentences = [
        "Give the workers a larger disk (`--local-directory`, `temporary-directory`"
        + (f"; now {short(where[0], 80)}" if where else "")
        + ")"
    ]
    if shuffle.share is not None and shuffle.share < 1:
        factor = 1 / shuffle.share
        sentences[0] += f": it needs at least {factor:.1f} times the space"
        if workers:
            sentences.append(
                f"Or spread it over more workers with disks of their own: {workers} had "
                f"room for {shuffle.share:.0%} of it, so at least "
                f"{max(workers + 1, round(workers * factor + 0.5))}"
            )
    else:
        sentences.append("Or spread it over more workers with disks of their own")
    sentences.append(
        "Or shuffle less: drop columns and filter before `set_index`, `merge`, `shuffle` or "
        "`rechunk`; `method='tasks'` shuffles in memory"
    )
    return ". ".join(sentences) + "."


P2P_OUT_OF_DISK = Rule(
    slug="p2p-out-of-disk",
    title="A shuffle ran out of disk space",
    question="Did a P2P shuffle or rechunk fill the workers' disks?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A P2P shuffle (`merge`, `set_index`, `shuffle`, `rechunk`) keeps all of its data "
            "on the workers' disks for a while; they were full. These files count neither as "
            "spilled data nor as memory, so that no dashboard warns."
        ),
        evidence=(
            "`P2POutOfDiskError` in the failed task or the driver, the lines of the workers "
            "that met the end of their disk, and how many transfers had been done. Silent on "
            "a disk that was full of spilled data (`disk-full`)."
        ),
        remedy="Larger local directories, more workers, or less data.",
        before="ddf.merge(other, on='id')      # all 60 columns",
        after="ddf[['id', 'amount']].merge(other[['id', 'name']], on='id')",
    ),
)
