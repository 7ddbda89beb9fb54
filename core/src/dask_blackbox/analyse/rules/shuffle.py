"""P2P shuffles that failed or restarted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import evidence_of, how_died
from dask_blackbox.analyse.exception_context import evidence_of_failure
from dask_blackbox.analyse.explanations import Context, explained, in_one_line
from dask_blackbox.analyse.facts.managers import on_drivers_host
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import (
    most_at_once,
    worker_exits_of,
)
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.missing_files import remedy_for_missing_file
from dask_blackbox.analyse.offers import is_local
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice, advice_on_text
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.signatures import lines_of, printed_by
from dask_blackbox.analyse.signatures.distributed import (
    SHUFFLE_INITIALIZED,
    SHUFFLE_OUT_OF_DISK,
    SHUFFLE_PHASE_FAILED,
    SHUFFLE_RESTARTED_FOR,
)
from dask_blackbox.events import GraphUpdated, P2PMessage, WorkerAdded
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    capital,
    class_of,
    counted,
    duration,
    listed,
    prefix_of,
    short,
)
from dask_blackbox.run_tables import FINISHED, epoch


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """A shuffle that failed.

    Attributes:
        id: Dask's own; None if it is not known.
        kind: `rechunk` or `shuffle`.
        done: How many of its input pieces had been taken in.
        pieces: How many there were; 0 if unknown.
        restarts: How often it had to restart.
        restarted_at: When last, epoch seconds.
    """

    id: str | None
    kind: str
    done: int
    pieces: int
    restarts: int
    restarted_at: float | None

    @property
    def named(self) -> str:
        """What to call it at the beginning of a sentence."""
        return f"The {self.kind} {self.id[:8]}" if self.id else f"A {self.kind}"

    @property
    def share(self) -> float | None:
        """How much of its input had been taken in, from 0 to 1; None if unknown."""
        if not self.pieces or not 0 < self.done < self.pieces:
            return None
        return self.done / self.pieces

    def progress(self) -> str:
        """Return a sentence on how far it had come, or nothing."""
        parts = []
        if self.pieces:
            parts.append(
                f"{self.done:,} of {counted(self.pieces, 'piece')} had been received"
            )
        if self.restarts:
            parts.append(f"it had been restarted {counted(self.restarts, 'time')}")
        text = ", and ".join(parts)
        return f"{capital(text)}." if text else ""

    def evidence(self) -> Iterator[Evidence]:
        """Yield what the scheduler said of it."""
        if self.restarts:
            yield Evidence(
                text=f"The shuffle was restarted {counted(self.restarts, 'time')}.",
                source="logs",
                at=self.restarted_at,
            )


def _shuffle_behind(case: Case, known: str | None = None) -> Shuffle:
    """Return the shuffle that failed: the one that is named, else the last that failed."""
    failed = [fact.message for fact in case.run.of(P2PMessage)]
    ids = [str(each["shuffle"]) for each in failed if each.get("shuffle")]
    own = known or (ids[-1] if ids else None)
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    restarts = logs.filter(
        printed_by(SHUFFLE_RESTARTED_FOR)
        & (
            pl.lit(own is None)
            | pl.col("message").str.contains(own or "", literal=True)
        )
    )
    prefix, at = _transfer_prefix(logs, own), restarts["at"].max()
    known_as = prefix or ""
    graphs = [g for g in case.run.of(GraphUpdated) if g.prefixes.get(known_as, 0) > 1]
    since = graphs[-1].at if graphs else 0.0
    of_prefix = pl.col("prefix").eq_missing(prefix) & (epoch("stop") >= since)
    done = case.run.tasks.filter(of_prefix & FINISHED)
    return Shuffle(
        id=own,
        kind="rechunk" if "rechunk" in known_as else "shuffle",
        done=done["key"].n_unique(),
        pieces=graphs[-1].prefixes[known_as] if graphs else 0,
        restarts=len(restarts),
        restarted_at=at.timestamp() if at is not None else None,  # type: ignore[union-attr]
    )


def _transfer_prefix(logs: pl.DataFrame, own: str | None) -> str | None:
    """Return the prefix of the task that began it."""
    for message in reversed(logs["message"].to_list()):
        begun = SHUFFLE_INITIALIZED.search(message)
        if begun and own in (None, begun["id"]):
            return prefix_of(begun["key"])
    return None


# p2p-failed

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


@documented("p2p-failed")
def P2P_FAILED(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    if not case.failed or (failure is not None and failure.killed):
        return
    phase = _phase_that_failed(case)
    named = failure is not None and class_of(failure.exception) in _CLASSES
    if phase is not None or named or case.raised(*_CLASSES):
        yield _failed_finding(case, phase, sure=named or phase is not None)
    elif failure is not None and _SHUFFLING in failure.traceback and not failure.frame:
        # It failed in the shuffle's own code, not in the user's.
        yield _failed_finding(case, phase, sure=False)


def _failed_finding(case: Case, phase: re.Match[str] | None, *, sure: bool) -> Finding:
    failure = case.blame.failure
    shuffle = _shuffle_behind(case, None if phase is None else phase["id"])
    root = _root(case, failure)
    title = "A shuffle failed"
    during = began = ""
    if phase is not None:
        title += f" in its {phase['phase']} phase"
        during = f" during its {phase['phase']} phase"
    if root is not None:
        title += f": {_words(root)}"
        began = f"Original exception: {_words(root)}. "
    advice, certainty = _advice(case, root)
    deaths = _relevant_deaths(case, root)
    evidence = evidence_of(case, deaths) if deaths else ()
    if failure is not None:
        text = short(str(failure), 400)
        evidence = (*evidence_of_failure(case, failure, text), *evidence)
    return P2P_FAILED.found(
        title,
        cause=f"{shuffle.named} failed{during}. {began}{shuffle.progress()}",
        remedy=_remedy_p2p_failed(case, root, shuffle),
        confidence="high" if sure else "medium",
        retry_advice=advice,
        retry_confidence=certainty,
        subject=Subject() if failure is None else failure.subject,
        evidence=(*evidence, *shuffle.evidence(), *case.exception_evidence()),
    )


def _phase_that_failed(case: Case) -> re.Match[str] | None:
    """Return the phase of a shuffle that a failed task, or the driver, reports as failed."""
    failed = [each for each in (case.blame.failure, case.exception) if each is not None]
    texts = (text for each in failed for text in (each.message, each.traceback))
    return next(filter(None, map(SHUFFLE_PHASE_FAILED.search, texts)), None)


def _words(root: tuple[str, str]) -> str:
    """Return what it began with, in one line that names the thing."""
    explanation = explained(Context(exception=root[0], message=root[1]))
    text = explanation.headline if explanation else in_one_line(root[1])
    return f"{root[0]}: {short(text, 160)}".rstrip(": ")


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


def _relevant_deaths(
    case: Case, root: tuple[str, str] | None
) -> tuple[WorkerExit, ...]:
    """Return the deaths that may be why it failed: not if it has another cause."""
    own = root is not None and not root[0].endswith(_UNREACHED)
    return () if own and root is not None and root[0] not in _CLASSES else case.deaths


def _advice(case: Case, root: tuple[str, str] | None) -> Advice:
    own = UNKNOWN if root is None else advice_on_text(*root)
    if own.advice == "environment":
        return own  # a limit or a permission, whichever worker died as well
    if _relevant_deaths(case, root) or (
        root is not None and root[0].endswith(_UNREACHED)
    ):
        return Advice("transient", "medium")
    if root is None or root[0] in _CLASSES:
        return UNKNOWN
    return own


def _remedy_p2p_failed(
    case: Case, root: tuple[str, str] | None, shuffle: Shuffle
) -> str:
    one_host = on_drivers_host(case.run)
    if deaths := _relevant_deaths(case, root):
        slug = case.cause_of(deaths[-1]).slug
        what = f" (`dask blackbox rules {slug}`)" if slug != "unknown" else ""
        keep = "" if one_host else "keep preemptible workers out of the shuffle, or "
        return (
            f"Find why the workers died{what}; {keep}use `method='tasks'`, which "
            "recomputes only what was lost."
        )
    if root is not None and root[0].endswith(_UNREACHED):
        return (
            "A worker did not answer the others: check its event loop"
            f"{'' if one_host else ' and network'}; raise `distributed.comm.timeouts.connect: 90s, distributed.comm.timeouts.tcp: "
            "90s, distributed.p2p.comm.retry.count: 20`. Then retry."
        )
    if root is not None and root[0] in _FILES and _SCRATCH in root[1]:
        return (
            "The workers' scratch folder was removed or became unreachable: a cleanup "
            "of temporary files, a lost disk. Put it in a folder that is not cleaned "
            "up (`--local-directory`, `temporary-directory`)."
        )
    if root is not None:
        explanation = explained(Context(exception=root[0], message=root[1]))
        if explanation is not None and (file := explanation.missing_file):
            return remedy_for_missing_file(case.run, file, subject=None)
        fix = f"{explanation.fix} " if explanation and explanation.fix else ""
        return (
            f"{fix}Check what {root[0]} says about the data: partitions whose columns or "
            "types differ from the collection's `meta` are the usual reason. Compare "
            "`ddf.dtypes` with `ddf.map_partitions(lambda d: d.dtypes)` before the "
            f"{shuffle.kind}, and pass the actual types as `meta=`."
        )
    return (
        "Check the workers' first error at that time. Until it is fixed, "
        "`method='tasks'` shuffles without P2P."
    )


# p2p-out-of-disk

_CLASS = "P2POutOfDiskError"


@documented("p2p-out-of-disk")
def P2P_OUT_OF_DISK(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    failure = case.blame.failure
    named = failure is not None and (
        failure.exception.endswith(_CLASS)
        or SHUFFLE_OUT_OF_DISK.search(failure.traceback)
    )
    subject = Subject() if failure is None else failure.subject
    reported = case.search_exception(SHUFFLE_OUT_OF_DISK.pattern)
    if not (named or reported or case.raised(_CLASS)):
        return
    shuffle = _shuffle_behind(case)
    reports = _reports_of_full_disks(case)
    workers = [worker for worker, _ in reports]
    where = _directories(case, workers)
    worker, number, on = None, "", f", in {listed(where, most=2)}" if where else ""
    if workers:
        worker = workers[-1]
        number = f" on {counted(len(workers), 'worker')}"
        on = f" on {listed([case.name_of(each) for each in workers], most=2)}{on}"
    yield P2P_OUT_OF_DISK.found(
        f"A shuffle ran out of disk space{number}",
        cause=(
            f"{shuffle.named} writes all of its data to the workers' disks, and no "
            f"space was left{on}" + f". {shuffle.progress()}".rstrip()
        ),
        remedy=_remedy_p2p_out_of_disk(case, shuffle, where),
        confidence="high" if case.raised(_CLASS) or reports else "medium",
        subject=msgspec.structs.replace(subject, worker=worker),
        evidence=(
            *(
                Evidence(
                    text=f"Worker {worker}: P2P ran out of available disk space.",
                    source="logs",
                    at=at,
                    see=case.show_command("logs", "--worker", worker),
                )
                for worker, at in reports[:3]
            ),
            *shuffle.evidence(),
            *case.exception_evidence(),
        ),
    )


def _reports_of_full_disks(case: Case) -> list[tuple[str, float]]:
    """Return the workers whose disk was full, and when first."""
    lines = lines_of(case.run, SHUFFLE_OUT_OF_DISK, by=["worker"])
    first = lines.unique("source", keep="first", maintain_order=True)
    return [
        (row["source"], row["at"].timestamp()) for row in first.iter_rows(named=True)
    ]


def _directories(case: Case, workers: list[str]) -> list[str]:
    """Return the folders that those workers write to (of all workers, if none is known)."""
    known = {
        worker.subject: worker.local_directory.rpartition("/")[0]
        for worker in case.run.of(WorkerAdded)
        if worker.local_directory
    }
    chosen = [known[worker] for worker in workers if worker in known]
    return sorted(set(chosen or known.values()))


def _remedy_p2p_out_of_disk(case: Case, shuffle: Shuffle, where: list[str]) -> str:
    workers = len(most_at_once(worker_exits_of(case.run), lambda _: 1))
    shared = is_local(case)  # then more workers have the same disk
    sentences = [
        "Give the workers a larger disk (`--local-directory`, `temporary-directory`"
        + (f"; now {short(where[0], 80)}" if where else "")
        + ")"
    ]
    if shuffle.share is not None:
        factor = 1 / shuffle.share
        sentences[0] += f": it needs at least {factor:.1f} times the space"
        if workers and not shared:
            sentences.append(
                "Or use more workers, each with its own disk: "
                f"{counted(workers, 'worker')} had space for {shuffle.share:.0%} of the "
                f"data, so use at least {max(workers + 1, round(workers * factor + 0.5))}"
            )
    elif not shared:
        sentences.append("Or use more workers, each with its own disk")
    sentences.append(
        "Or shuffle less: drop columns and filter before `set_index`, `merge`, `shuffle` or "
        "`rechunk`; `method='tasks'` shuffles in memory"
    )
    return ". ".join(sentences) + "."


# shuffle-restarted

_CLOCKS, _JUST_BEFORE = timedelta(seconds=0.5), timedelta(seconds=5)


_KEEP_WORKERS = (
    "Keep the workers: the other findings say why they died. On hosts where workers die now and "
    'then, `shuffle_method="tasks"` loses only the pieces of the worker that died.'
)

_DO_NOT_SCALE_DOWN = (
    "No worker died: don't retire or close workers while a shuffle runs. Of an adaptive cluster, "
    "raise `distributed.adaptive.wait-count: 30`, or set `minimum` to `maximum`."
)


@documented("shuffle-restarted")
def SHUFFLE_RESTARTED(case: Case) -> Iterator[Finding]:
    lines = lines_of(case.run, SHUFFLE_RESTARTED_FOR, by=["scheduler"])
    restarts = [
        (match, line)
        for line in lines.iter_rows(named=True)
        if (match := SHUFFLE_RESTARTED_FOR.match(line["message"]))
    ]
    if not restarts:
        return
    shuffles = sorted({match[1] for match, _ in restarts})
    cost = _repeated_seconds(case, shuffles)
    died = how_died(case, case.deaths) if case.deaths else ""
    repeated = f" {duration(cost)} of computing had to be repeated." if cost else ""
    often = f" {counted(len(restarts), 'time')}"
    times = often if len(restarts) > len(shuffles) else ""
    yield SHUFFLE_RESTARTED.found(
        f"{counted(len(shuffles), 'shuffle')} restarted{times} because a worker left",
        cause=(
            f"Shuffle {short(shuffles[0], 40)} restarted{often}"
            f"{_departed_worker_text(case, restarts[0][1]['at'])}. "
            "A peer-to-peer shuffle keeps its pieces on all workers: when one leaves, "
            f"the whole shuffle restarts.{repeated}"
            + (f" {counted(len(case.deaths), 'worker')} died{died}." if died else "")
        ),
        remedy=_KEEP_WORKERS if case.deaths else _DO_NOT_SCALE_DOWN,
        confidence="high",
        cost=Cost(
            amount=cost, share=cost / case.loads.compute if case.loads.compute else None
        ),
        evidence=tuple(
            Evidence(text=line["message"], source="logs", at=line["at"].timestamp())
            for _, line in restarts[:5]
        ),
    )


def _departed_worker_text(case: Case, at: datetime) -> str:
    """Return which worker had left just before, if one is known to have."""
    left = case.run.workers.filter(
        (pl.col("left") <= at + _CLOCKS) & (pl.col("left") >= at - _JUST_BEFORE)
    ).sort("left")
    return f" when {case.name_of(left['address'][-1])} left" if len(left) else ""


def _repeated_seconds(case: Case, shuffles: list[str]) -> float:
    """Return the seconds of the shuffles' executions that were repeated."""
    mine = pl.any_horizontal(
        pl.col("key").str.contains(shuffle, literal=True) for shuffle in shuffles
    )
    again = (
        case.run.tasks.filter(FINISHED & mine)
        .group_by("key", maintain_order=True)
        .agg(lost=pl.col("compute").sum() - pl.col("compute").last())
    )
    return float(again["lost"].sum() or 0.0)
