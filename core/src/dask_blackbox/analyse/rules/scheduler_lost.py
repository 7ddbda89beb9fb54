"""Did the scheduler go away in the middle of the run?

Everything that follows (cancelled futures, closed connections by the thousand, workers that
leave) is a consequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dask_blackbox.analyse.blame import closed_connection_to, ran_out_of_patience
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import how_the_scheduler_grew
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short, size
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice

__all__ = ["SCHEDULER_LOST"]

_TOLD = (
    r"scheduler-connection-lost|Client is closed|lost the connection to the scheduler"
)
_OPEN = "though nobody has closed its port"
_SILENT = (
    "See what its process and its host were doing then: an event loop that is blocked (a "
    "graph with large literals, a plugin), a machine that swaps or was suspended, a network "
    "that went away. Nothing says that it died; if it still stands, trying again will hang, too."
)
_OUTLIVED = 3.0  # seconds
_MORE_MEMORY = (
    "See how its process or pod ended (out of memory: exit code 137, `OOMKilled`), and what "
    "it had to hold: graphs with large literals (`client.scatter` them, or load them in "
    "tasks), very many tasks, futures that are never released. Then give it what is left to "
    "hold, and a quarter more."
)
_CANCELLED = r"cancelled for reason: unknown"
_CONNECTING = "in _ensure_connected"
_CLASSES = ("CommClosedError", "ClosedClientError", "FatalCommClosedError")


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.blame.failure is not None or _lost_a_worker(case):
        return
    if case.said(_CONNECTING) and not case.saw_the_cluster:
        return  # it was never there
    told = bool(case.said(_TOLD)) or (
        case.raised(*_CLASSES) and not case.said("trying to connect")
    )
    lost = case.run.details("scheduler-lost")
    closing = case.run.details("scheduler-closing")
    if not lost and not closing and _closed_its_own_client(case):
        return
    # Who waits with a timeout is told nothing else than that it is over.
    told = told or bool(_waited(case) and (lost or _closed_by_itself(closing)))
    # And who held futures, or sends new ones, only that these are cancelled.
    told = told or bool(case.said(_CANCELLED) and _ended_by_nobody(closing))
    # A recording made from inside the scheduler has no driver that could tell.
    if case.run.manifest.host.get("kind") == "scheduler":
        # What its recorder lost then was no driver.
        lost = lost or case.run.details("driver-lost")
        if _the_client_had_left(case, [*lost, *closing]):
            return
        told = told or bool(lost or closing)
    if not told:
        closing = []
    unheard = case.exception is None and (
        case.state == "failed" or _before_the_driver(case, lost)
    )
    if not told and not (lost and unheard):
        return
    how, advice, remedy = _account(case, _reason(case, closing))
    by = _asked_by(closing)
    sure: Confidence = "high" if told and (lost or closing) else "medium"
    yield SCHEDULER_LOST.found(
        f"The scheduler went away: {how}",
        cause=(
            "The driver lost its connection to the scheduler, and with it all futures. "
            f"{how[0].upper()}{how[1:]}{by}.{_memory(case) if advice != 'memory' else ''} Lost workers and closed connections "
            "after that moment are consequences."
        ),
        remedy=remedy,
        confidence=sure,
        retry_advice=advice,
        evidence=(
            *case.exception_evidence(),
            *_told_by("scheduler-closing", closing),
            *_told_by("scheduler-silent", case.run.details("scheduler-silent")),
            *_told_by("scheduler-lost", lost),
        ),
    )


def _account(case: Case, reason: str | None) -> tuple[str, RetryAdvice, str]:
    """Return how it went, whether trying again helps, and what to do."""
    how, advice = _how(reason)
    if reason is None and _fell_silent(case):
        return f"it did not answer any more, {_OPEN}", advice, _SILENT
    grown = how_the_scheduler_grew(case.run) if reason is None else ""
    if grown:
        return f"{how}, when its memory had {grown}", "memory", _MORE_MEMORY
    return how, advice, _remedy(reason)


def _lost_a_worker(case: Case) -> bool:
    """Say whether the connection that was closed was one to a worker."""
    if case.exception is None:
        return False
    address = closed_connection_to(case.exception)
    return address is not None and address in case.run.workers["address"].to_list()


def _fell_silent(case: Case) -> bool:
    """Say whether it was frozen, blocked, or cut off, rather than dead."""
    silent = case.run.details("scheduler-silent")
    return len(silent) > len(case.run.details("scheduler-answers"))


def _the_client_had_left(case: Case, ends: list[dict[str, Any]]) -> bool:
    """Say whether the client of an always-on recording was the first to go."""
    client = case.run.manifest.host.get("client")
    left = [
        f["at"] for f in case.run.details("client-removed") if f["subject"] == client
    ]
    return bool(left and ends) and min(left) < min(fact["at"] for fact in ends)


def _before_the_driver(case: Case, lost: list[dict[str, Any]]) -> bool:
    """Say whether the driver outlived it: a driver takes its own cluster along."""
    told = case.run.details("driver-lost")
    own = {fact.get("pid") for fact in told} - {None}
    if own & {fact.get("pid") for fact in case.run.details("scheduler-info")}:
        return False  # one process, and what froze it froze both
    gone = [fact["at"] for fact in told]
    return bool(
        case.state == "aborted"
        and lost
        and gone
        and (gone[-1] - lost[0]["at"]).total_seconds() > _OUTLIVED
    )


def _waited(case: Case) -> bool:
    return case.exception is not None and ran_out_of_patience(case.exception)


def _closed_by_itself(closing: list[dict[str, Any]]) -> bool:
    """Say whether nobody asked it to: a driver that gives up closes its own cluster."""
    return any(fact.get("reason") != "terminate" for fact in closing)


def _ended_by_nobody(closing: list[dict[str, Any]]) -> bool:
    """Say whether it closed for want of work, or because its host told it to."""
    reasons = [str(fact.get("reason") or "") for fact in closing]
    return any("idle" in each or each.startswith("signal-") for each in reasons)


def _closed_its_own_client(case: Case) -> bool:
    """Say whether the driver went on with a client that it had closed before."""
    own = {fact["subject"] for fact in case.run.details("recording-started")}
    gone = {fact["subject"] for fact in case.run.details("client-removed")}
    return case.raised("ClosedClientError") and bool(own & gone - {""})


def _told_by(kind: str, facts: list[dict[str, Any]]) -> Iterator[Evidence]:
    for fact in facts[-1:]:
        said = fact.get("reason") or fact.get("error") or fact["subject"]
        yield Evidence(
            text=f"{kind}: {short(str(said), 200)}",
            source="events",
            at=fact["at"].timestamp(),
        )


def _reason(case: Case, closing: list[dict[str, Any]]) -> str | None:
    """Return why the scheduler closed, as it says; None if it never said that it did."""
    logs = case.run.logs.filter(case.run.logs["role"] == "scheduler")
    said = (
        logs["message"].str.extract(r"Closing scheduler\. Reason: (\S+)").drop_nulls()
    )
    told = [str(fact["reason"]) for fact in closing if fact.get("reason")]
    told += said.tail(1).to_list()
    if not told and not closing:
        return None
    return next((each for each in told if each != "unknown"), "")


def _asked_by(closing: list[dict[str, Any]]) -> str:
    told = [str(fact["by"]) for fact in closing if fact.get("by")]
    return f", asked for from {told[-1].partition('://')[2]}" if told else ""


def _how(reason: str | None) -> tuple[str, RetryAdvice]:
    if reason is None:
        return "it vanished without a word", "transient"
    if reason.startswith("signal-"):
        return f"it was told to stop by its host ({reason})", "transient"
    if "idle" in reason:
        return "it closed because it had been idle for too long", "environment"
    if reason == "terminate":
        return "a client shut it down", "unknown"
    if reason:
        return f"it closed ({short(reason, 60)})", "unknown"
    return "it closed in good order, and did not say why", "unknown"


def _remedy(reason: str | None) -> str:
    if reason and "idle" in reason:
        return "Raise `distributed.scheduler.idle-timeout` above the longest pause of the run."
    if reason and reason.startswith("signal-"):
        return (
            "See who stopped its host: a deleted pod, a spot notice, a walltime. Let the "
            "scheduler run where nothing is preempted; then try again."
        )
    if reason is not None:
        return (
            "Find who closed it: `client.shutdown()` or `cluster.close()`, in the run itself "
            "or in another one that shares this cluster."
        )
    return (
        "See how its process or pod ended (out of memory: exit code 137, `OOMKilled`; a "
        "node that went away). If it was memory: smaller graphs, no large literals in "
        "tasks, futures released when done. Otherwise try again."
    )


def _memory(case: Case) -> str:
    own = case.run.metrics.filter(case.run.metrics["source"] == "scheduler")
    last = own.sort("at")["memory"].drop_nulls().tail(1).to_list()
    return f" It was last seen with {size(last[0])} of memory." if last else ""


SCHEDULER_LOST = Rule(
    slug="scheduler-lost",
    title="The scheduler went away",
    question="Did the run fail because the scheduler died, closed or became unreachable?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "The scheduler's process ended, or the connection to it was cut, while the run "
            "still needed it."
        ),
        evidence=(
            "The driver's exception (“scheduler-connection-lost”, a closed connection or "
            "client), the recorder's own loss of the scheduler, and the reason that the "
            "scheduler gave if it had time to. Silent on a cluster that closes after the run."
        ),
        remedy="Look at how its process ended; give it memory; don't preempt it.",
        before="dask.config.set({'distributed.scheduler.idle-timeout': '60s'})",
        after="dask.config.set({'distributed.scheduler.idle-timeout': '1 hour'})",
    ),
)
