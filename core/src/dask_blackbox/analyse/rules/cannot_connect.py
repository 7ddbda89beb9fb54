"""Did the driver never reach a scheduler?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.standing import evidence_of_standing
from dask_blackbox.analyse.unreached import unreached
from dask_blackbox.analyse.words import class_of, counted, duration, short
from dask_blackbox.finding import Finding, RetryAdvice, Subject

__all__ = ["CANNOT_CONNECT"]

_BEGINNING = r'distributed/client\.py", line \d+, in (?:__init__|start)\n'
_HANDSHAKE = r'distributed/comm/core\.py", line \d+, in connect\n[^\n]*comm\.read'
_OTHERWISE = (
    "TimeoutError",
    "CommClosedError",
    "FatalCommClosedError",
    "StreamClosedError",
    "CancelledError",
    "KeyboardInterrupt",
)
_TRIED = r"Timed out (?:trying to connect|during handshake while connecting) to '?(?P<address>[\w+]+://[^\s']+)'? after (?P<waited>[\d.]+) ?s"


def _ask(case: Case) -> Iterator[Finding]:
    said = case.said(_TRIED)
    if not case.failed or case.blame.failure is not None or case.explained:
        return
    if not said:
        yield from _still_trying(case)
        yield from _answered_otherwise(case)
        yield from _of_a_worker(case)
        return
    address, waited = said["address"], said["waited"]
    known = case.run.details("scheduler-info")
    if any(fact.get("address") == address for fact in known):
        return  # it was there once: that is another story
    if address in case.run.workers["address"].to_list():
        return  # a worker that is gone, which somebody asked for something
    why, remedy, advice = _why(case, address, waited)
    yield CANNOT_CONNECT.found(
        f"Nothing could be reached at {address}",
        cause=f"The driver tried for {waited} s to connect to {address}: {why}.",
        remedy=remedy,
        confidence="medium" if known or advice == "unknown" else "high",
        retry_advice=advice,
        evidence=case.exception_evidence(),
    )


def _still_trying(case: Case) -> Iterator[Finding]:
    """Yield that the driver was stopped while `Client(…)` was still trying."""
    exception = case.exception
    if exception is None or case.raised("KeyboardInterrupt"):
        found = list(_stood_connecting(case))
        yield from found
        if found:
            return
    if exception is None or case.saw_the_cluster:
        return
    stopped = only_waited(exception) or case.raised("KeyboardInterrupt", "SystemExit")
    if not stopped or not re.search(_BEGINNING, exception.traceback):
        return
    at = f" at {exception.file}:{exception.line}" if exception.file else ""
    waited = ""
    if case.run.ending is not None:
        took = max(case.run.ending.ended - case.run.manifest.started, 0.0)
        waited = f", {duration(took)} after the run had begun"
    yield CANNOT_CONNECT.found(
        "The driver was still trying to connect when it was stopped",
        cause=(
            f"`Client(…)`{at} had not reached a scheduler when the driver was stopped{waited}. "
            "Something takes the connection and does not answer as a scheduler does, or "
            "nothing answers at all."
        ),
        remedy=(
            "Check that it is Dask's scheduler that listens at that address and port (not its "
            "dashboard, not a proxy), and that it is not overloaded; `Client(…, timeout=…)` "
            "does not end a connection that was taken and then left without an answer."
        ),
        confidence="medium",
        retry_advice="unknown",
        evidence=case.exception_evidence(),
    )


def _stood_connecting(case: Case) -> Iterator[Finding]:
    """Yield that a client was still trying when the driver was stopped without a word."""
    stood = case.driver_stood
    known = {fact.get("address") for fact in case.run.details("scheduler-info")}
    trying = (
        [each for each in stood.connecting if each[0] not in known] if stood else []
    )
    if stood is None or not trying or case.state == "failed":
        return
    address, lasted = max(trying, key=lambda each: each[1])
    frame = stood.own_frame
    at = f", at {frame}" if frame else ""
    yield CANNOT_CONNECT.found(
        f"The driver was still trying to connect to {address} when it was stopped",
        cause=(
            f"`Client(…)` had been trying to reach a scheduler at {address} for "
            f"{duration(lasted)} when the driver was stopped{at}. Nobody refused: either nothing "
            "answers there at all (a firewall, a host that is down or not yet up), or "
            "something takes the connection and does not answer as a scheduler does."
        ),
        remedy=(
            f"Check that {address} is right, that a scheduler runs there, and that no "
            "firewall or network policy lies between. `timeout=` of `Client(…)` (or "
            "`distributed.comm.timeouts.connect`) below the host's own patience makes it fail "
            "with a reason where nothing answers; it does not end a connection that was taken "
            "and left without an answer."
        ),
        confidence="medium",
        retry_advice="unknown",
        evidence=(evidence_of_standing(stood), *case.exception_evidence()),
    )


def _answered_otherwise(case: Case) -> Iterator[Finding]:
    """Yield that what answered was no scheduler: its bytes were read as sizes of frames."""
    exception = case.exception
    if exception is None or case.saw_the_cluster or not case.said(_HANDSHAKE):
        return
    if case.raised(*_OTHERWISE):
        return
    called = case.said(r"Client\(\s*['\"](?P<address>[^'\"]+)")
    address = called["address"] if called else "that address"
    yield CANNOT_CONNECT.found(
        f"What answers at {address} is no Dask scheduler",
        cause=(
            f"The driver connected to {address}, and what came back could not be read as a "
            f"scheduler's greeting: {class_of(exception.exception)}: "
            f"{short(exception.message, 200)}."
        ),
        remedy=(
            "Check that it is Dask's scheduler that listens at that address and port: not its "
            "dashboard, not another service, not a proxy that answers for a host that is not "
            "there."
        ),
        confidence="high",
        retry_advice="environment",
        evidence=case.exception_evidence(),
    )


def _of_a_worker(case: Case) -> Iterator[Finding]:
    """Yield that a worker lives and cannot be reached where it says that it is."""
    exception = case.exception
    if exception is not None and not only_waited(exception):
        return
    lines = unreached(case)
    if not lines:
        return
    address, line = lines[-1]
    ended = case.run.tasks.filter(pl.col("worker") == address)
    ran = f" {counted(len(ended), 'task')} ended there." if len(ended) else ""
    who = case.name_of(address)
    yield CANNOT_CONNECT.found(
        f"{who[0].upper()}{who[1:]} cannot be reached at the address that it announces",
        cause=(
            f"{who[0].upper()}{who[1:]} had registered with the scheduler and had not left, "
            f"but nobody gets a connection to {address}.{ran} What lies on it, results and "
            "inputs of other tasks, can be fetched by nobody, and whoever wants it waits."
        ),
        remedy=(
            f"Check that {address} is right and open to driver, scheduler and the other "
            "workers: `--contact-address`, `--host` or `--interface` of `dask worker`, the "
            "ports that its container or firewall lets through (`--worker-port`)."
        ),
        confidence="medium",
        subject=Subject(worker=address),
        evidence=(line, *case.exception_evidence()),
    )


def _why(case: Case, address: str, waited: str) -> tuple[str, str, RetryAdvice]:
    """Return why, what to do, and whether trying again would help."""
    advice: RetryAdvice = "environment"
    if case.said("during handshake while connecting"):
        why, advice = "it was taken, but not answered as a scheduler answers", "unknown"
        remedy = (
            f"Check that it is Dask's scheduler that listens at {address} (not its dashboard, "
            "not a proxy); if it is, it was too busy to answer: raise "
            f"`distributed.comm.timeouts.connect` above {waited} s, and see what keeps its "
            "event loop."
        )
    elif case.raised("gaierror") or case.said("Name or service not known"):
        why = "its host name is unknown"
        remedy = (
            "Check the spelling of the address and the DNS of the network that the driver "
            "runs in."
        )
    elif case.raised("ConnectionRefusedError") or case.said("Connection refused"):
        why = "the host is there, but nothing listens on that port"
        remedy = (
            f"Check that a scheduler runs at {address} and that the port is right; if it is "
            "only just starting, wait for it."
        )
    else:
        why, advice = "no answer came at all", "unknown"
        remedy = (
            f"Check that {address} is right and that no firewall or network policy lies "
            "between; if the scheduler is slow to start, raise "
            f"`distributed.comm.timeouts.connect` above {waited} s."
        )
    return why, remedy, advice


CANNOT_CONNECT = Rule(
    slug="cannot-connect",
    title="No scheduler could be reached",
    question="Did the driver fail to connect to a scheduler?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "`Client(address)` gave up: nothing listens there, or nothing gets through. Or a "
            "worker is there that nobody reaches at the address that it announces, and what "
            "lies on it was waited for."
        ),
        evidence=(
            "The driver's exception and the chain of its causes: a refused connection, an "
            "unknown name, silence, or a greeting that is no scheduler's; with medium "
            "confidence, that the driver was stopped while `Client(…)` was still at it, as it "
            "told itself. Silent where that scheduler had been there before "
            "(`scheduler-lost`)."
        ),
        remedy="Check address, port, DNS and firewall, in this order.",
        before='Client("tcp://scheduler:8787")   # the port of the dashboard',
        after='Client("tcp://scheduler:8786")',
    ),
)
