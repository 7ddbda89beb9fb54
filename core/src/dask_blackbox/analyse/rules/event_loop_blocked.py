"""Did something hold up an event loop, so that its process could not answer?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, listed, short
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["EVENT_LOOP_BLOCKED"]

# Where others have the cores, a loop stands still for seconds with nothing wrong.
_STARVED = 20
# A thread of ours in the worker tells whether that was so: how often it got a core late.
_ON_TIME = 0.2
_COMPUTED = 0.6
_WAITED = 0.8
_SAID = re.compile(r"Event loop was unresponsive in (\w+) for ([\d.]+)\s*(ms|s)\b")


def _ask(case: Case) -> Iterator[Finding]:
    blocks = _blocks(case)
    worst = EVENT_LOOP_BLOCKED.threshold(case, "seconds")
    starved = _starved(case)
    whole = max(case.loads.stopped - case.loads.started, 1e-9)
    long = [
        block
        for block in blocks
        if block["seconds"]
        >= (worst * _STARVED if starved and not _held(case, block) else worst)
    ]
    by_process: dict[tuple[str, int], float] = {}
    for block in long:
        process = (block["who"], block["pid"])
        by_process[process] = by_process.get(process, 0.0) + block["seconds"]
    lost = max(by_process.values(), default=0.0)
    if not long or lost < EVENT_LOOP_BLOCKED.threshold(case, "share") * whole:
        return
    yield _told(case, long, Cost(amount=lost, unit="seconds", share=lost / whole))


def _told(case: Case, long: list[dict[str, Any]], cost: Cost) -> Finding:
    worst = EVENT_LOOP_BLOCKED.threshold(case, "seconds")
    first = max(long, key=lambda block: block["seconds"])
    key, ttl = _executing(case, first), 300.0
    ran = (
        f" '{short(key, 80)}' was executing there."
        if key and first["who"] == "Worker"
        else ""
    )
    who = {(b["who"], b["pid"]) for b in long}
    roles = listed(
        [
            counted(sum(each == role for each, _ in who), role.lower())
            for role in ("Scheduler", "Worker", "Nanny")
            if any(each == role for each, _ in who)
        ]
    )
    return EVENT_LOOP_BLOCKED.found(
        f"An event loop stood still for {duration(first['seconds'])} "
        f"({first['who'].lower()})",
        cause=(
            f"The event loops of {roles} could not turn for {duration(worst)} or more "
            f"{counted(len(long), 'time')}, {duration(cost.amount)} altogether in the worst process, "
            f"{cost.share or 0:.0%} of the run.{ran} Something held the GIL in one long call, or "
            "moved very large data, and meanwhile the process answers nobody: no results, no "
            "data for others, no heartbeats."
        ),
        remedy=(
            f"Cut that call into shorter ones, or run it in a process of its own "
            f"(`subprocess`, a worker with a ProcessPoolExecutor), or in code that lets the GIL "
            f"go. A worker that stands still for {duration(ttl)} is taken for dead: if it must "
            f"be, raise `distributed.scheduler.worker-ttl` above "
            f"{duration(max(ttl, 10 * first['seconds']))}."
        ),
        confidence="high",
        subject=Subject(
            key=key, worker=first["source"] if "://" in first["source"] else None
        ),
        cost=cost,
        evidence=tuple(
            Evidence(
                text=f"{block['source']} (pid {block['pid']}): event loop unresponsive for "
                f"{duration(block['seconds'])}",
                source="logs",
                at=block["at"],
            )
            for block in sorted(long, key=lambda block: -block["seconds"])[:5]
        ),
    )


def _blocks(case: Case) -> list[dict[str, Any]]:
    """Return when event loops stood still; of several roles in a process, only one."""
    lines = case.run.logs.filter(
        pl.col("message").str.starts_with("Event loop was unresponsive")
    )
    found: list[dict[str, Any]] = []
    newest: dict[int | None, dict[str, Any]] = {}  # of each process; lines come by time
    for line in lines.iter_rows(named=True):
        said = _SAID.match(line["message"])
        if said is None:
            continue
        seconds = float(said[2]) / (1000 if said[3] == "ms" else 1)
        block = {
            "who": said[1], "seconds": seconds, "pid": line["pid"],
            "source": line["source"], "at": line["at"].timestamp(),
        }  # fmt: skip
        # The roles that share a process (LocalCluster) share its loop, and each complains.
        same = newest.get(line["pid"])
        if same is not None and abs(same["at"] - block["at"]) < 1:
            same["seconds"] = max(same["seconds"], seconds)
            if said[1] == "Scheduler":  # the one that matters most
                same |= {"who": said[1], "source": line["source"]}
            continue
        newest[line["pid"]] = block
        found.append(block)
    return found


def _executing(case: Case, block: dict[str, Any]) -> str | None:
    """Return the longest task that a worker ran while its loop stood still."""
    begun, ended = block["at"] - block["seconds"], block["at"]
    ran = case.loads.tasks.filter(
        (pl.col("worker") == block["source"])
        & (pl.col("begun") < ended)
        & (pl.col("ended") > begun)
    ).sort("compute")
    return str(ran["key"][-1]) if len(ran) else None


def _held(case: Case, block: dict[str, Any]) -> bool:
    """Say whether the GIL was held: that process got its cores, but for such moments."""
    sums = case.tolls.of_worker(block["source"])
    on_time = sums["late"] <= _ON_TIME * sums["woken"]
    if not on_time and sums["cpu"] < _COMPUTED * sums["seconds"]:
        return False  # it got no core, then or ever
    return bool(sums["waited"] >= _WAITED * block["seconds"])


def _starved(case: Case) -> bool:
    """Say whether others had taken the host's cores, as far as known: then all stands still."""
    most = EVENT_LOOP_BLOCKED.threshold(case, "others")
    hosts = case.tolls.hosts
    return not hosts or any(host.others > most for host in hosts)


EVENT_LOOP_BLOCKED = Rule(
    slug="event-loop-blocked",
    title="An event loop stood still",
    question="Could a process not answer, because something held up its event loop?",
    severity="warning",
    ask=_ask,
    thresholds={"seconds": 3, "share": 0.1, "others": 0.5},
    page=Page(
        detects=(
            "A worker, a nanny or the scheduler could not turn its event loop for seconds. Data "
            "and results wait that long, and heartbeats are missed: five minutes of it, and the "
            "worker is taken for dead."
        ),
        evidence=(
            "Dask's own line, `Event loop was unresponsive in …`, from every process. Silent "
            "where the longest is shorter than `event-loop-blocked.seconds`, where all of them "
            "are less than `event-loop-blocked.share` of the run. Where other processes had more "
            "of the host's cores than `event-loop-blocked.others`, or nobody knows, it takes twenty "
            "times as long, unless a thread of ours in that worker was late for the GIL in just "
            "such moments."
        ),
        remedy="Shorter calls into code that keeps the GIL, or processes for them.",
        before="def check(text):\n    return re.match(r'(a+)+$', text)   # minutes, with the GIL held",
        after="def check(text):\n    return re.match(r'a+$', text)",
    ),
)
