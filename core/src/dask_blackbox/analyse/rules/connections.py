"""Connections that could not be made, and the file descriptors that they need."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_host import ShortHost, short_host_of_driver
from dask_blackbox.analyse.driver_position import evidence_of_position
from dask_blackbox.analyse.frames import at_frame
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.run_state import last_sign_of_life, seconds_of
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    CONNECT_TIMED_OUT,
    TLS_CERTIFICATE_DIFFERS,
    TLS_HANDSHAKE_FAILED,
    TLS_REQUIRED,
    TLS_WITHOUT_CONTEXT,
)
from dask_blackbox.analyse.signatures.python import (
    AUTHORITY_REFUSED,
    CERTIFICATE_NOT_VERIFIED,
    OPEN_FILES_EXHAUSTED,
    TLS_MET_PLAIN_TEXT,
    TLS_NO_COMMON_CIPHER,
    TLS_NO_COMMON_VERSION,
    TLS_REFUSED,
)
from dask_blackbox.events import (
    DriverCallFailed,
    DriverClosing,
    DriverSignalled,
    ProgramFailed,
    SchedulerClosing,
    SchedulerFile,
    SchedulerInfo,
)
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice, Subject
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    duration,
    quoted_key,
    short,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch

_CLOSING_SECONDS, _RECENT = 5.0, 15.0


def unreached(case: Case) -> list[tuple[str, Evidence]]:
    """Return live workers that could not be reached, with the last line."""
    end = last_sign_of_life(case.run) - _CLOSING_SECONDS
    beats = case.run.metrics.group_by("source", maintain_order=True).agg(
        pl.col("at").max()
    )
    beating = {s for s, at in beats.iter_rows() if at.timestamp() > end - _RECENT}
    there = {
        row["address"]
        for row in case.run.workers.select("address", "left").to_dicts()
        if row["address"] in beating
        and (row["left"] is None or row["left"].timestamp() > end)
    }
    found: dict[str, Evidence] = {}
    for row in lines_of(case.run, CONNECT_TIMED_OUT).to_dicts():
        tried = CONNECT_TIMED_OUT.search(row["message"])
        if tried is None or tried["address"] not in there:
            continue
        found[tried["address"]] = case.line_evidence(row, longest=240)
    return list(found.items())


# cannot-connect

_BEGINNING = r'distributed/client\.py", line \d+, in (?:__init__|start)\n'

_HANDSHAKE = r'distributed/comm/core\.py", line \d+, in connect\n[^\n]*comm\.read'

_LOOPBACK = bounded(r"://(?:127\.|localhost\b|\[::1\])")

_UNEXPECTED = (
    "TimeoutError",
    "CommClosedError",
    "FatalCommClosedError",
    "StreamClosedError",
    "CancelledError",
    "KeyboardInterrupt",
)


@documented("cannot-connect")
def CANNOT_CONNECT(case: Case) -> Iterator[Finding]:
    match = case.search_exception(CONNECT_TIMED_OUT.pattern)
    if not case.failed or case.blame.failure is not None:
        return
    if not match:
        yield from _still_trying(case)
        yield from _unexpected_answer(case)
        yield from _unreachable_worker_findings(case)
        return
    address, waited = match["address"], match["waited"]
    known = case.run.of(SchedulerInfo)
    if any(each.subject == address for each in known):
        # Other rules report a scheduler that was lost at work.
        yield from _was_closed(case, address)
        return
    if address in case.run.workers["address"].to_list():
        return  # a request to a worker that is gone
    why, remedy, advice = _why(case, address, waited)
    file = _scheduler_file(case)
    title = f"The driver could not connect to {address}"
    if file is not None:
        title += f", the address in {file.path.rpartition('/')[2]}"
        remedy = f"{_REMOVE_FILE} {remedy}" if _is_old(case, file) else remedy
    busy = _short_host(case, address) if advice == "unknown" else []
    remedy = " ".join([remedy, *(each.remedy for each in busy)])
    yield CANNOT_CONNECT.found(
        title,
        cause=(
            f"The driver tried for {waited} s to connect to {address}: {why}."
            + "".join(f" {each.text}" for each in busy)
            + _file_text(case, file)
        ),
        remedy=remedy,
        confidence="medium" if known or advice == "unknown" else "high",
        retry_advice=advice,
        evidence=(
            *(each.evidence for each in busy),
            *case.exception_evidence(),
        ),
    )


def _short_host(case: Case, address: str) -> list[ShortHost]:
    """Return what the driver's host was short of, if nobody answered there in time."""
    if not _LOOPBACK.search(address):
        return []
    found = short_host_of_driver(case, case.outcome.decided_at)
    return [] if found is None else [found]


