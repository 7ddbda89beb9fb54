"""Tasks that failed on one worker only, while others ran the same tasks successfully.

Then the cause is hardly the task's input or code: that worker lacks something.  Most often it
joined later than the others and was not set up as they were.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import NOT_INHERITED, TaskFailure
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import counted, duration, listed
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED

_ENOUGH_ELSEWHERE = 3
_ENOUGH_THERE = 2
_OF_ONE = {"have": "has", "import": "imports"}
_SETUP_HINT = (
    "If the other workers were set up by `client.run`, a file or an upload, this one "
    "lacks that setup. A plugin (`client.register_plugin`) also sets up workers that "
    "join later"
)


class SingleWorkerFailure(NamedTuple):
    """A worker on which all tasks of a prefix failed, and how it differs.

    Attributes:
        sentence: What was seen, in sentences.
        remedy: What to do.
    """

    sentence: str
    remedy: str


def single_worker_failure(
    case: Case, failure: TaskFailure
) -> SingleWorkerFailure | None:
    """Return the only worker on which tasks of a task's prefix failed, or None."""
    worker, prefix = failure.worker, failure.prefix
    if not worker or not prefix:
        return None
    same = pl.col("prefix") == prefix
    raised = NOT_INHERITED & (pl.col("outcome") != "killed")
    failed = case.run.errors.filter(same & raised)
    well = case.run.tasks.filter(same & FINISHED)
    there, enough = failed["key"].n_unique(), len(well) >= _ENOUGH_ELSEWHERE
    alone = set(failed["worker"].drop_nulls()) == {worker}
    if not alone or not enough or worker in set(well["worker"]):
        return None
    late = _late_arrival(case, worker, well)
    if there < _ENOUGH_THERE and not late:
        return None
    others = listed(sorted({case.name_of(each) for each in well["worker"]}))
    sentence = (
        f"It failed only on that worker: {counted(there, 'task')} of '{prefix}' failed "
        f"there and none succeeded, while {len(well):,} succeeded on {others}"
    )
    if late:
        return SingleWorkerFailure(f"{sentence}. {late}", f"{_SETUP_HINT}.")
    return SingleWorkerFailure(
        sentence,
        "Compare that worker with the others: its host, files and environment.",
    )


def _late_arrival(case: Case, worker: str, well: pl.DataFrame) -> str:
    """Return a sentence on a worker that joined after the others had started, or nothing."""
    own = case.run.workers.filter(pl.col("address") == worker).sort("joined").tail(1)
    begun = well["start"].min()
    if not len(own) or begun is None or own["joined"][0] <= begun:
        return ""
    row = own.row(0, named=True)
    moment = row["joined"].timestamp()
    late = duration((row["joined"] - begun).total_seconds())
    sentence = f"That worker joined {late} after they had started"
    others = case.run.workers.filter(pl.col("address") != worker)
    same = pl.lit(value=False)
    for word in ("name", "nanny"):
        if row[word] and row[word] != worker:
            same = same | (pl.col(word) == row[word]).fill_null(value=False)
    before = set(others.filter(same)["address"])
    dead = [d for d in case.deaths if d.address in before and d.at <= moment]
    if dead:
        died = case.cause_of(dead[-1]).died
        name = case.name_of(dead[-1].address)
        sentence += f", in place of {name}, which had died {died}"
    return sentence


def verdict_on_failure(
    case: Case,
    rule: Rule,
    failure: TaskFailure,
    what: str,
    *,
    cause: str,
    remedy: str,
    others_differ: bool = False,
) -> Finding:
    """Return a finding of a rule about the task whose failure ended the run.

    Args:
        what: What is wrong with workers (`have no module 'x'`), for the title.
        cause: Why, with the names.
        others_differ: Whether it is known not to hold for another worker.
    """
    only_worker = single_worker_failure(case, failure)
    of_one = only_worker is not None or others_differ
    if of_one:
        what = bounded(r"^(?:have|import)\b").sub(lambda verb: _OF_ONE[verb[0]], what)
    return rule.found(
        f"{'One worker' if of_one else 'Workers'} {what}",
        cause=cause if only_worker is None else f"{cause} {only_worker.sentence}.",
        remedy=remedy if only_worker is None else f"{remedy} {only_worker.remedy}",
        confidence="high" if case.blame.proven else "medium",
        subject=failure.subject,
        evidence=(failure.evidence(300), *case.exception_evidence()),
    )
