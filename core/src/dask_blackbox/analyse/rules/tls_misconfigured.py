"""Did two ends of a connection not agree on TLS?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, short
from dask_blackbox.finding import Confidence, Evidence, Finding
from dask_blackbox.manifest import DriverException

__all__ = ["TLS_MISCONFIGURED"]

_UNTRUSTED = re.compile(
    r"certificate verify failed: (?P<why>[^\n(]+?) ?(?:\(|$)", re.MULTILINE
)
# The second: what it sent was there before the handshake had begun.
_PLAIN = re.compile("WRONG_VERSION_NUMBER|not idle; cannot convert to SSL")
_VERSIONS = re.compile(
    r"ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAIL"
)
_CIPHERS = re.compile(r"NO_SHARED_CIPHER|NO_CIPHERS_AVAILABLE|ALERT_HANDSHAKE_FAILURE")
_REFUSED = re.compile(r"SSLEOFError|SSLZeroReturnError|alert [\w ]+|ALERT_\w+|_ALERT")
_NO_CONTEXT = r"TLS expects a `ssl_context` argument|encryption required by Dask config"
_RESET = ("ConnectionResetError", "ConnectionAbortedError", "StreamClosedError")
_HANDSHAKE = r"TLS handshake failed with remote"


class _Quarrel(NamedTuple):
    """What the two ends did not agree on."""

    title: str
    why: str
    remedy: str
    sure: Confidence = "high"


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained or case.blame.failure is not None:
        return
    quarrel = _of_the_driver(case)
    if quarrel is not None:
        yield TLS_MISCONFIGURED.found(
            quarrel.title,
            cause=f"The driver could not connect to the scheduler: {quarrel.why}.",
            remedy=quarrel.remedy,
            confidence=quarrel.sure,
            evidence=case.exception_evidence(),
        )
        return
    yield from _of_the_workers(case)


def _of_the_driver(case: Case) -> _Quarrel | None:
    exception = case.exception
    if exception is None or case.saw_the_cluster:
        return None
    if case.said(_NO_CONTEXT):
        return _Quarrel(
            "One end of the connection wants TLS, and the other has no certificates",
            short(exception.message, 240).rstrip("."),
            "Give the client what it needs: `Client(address, security=Security("
            "tls_ca_file=…, tls_client_cert=…, tls_client_key=…))`, or the settings "
            "`distributed.comm.tls.*`; and use an address of the scheduler's own protocol.",
        )
    # Somebody else's TLS (a store's, a service's) is no business of Dask's.
    ours = "distributed/comm/" in exception.traceback
    return _of_the_handshake(case, exception) if ours else None


def _of_the_handshake(case: Case, exception: DriverException) -> _Quarrel | None:
    untrusted = _UNTRUSTED.search(exception.traceback)
    if untrusted or case.said("TLS certificate does not match"):
        return _not_trusted(
            untrusted["why"].strip() if untrusted else "it does not match"
        )
    for pattern, quarrel in (
        (_PLAIN, _ONLY_THE_DRIVER),
        (_VERSIONS, _NO_VERSION),
        (_CIPHERS, _NO_CIPHER),
    ):
        if pattern.search(exception.traceback):
            return quarrel
    if case.raised("SSLError", "SSLEOFError") or _REFUSED.search(exception.message):
        return _NOT_ACCEPTED
    if case.raised(*_RESET) and "_ensure_connected" in exception.traceback:
        return _CUT
    return None


def _not_trusted(why: str) -> _Quarrel:
    return _Quarrel(
        f"The scheduler's certificate is not trusted: {short(why, 80)}",
        f"it did not accept the scheduler's certificate ({short(why, 160)})",
        "Renew the certificate, which is past its time."
        if "expired" in why
        else "Give driver, scheduler and workers certificates of one authority, and its "
        "certificate as `tls_ca_file` (`distributed.comm.tls.ca-file`) to each of them.",
    )


_ONLY_THE_DRIVER = _Quarrel(
    "The driver speaks TLS, and the scheduler does not",
    "it spoke TLS, and what answered did not",
    "Connect to `tcp://…` instead of `tls://…`, or start scheduler and workers with "
    "`--protocol tls` and their certificates.",
)
_NO_VERSION = _Quarrel(
    "Driver and scheduler have no version of TLS in common",
    "one end insists on a version of TLS that the other does not speak",
    "Set `distributed.comm.tls.min-version` and `distributed.comm.tls.max-version` of both "
    "ends so that they overlap (None: what OpenSSL has), and upgrade the older Python or "
    "OpenSSL.",
)
_NO_CIPHER = _Quarrel(
    "Driver and scheduler could not agree on a cipher",
    "the handshake of TLS ended without one that both allow",
    "Set `distributed.comm.tls.ciphers` of both ends so that they overlap, or leave it out "
    "on both.",
    "medium",
)
_NOT_ACCEPTED = _Quarrel(
    "The scheduler did not accept the driver's certificate",
    "the scheduler ended the TLS handshake, as one does that does not trust the "
    "certificate it is shown",
    "Give the client a certificate that the scheduler's authority has signed "
    "(`tls_client_cert`, `tls_client_key`; `distributed.comm.tls.client.*`).",
)
_CUT = _Quarrel(
    "Something accepted the connection and cut it at once",
    "what listens there cut the connection before a word was said, as a scheduler that "
    "speaks TLS does with a client that does not; a proxy or another service on that port "
    "may do so, too",
    "Check that it is Dask's scheduler that listens on that port, and that a proxy or load "
    "balancer before it has somewhere to go. If the scheduler speaks TLS, connect to "
    "`tls://…` with `Security(…)`.",
    "low",
)


def _of_the_workers(case: Case) -> Iterator[Finding]:
    """Yield that workers could not join a scheduler for want of the right certificates."""
    logs = case.run.logs
    failed = logs.filter(
        (logs["role"] == "scheduler") & logs["message"].str.contains(_HANDSHAKE)
    )
    hang = case.hang
    nobody = not len(case.run.workers)
    stood = case.driver_stood
    waited = (
        case.raised("WorkerStartTimeoutError")
        or (hang is not None and not hang.workers)
        or (stood is not None and stood.in_client("wait_for_workers"))
    )
    if not len(failed) or not nobody or not waited:
        return
    last = failed.row(-1, named=True)
    yield TLS_MISCONFIGURED.found(
        "Workers failed to join: their TLS handshake failed",
        cause=(
            f"The scheduler saw {counted(len(failed), 'TLS handshake')} fail, and not one "
            "worker ever joined: their certificates are not those that it trusts, or they "
            "don't speak TLS."
        ),
        remedy=(
            "Start the workers with certificates of the scheduler's own authority "
            "(`--tls-ca-file`, `--tls-cert`, `--tls-key`) and a `tls://` address."
        ),
        confidence="medium",
        evidence=(
            Evidence(
                text=f"scheduler: {short(last['message'], 300)}",
                source="logs",
                at=last["at"].timestamp(),
                see=case.see("logs", "--role", "scheduler"),
            ),
            *case.exception_evidence(),
        ),
    )


TLS_MISCONFIGURED = Rule(
    slug="tls-misconfigured",
    title="Two ends of a connection don't agree on TLS",
    question="Did certificates, or TLS on one side only, keep driver or workers out?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "The driver (or the workers) could not connect because only one side speaks "
            "TLS, or because one side does not trust the other's certificate."
        ),
        evidence=(
            "The driver's exception while it connected and what the TLS library says in the "
            "chain of its causes; for workers, the scheduler's lines on failed handshakes "
            "where no worker ever came. Medium confidence where the connection was only cut: "
            "other things than a scheduler listen on ports, too. Silent on TLS errors of "
            "anything but Dask's own connections."
        ),
        remedy="One authority for all, its certificate on each side, `tls://` on each side.",
        before='Client("tcp://scheduler:8786")   # which was started with --protocol tls',
        after='Client("tls://scheduler:8786", security=Security(tls_ca_file="ca.pem", …))',
    ),
)