def _had_ended(
    case: Case, address: str, exception: DriverException
) -> Iterator[Finding]:
    """Yield that a new client asked for a scheduler of an earlier step, which had ended."""
    closings = case.run.of(SchedulerClosing)
    closed = any(not case.outcome.is_after(each.at) for each in closings)
    refused = case.raised("ConnectionRefusedError")
    file, at = _scheduler_file(case), code_line(exception, " at ")
    # Else it may have been lost at work, and the job asked for it once more.
    killed = _ended_by_the_driver(case, address)
    if not closed and killed is None and (file is None or not refused):
        return
    by = (
        ""
        if killed is None
        else f" The driver sent it {killed.signal}{code_line(killed, ' at ')}."
    )
    name = "" if file is None else file.path.rpartition("/")[2]
    yield CANNOT_CONNECT.found(
        f"The driver could not connect to {address}: that scheduler had ended"
        + (f", and {name} still named it" if name else ""),
        cause=(
            f"A scheduler ran at {address} earlier in this run, and nothing listens there any "
            f"more.{by} Then a new client{at} tried to connect to it.{_file_text(case, file)}"
        ),
        remedy=(
            f"{_REMOVE_FILE} Do so between the steps of a run, too."
            if file is not None
            else "Pass the address of the scheduler that runs now, and start one before the "
            "next client."
        ),
        confidence="high" if refused or killed else "medium",
        retry_advice="environment",
        evidence=case.exception_evidence(),
    )


def _ended_by_the_driver(case: Case, address: str) -> DriverSignalled | None:
    """Return the signal by which the driver's own code ended a scheduler, if it did."""
    known = case.run.of(SchedulerInfo)
    pids = {each.pid for each in known if each.subject == address} - {None}
    sent = (each for each in case.run.of(DriverSignalled) if each.target in pids)
    return next((e for e in sent if not case.outcome.is_after(e.at)), None)


_REMOVE_FILE = (
    "Remove the scheduler file before the scheduler starts, and let the driver wait until it "
    "exists."
)


def _scheduler_file(case: Case) -> SchedulerFile | None:
    """Return the file in which the client that failed had looked for its scheduler."""
    exception = case.exception
    call = None if exception is None else _interrupted_call(case, exception)
    return None if call is None else call.scheduler_file


def _is_old(case: Case, file: SchedulerFile) -> bool:
    """Return whether a scheduler file had been written before the run began."""
    return file.written is not None and file.written < case.run.manifest.started


def _file_text(case: Case, file: SchedulerFile | None) -> str:
    """Return a sentence on the file that an address is from; else nothing."""
    if file is None or file.written is None:
        return ""
    age = case.run.manifest.started - file.written
    if age < 0:
        return f" The address is that of {file.path}, which was written during the run."
    return (
        f" The address is that of {file.path}, which was written {duration(age)} before the "
        "run began: it is of a scheduler that had started before."
    )


