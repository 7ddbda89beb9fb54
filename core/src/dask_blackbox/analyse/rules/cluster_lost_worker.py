"""Did the cluster close a worker while its work was wanted, and never replace it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import Hang
from dask_blackbox.analyse.hang_evidence import evidence_of_hang, how_it_ended
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject

__all__ = ["CLUSTER_LOST_WORKER"]

_CLOSED = "nanny-close"
_NANNY_CLOSED = r"Closing Nanny at '([^']+)'\. Reason: nanny-close$"
_AT_ONCE = 1.0
_RETIRED = ("retire-workers-", "worker-close-gracefully-")


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or hang.workers or not hang.wanted:
        return
    closed = _closed_before(case, hang)
    if not closed:
        return
    last = closed[-1]
    died = [
        death
        for death in case.deaths
        if death.at <= last["left"] + _AT_ONCE and death.name == last["name"]
    ]
    before = (
        f"Its process had died before ({case.cause_of(died[-1]).slug}); "
        if died
        else "Its process had not been seen to die before; "
    )
    sure: Confidence = case.sure_of_the_hang if died else "low"
    yield CLUSTER_LOST_WORKER.found(
        f"The cluster closed its last worker while {counted(hang.wanted, 'task')} waited",
        cause=(
            f"{case.name_of(last['address'])} was closed by the cluster object itself "
            f"({_CLOSED}) in the middle of the run, and nobody took its place: 0 workers. "
            f"{before}after a death the cluster waits `distributed.deploy.lost-worker-timeout` "
            f"({_patience(case)}) and gives up a worker that happens to be restarting at that moment. "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=(
            "Raise `distributed.deploy.lost-worker-timeout` (to 5 min, say), so that a worker "
            "that restarts is not given up"
            + (
                f", and mend what it died of: `dask blackbox rules {case.cause_of(died[-1]).slug}`."
                if died and case.cause_of(died[-1]).slug != "unknown"
                else "."
            )
        ),
        confidence=sure,
        subject=Subject(worker=last["address"]),
        evidence=(
            *(
                Evidence(
                    text=f"{case.name_of(life['address'])} left: {_CLOSED}.",
                    source="workers",
                    at=life["left"],
                )
                for life in closed[-3:]
            ),
            *evidence_of_hang(case, hang),
        ),
    )


def _patience(case: Case) -> str:
    """Return for how long the driver's cluster waits for a worker, as it was set."""
    for fact in case.run.details("driver-attached"):
        config = (fact.get("config") or {}).get("distributed") or {}
        deploy = config.get("deploy") or {}
        # Where a variable sets it, Dask keeps the underscores.
        for name in ("lost-worker-timeout", "lost_worker_timeout"):
            if deploy.get(name) is not None:
                return str(deploy[name])
    return "15 s"


def _closed_before(case: Case, hang: Hang) -> list[dict[str, Any]]:
    """Return the workers that the cluster closed before it stood still, by time.

    A worker's own word, or that of its nanny, which was closed while it made a new one.
    """
    lives = case.run.workers.with_columns(pl.col("left").dt.epoch("us") / 1e6)
    nannies = _nannies_closed(case, hang)
    known = lives.drop_nulls("left").sort("left").to_dicts()
    newest = {life["nanny"]: life for life in known}
    return [
        life
        for life in known
        if not (life["stimulus_id"] or "").startswith(_RETIRED)
        and life["left"] < hang.at
        and (
            (life["closing"] or "").startswith(_CLOSED)
            or (life["nanny"] in nannies and life is newest[life["nanny"]])
        )
    ]


def _nannies_closed(case: Case, hang: Hang) -> set[str]:
    """Return the nannies that said, before it stood still, that they were closed."""
    lines = case.run.logs.filter(
        pl.col("message").str.contains(_NANNY_CLOSED)
        & (pl.col("at").dt.epoch("us") / 1e6 < hang.at)
    )
    return set(lines["message"].str.extract(_NANNY_CLOSED).drop_nulls().to_list())


CLUSTER_LOST_WORKER = Rule(
    slug="cluster-lost-worker",
    title="The cluster dropped a restarting worker for ever",
    question="Did the cluster object close a worker while its work was wanted?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "A worker died, its nanny restarted it, and at that moment the cluster object's "
            "timer for lost workers ran out: it closed the nanny and did not replace it. The "
            "run hangs with no worker."
        ),
        evidence=(
            "No worker is left while tasks are wanted, and the last one, or the nanny that was "
            "making a new one, said `nanny-close`, though the cluster lived on. Low confidence if no death came before. Silent for "
            "workers that were retired or scaled down."
        ),
        remedy="Raise `distributed.deploy.lost-worker-timeout`.",
        before="LocalCluster(n_workers=1)",
        after="dask.config.set({'distributed.deploy.lost-worker-timeout': '5 min'})",
    ),
)