def _was_closed(case: Case, address: str) -> Iterator[Finding]:
    """Yield that a new client asked for a scheduler that the driver itself had closed."""
    exception, decided = case.exception, case.outcome.decided_at
    closed = [
        each
        for each in case.run.of(DriverClosing)
        if each.what != "Client.close" and (decided is None or each.at < decided)
    ]
    if exception is None or not bounded(_BEGINNING).search(exception.traceback):
        return
    if not closed:
        yield from _had_ended(case, address, exception)
        return
    last = max(closed, key=lambda each: each.at)
    line = code_line(last, " at ")
    at = code_line(exception, " at ")
    yield CANNOT_CONNECT.found(
        f"The driver could not connect to {address}: it had closed that cluster",
        cause=(
            f"A scheduler ran at {address} earlier in this run. The driver called "
            f"`{last.what}`{line}, and then a new client{at} tried to connect to it."
        ),
        remedy=(
            "Pass the intended cluster object or address to `Client`: without one, "
            "`Client()` reads `scheduler-address` in Dask's configuration "
            "(`DASK_SCHEDULER_ADDRESS`). Close the cluster only after its last use."
        ),
        confidence="high",
        retry_advice="code",
        retry_confidence="high",
        evidence=(
            Evidence(
                text=f"The driver called {last.what}{line}.",
                source="driver",
                at=last.at,
            ),
            *case.exception_evidence(),
        ),
    )


def _still_trying(case: Case) -> Iterator[Finding]:
    """Yield that the driver was stopped while `Client(…)` was still trying."""
    exception = case.exception
    if exception is None or case.raised("KeyboardInterrupt"):
        found = list(_blocked_connecting(case))
        yield from found
        if found:
            return
    if exception is None or case.recorded_cluster:
        return
    stopped = case.only_waited or case.raised("KeyboardInterrupt", "SystemExit")
    if not stopped or not bounded(_BEGINNING).search(exception.traceback):
        return
    at = code_line(exception, " at ")
    waited = ""
    if case.run.ending is not None:
        waited = f", {duration(seconds_of(case.run))} after the run had begun"
    call = _interrupted_call(case, exception)
    if call is not None:  # the exception may come from a signal's handler
        at = code_line(call, " at ")
        if call.scheduler_file is not None and call.scheduler_file.written is None:
            yield _no_file_finding(
                call.scheduler_file, at + waited, case.exception_evidence()
            )
            return
    address = None if call is None else call.address
    to, where = (f" to {address}", f" at {address}") if address else ("", "")
    yield CANNOT_CONNECT.found(
        f"The driver was still trying to connect{to} when it was stopped",
        cause=(
            f"`Client(…)`{at} had not reached a scheduler{where} when the driver was "
            f"stopped{waited}. A process accepts the connection without answering as a "
            "scheduler, or nothing answers."
        ),
        remedy=(
            "Check that a Dask scheduler listens at that address and port (not its "
            "dashboard, not a proxy), and that it is not overloaded. `Client(…, "
            "timeout=…)` does not end a connection that was accepted but not answered."
        ),
        confidence="medium",
        retry_advice="unknown",
        evidence=case.exception_evidence(),
    )


def _interrupted_call(
    case: Case, exception: DriverException
) -> DriverCallFailed | None:
    """Return the call of a client that was still trying to reach its scheduler."""
    calls = (
        each
        for each in case.run.of(DriverCallFailed)
        if each.address or each.scheduler_file
    )
    return next((e for e in calls if e.identity in exception.chain_ids), None)


def _blocked_connecting(case: Case) -> Iterator[Finding]:
    """Yield that a client was still trying when the driver was stopped without a message."""
    position = case.driver_position
    if position is None or case.state == "failed":
        return
    known = {each.subject for each in case.run.of(SchedulerInfo)}
    trying = [each for each in position.connecting if each.address not in known]
    if not trying:
        return
    client = max(trying, key=lambda each: each.lasted)
    address, lasted, file = client.address, client.lasted, client.scheduler_file
    at = at_frame(position.own_frame)
    evidence = (evidence_of_position(position), *case.exception_evidence())
    if file is not None and file.written is None:
        waited = f", after {duration(lasted)}{at}"
        yield _no_file_finding(file, waited, evidence)
        return
    if address is None:
        address = (
            "the address in its scheduler file"
            if file is None
            else f"the address in {file.path}"
        )
    yield CANNOT_CONNECT.found(
        f"The driver was still trying to connect to {address} when it was stopped",
        cause=(
            f"`Client(…)` had been trying to reach a scheduler at {address} for "
            f"{duration(lasted)} when the driver was stopped{at}. The connection was "
            "not refused: either nothing answers there (a firewall, a host that is "
            "down or still starting), or a process accepts the connection without "
            "answering as a scheduler."
        ),
        remedy=(
            f"Check that {address} is right: the port must be the scheduler's (8786 by default), "
            "not that of its dashboard (8787) or of another service. Check that a scheduler "
            "runs there, and that no firewall or network policy blocks the way. Set `Client(…, timeout=…)` (or "
            "`distributed.comm.timeouts.connect`) below the host's own timeout, so "
            "that the driver fails with a reason if nothing answers. That timeout does "
            "not end a connection that was accepted but not answered."
        ),
        confidence="medium",
        retry_advice="unknown",
        evidence=evidence,
    )


def _no_file_finding(
    file: SchedulerFile, when: str, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return that a client waited for a scheduler file, which Dask does without a time limit."""
    return CANNOT_CONNECT.found(
        f"The driver waited for the scheduler file {file.path}, which did not exist",
        cause=(
            f"`Client(scheduler_file=…)` waits until its file exists, and {file.path} did not "
            f"exist when the driver was stopped{when}."
        ),
        remedy=(
            "Check that a scheduler starts with `--scheduler-file` and the same path, in a "
            "folder that it and the driver share, and what it printed. The `timeout` of "
            "`Client` does not end this wait."
        ),
        confidence="high",
        retry_advice="unknown",
        evidence=evidence,
    )


def _unexpected_answer(case: Case) -> Iterator[Finding]:
    """Yield that what answered was no scheduler: its bytes were read as sizes of frames."""
    exception = case.exception
    if exception is None or case.recorded_cluster or case.raised(*_UNEXPECTED):
        return
    if not case.search_exception(_HANDSHAKE):
        return
    called = case.search_exception(r"Client\(\s*['\"](?P<address>[^'\"]+)")
    address = called["address"] if called else "that address"
    yield CANNOT_CONNECT.found(
        f"The server at {address} is not a Dask scheduler",
        cause=(
            f"The driver connected to {address}, but the answer was not a scheduler's "
            f"handshake: {class_of(exception.exception)}: "
            f"{short(exception.message, 200)}."
        ),
        remedy=(
            "Check that a Dask scheduler listens at that address and port: not its "
            "dashboard, not another service, and not a proxy for a host that is down."
        ),
        confidence="high",
        retry_advice="environment",
        evidence=case.exception_evidence(),
    )


def _unreachable_worker_findings(case: Case) -> Iterator[Finding]:
    """Yield a finding on a worker that runs and cannot be reached at its address."""
    if not case.gave_no_reason:
        return
    lines = unreached(case)
    if not lines:
        return
    address, line = lines[-1]
    ended = case.run.tasks.filter(pl.col("worker") == address)
    ran = f" {counted(len(ended), 'task')} finished there." if len(ended) else ""
    who = case.name_of(address)
    yield CANNOT_CONNECT.found(
        f"{capital(who)} cannot be reached at the address that it announces",
        cause=(
            f"{capital(who)} had registered with the scheduler and had not "
            f"left, but no process can connect to {address}.{ran} Its results cannot "
            "be fetched, and tasks that need them wait."
        ),
        remedy=(
            f"Check that {address} is right and open to driver, scheduler and the "
            "other workers: check `--contact-address`, `--host` or `--interface` of "
            "`dask worker`, and the ports that its container or firewall allows "
            "(`--worker-port`)."
        ),
        confidence="medium",
        subject=Subject(worker=address),
        evidence=(line, *case.exception_evidence()),
    )


def _why(case: Case, address: str, waited: str) -> tuple[str, str, RetryAdvice]:
    """Return why, what to do, and whether trying again would help."""
    advice: RetryAdvice = "environment"
    if case.search_exception("during handshake while connecting"):
        why, advice = (
            "the connection was accepted, but no scheduler answered the handshake",
            "unknown",
        )
        remedy = (
            f"Check that a Dask scheduler listens at {address} (not its dashboard, not "
            "a proxy); if it is, it was too busy to answer: raise "
            f"`distributed.comm.timeouts.connect` above {waited} s"
            f"{_longer(waited)}, and find what blocks its event loop."
        )
    elif case.raised("gaierror") or case.search_exception("Name or service not known"):
        why = "its host name is unknown"
        remedy = (
            "Check the spelling of the address and the DNS of the network that the driver "
            "runs in."
        )
    elif case.raised("ConnectionRefusedError") or case.search_exception(
        "Connection refused"
    ):
        why = "the host is reachable, but nothing listens on that port"
        remedy = (
            f"Check that a scheduler runs at {address} and that the port is right. If "
            "the scheduler is still starting, wait for it."
        )
    else:
        why, advice = "no answer arrived", "unknown"
        remedy = (
            f"Check that {address} is right and that no firewall or network policy "
            "blocks the way; if the scheduler is slow to start, raise "
            f"`distributed.comm.timeouts.connect` above {waited} s{_longer(waited)}."
        )
    return why, remedy, advice


def _longer(waited: str) -> str:
    """Return how a client waits longer for its scheduler, in brackets."""
    return f" (`Client(…, timeout={ceil(2 * float(waited))})`)"


# tls-misconfigured

# The second: what it sent was there before the handshake had begun.
_SCHEDULER = bounded(r"dask[ -]scheduler|dask_scheduler\b")
_RESET = ("ConnectionResetError", "ConnectionAbortedError", "StreamClosedError")


class _TlsFailure(NamedTuple):
    """What the two ends did not agree on."""

    title: str
    why: str
    remedy: str
    sure: Confidence = "high"


@documented("tls-misconfigured")
def TLS_MISCONFIGURED(case: Case) -> Iterator[Finding]:
    if not case.failed or case.blame.failure is not None:
        return
    failure_of_tls = _driver_tls_failure(case)
    if failure_of_tls is not None and failure_of_tls.sure == "low":
        # What answered is another service where the run's own scheduler did not start.
        ended = (each.command for each in case.run.of(ProgramFailed))
        if any(_SCHEDULER.search(each) for each in ended):
            return
    if failure_of_tls is not None:
        yield TLS_MISCONFIGURED.found(
            failure_of_tls.title,
            cause=f"The driver could not connect to the scheduler: {failure_of_tls.why}.",
            remedy=failure_of_tls.remedy,
            confidence=failure_of_tls.sure,
            evidence=case.exception_evidence(),
        )
        return
    yield from _worker_tls_findings(case)


def _driver_tls_failure(case: Case) -> _TlsFailure | None:
    exception = case.exception
    if exception is None:
        return None
    # A run may have reached a cluster, and fail to connect to it, or to another, later.
    if case.recorded_cluster and "in _ensure_connected" not in exception.traceback:
        return None
    if case.search_exception(TLS_WITHOUT_CONTEXT.pattern) or case.search_exception(
        TLS_REQUIRED.pattern
    ):
        return _TlsFailure(
            "One end of the connection requires TLS, and the other has no certificates",
            short(exception.message, 240).rstrip("."),
            "Pass the certificates to the client: `Client(address, "
            "security=Security(tls_ca_file=…, tls_client_cert=…, tls_client_key=…))`, "
            "or the settings `distributed.comm.tls.*`; and connect with the "
            "scheduler's protocol (`tls://…` or `tcp://…`).",
        )
    if "distributed/security.py" in exception.traceback:
        return _own_files_tls_failure(exception)
    # TLS of other connections (a store's, a service's) is not Dask's.
    ours = "distributed/comm/" in exception.traceback
    return _handshake_tls_failure(case, exception) if ours else None


def _own_files_tls_failure(exception: DriverException) -> _TlsFailure:
    """Return that the driver could not even load its certificate, key or authority."""
    why = short(exception.message, 160).rstrip(".") or class_of(exception.exception)
    return _TlsFailure(
        f"The driver's own TLS files cannot be loaded: {short(why, 80)}",
        "loading the driver's certificate, key or authority file raised "
        f"{class_of(exception.exception)}: {why}",
        "The key of `tls_client_key` does not belong to the certificate of "
        "`tls_client_cert`: use the two files that were made together."
        if "KEY_VALUES_MISMATCH" in exception.message
        else "Check that the files of `tls_ca_file`, `tls_client_cert` and "
        "`tls_client_key` (`distributed.comm.tls.*`) exist where the driver runs, are "
        "readable, in PEM format, and without a password.",
    )


def _handshake_tls_failure(
    case: Case, exception: DriverException
) -> _TlsFailure | None:
    untrusted = CERTIFICATE_NOT_VERIFIED.search(exception.traceback)
    if untrusted or case.search_exception(TLS_CERTIFICATE_DIFFERS.pattern):
        return _not_trusted(
            untrusted["why"].strip() if untrusted else "it does not match"
        )
    for pattern, failure_of_tls in (
        (TLS_MET_PLAIN_TEXT, _ONLY_THE_DRIVER),
        (TLS_NO_COMMON_VERSION, _NO_VERSION),
        (TLS_NO_COMMON_CIPHER, _NO_CIPHER),
    ):
        if pattern.search(exception.traceback):
            return failure_of_tls
    if case.raised("SSLError", "SSLEOFError") or TLS_REFUSED.search(exception.message):
        return _NOT_ACCEPTED
    if case.raised(*_RESET) and "_ensure_connected" in exception.traceback:
        return _CUT
    return None


def _not_trusted(why: str) -> _TlsFailure:
    return _TlsFailure(
        f"The scheduler's certificate is not trusted: {short(why, 80)}",
        f"the driver rejected the scheduler's certificate ({short(why, 160)})",
        "Renew the certificate; it has expired."
        if "expired" in why
        else (
            "Use certificates signed by one authority for driver, scheduler and "
            "workers, and set `tls_ca_file` (`distributed.comm.tls.ca-file`) on each "
            "of them to that authority's certificate."
        ),
    )


_ONLY_THE_DRIVER = _TlsFailure(
    "The driver uses TLS, and the scheduler does not",
    "the driver used TLS, and the server did not",
    "Connect to `tcp://…` instead of `tls://…`, or start scheduler and workers with "
    "`--protocol tls` and their certificates.",
)

_NO_VERSION = _TlsFailure(
    "Driver and scheduler have no TLS version in common",
    "one end requires a TLS version that the other does not support",
    "Set `distributed.comm.tls.min-version` and `distributed.comm.tls.max-version` of "
    "both ends so that they overlap (None: OpenSSL's own limits), and upgrade the "
    "older Python or OpenSSL.",
)

_NO_CIPHER = _TlsFailure(
    "Driver and scheduler could not agree on a cipher",
    "the TLS handshake found no cipher that both allow",
    "Set `distributed.comm.tls.ciphers` of both ends so that they overlap, or leave it out "
    "on both.",
    "medium",
)

_NOT_ACCEPTED = _TlsFailure(
    "The scheduler did not accept the driver's certificate",
    "the scheduler ended the TLS handshake, as it does when it does not trust the "
    "client's certificate",
    "Give the client a certificate that the scheduler's authority has signed "
    "(`tls_client_cert`, `tls_client_key`; `distributed.comm.tls.client.*`).",
)

_CUT = _TlsFailure(
    "The connection was closed before the handshake",
    "the server closed the connection before any message, as a TLS scheduler does when "
    "a client has no TLS; a proxy or another service on that port may do the same",
    "Check that a Dask scheduler listens on that port, and that a proxy or load "
    "balancer in front of it has a backend. If the scheduler uses TLS, connect to "
    "`tls://…` with `Security(…)`.",
    "low",
)


def _worker_tls_findings(case: Case) -> Iterator[Finding]:
    """Yield that workers could not join a scheduler because the right certificates are missing."""
    failed = lines_of(case.run, TLS_HANDSHAKE_FAILED, by=["scheduler"])
    if not len(failed) or len(case.run.workers) or not case.lacked_workers:
        return
    # The last one in time: what workers try while the run ends is too late to be a cause.
    decided = case.outcome.decided_at
    known = failed if decided is None else failed.filter(epoch("at") <= decided)
    last = (known if len(known) else failed).row(-1, named=True)
    # The end that checks a certificate tells the other one why it refuses it.
    refused = AUTHORITY_REFUSED.search(last["message"])
    checked = CERTIFICATE_NOT_VERIFIED.search(last["message"])
    why = "" if checked is None else checked["why"].strip()
    what = "their TLS handshake failed"
    because = "it does not trust their certificates, or they don't use TLS."
    if refused:
        what = "they do not trust the scheduler's certificate"
        because = (
            "the workers refused its certificate, because another authority has issued it "
            "than the one of their `--tls-ca-file` (unknown CA)."
        )
    elif why:
        what = f"the scheduler refused their certificate ({why})"
        because = f"it refused their certificates ({why})."
    yield TLS_MISCONFIGURED.found(
        f"Workers failed to join: {what}",
        cause=f"The scheduler saw {counted(len(failed), 'TLS handshake')} fail, and no "
        f"worker ever joined: {because}",
        remedy=(
            "Start the workers with certificates of the scheduler's own authority "
            "(`--tls-ca-file`, `--tls-cert`, `--tls-key`) and a `tls://` address."
        ),
        confidence="high" if refused or why else "medium",
        evidence=(
            case.line_evidence(last),
            *case.exception_evidence(),
        ),
    )


# too-many-open-files

_LEAST = 65_536

_MANY = 200


@documented("too-many-open-files")
def TOO_MANY_OPEN_FILES(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    failure, exception = case.blame.failure, case.exception
    if failure is not None and not failure.killed:
        if OPEN_FILES_EXHAUSTED.search(f"{failure.message} {failure.traceback}"):
            on = f" on {case.name_of(failure.worker)}" if failure.worker else ""
            at = at_frame(failure.frame)
            yield _found(
                case,
                f"{quoted_key(failure.key)} raised {short(str(failure), 160)}{on}{at}",
                worker=failure.worker,
                subject=failure.subject,
                sure="high" if case.blame.proven else "medium",
            )
        return
    if exception is not None and case.search_exception(OPEN_FILES_EXHAUSTED.pattern):
        at = code_line(exception, ", at ")
        raised = f"{class_of(exception.exception)}: {short(exception.message, 160)}"
        text = f"The driver itself raised {raised}{at}"
        yield _found(case, text, worker=None, subject=Subject(), sure="high")
        return


def _found(
    case: Case,
    text: str,
    *,
    worker: str | None,
    subject: Subject,
    sure: Confidence,
) -> Finding:
    most = _most(case, worker)
    many = most >= _MANY  # they come and go between two heartbeats
    had = f" It had up to {most:,} open files in its samples." if many else ""
    wanted = max(_LEAST, 4 * most)
    whose = " in the driver" if sure == "high" else ""
    roles = ("worker", "scheduler", "nanny")
    lines = lines_of(case.run, OPEN_FILES_EXHAUSTED, by=roles)
    return TOO_MANY_OPEN_FILES.found(
        f"Too many open files{f' on {case.name_of(worker)}' if worker else whose}",
        cause=f"{text}.{had} The number of open file descriptors per process is limited.",
        remedy=(
            f"Raise the limit where the process is started (`ulimit -n {wanted}`, "
            f"`LimitNOFILE={wanted}`, `--ulimit nofile={wanted}` for containers), and "
            "close what tasks open (`with open(…)`): files that a task leaves open "
            "stay open in its worker."
        ),
        confidence=sure,
        subject=subject,
        evidence=(
            *case.exception_evidence(),
            *(
                case.line_evidence(row, "--filter", "Too many open files", longest=240)
                for row in lines.tail(2).iter_rows(named=True)
            ),
        ),
    )


def _most(case: Case, worker: str | None) -> int:
    """Return the most descriptors that a worker (any, if none is named) was seen with."""
    samples = case.run.metrics.filter(pl.col("source") != "scheduler")
    if worker is not None:
        samples = samples.filter(pl.col("source") == worker)
    return int(samples["fds"].max() or 0)  # type: ignore[arg-type]
