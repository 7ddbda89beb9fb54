"""What a server can do wrong with one request; `FaultyS3` says to which requests.

from dask_blackbox.testing import faults, faulty_s3

with embedded_s3() as server, faulty_s3(server) as proxy:
    trouble = proxy.begin(faults.slow_down, method="PUT", names="*.seg", times=3)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.message import Message
from typing import Protocol
from xml.sax.saxutils import escape

__all__ = [
    "Exchange",
    "Fault",
    "access_denied",
    "answer_cut_off",
    "answer_dripping",
    "answer_lost",
    "error",
    "expired_token",
    "garbled",
    "internal_error",
    "no_such_bucket",
    "other_region",
    "silence",
    "skewed_clock",
    "slow_down",
    "upload_reset",
    "web_page",
]


class Exchange(Protocol):
    """One request, of which nothing but its head has been read."""

    headers: Message
    """Of the request."""

    def forward(self) -> bytes:
        """Pass the request on; return the answer as it would be sent."""

    def read(self, most: int | None = None) -> bytes:
        """Read the request's body, or `most` bytes of it."""

    def send(self, answer: bytes) -> None:
        """Send a part of an answer."""

    def hang_up(self, *, reset: bool = False) -> None:
        """End the connection; with `reset`, as a machine that has crashed does."""

    def over(self, timeout: float | None = None) -> bool:
        """Wait until the trouble has ended, for `timeout` seconds; tell whether it has."""


Fault = Callable[[Exchange], None]
"""Does something with a request that no server should do."""


def error(
    status: int, code: str, message: str = "", **headers: str
) -> Callable[[Exchange], None]:
    """Return a fault that answers with an error of S3, and does nothing.

    Args:
        status: Of HTTP.
        code: Of S3, like `SlowDown`.
        message: What people read.
        headers: More headers; `_` in their names stands for `-`.
    """
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{escape(message or code)}</Message></Error>"
    ).encode()

    def answer(exchange: Exchange) -> None:
        exchange.read()
        exchange.send(_answer(status, text, "application/xml", headers))

    return answer


def _answer(
    status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
) -> bytes:
    lines = [
        f"HTTP/1.1 {status} Fault",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *(f"{k.replace('_', '-')}: {v}" for k, v in (headers or {}).items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


slow_down = error(503, "SlowDown", "Please reduce your request rate.")
"""Too many requests."""
internal_error = error(500, "InternalError", "We encountered an internal error.")
"""The server is ill."""
access_denied = error(403, "AccessDenied", "Access Denied")
"""A permission was taken away."""
expired_token = error(400, "ExpiredToken", "The provided token has expired.")
"""Temporary credentials have come to their end."""
no_such_bucket = error(404, "NoSuchBucket", "The specified bucket does not exist")
"""The bucket was deleted."""
skewed_clock = error(
    403,
    "RequestTimeTooSkewed",
    "The difference between the request time and the current time is too large.",
    Date="Sat, 01 Jan 2000 00:00:00 GMT",
)
"""This machine's clock is wrong."""
other_region = error(
    301, "PermanentRedirect", "Use another endpoint.", x_amz_bucket_region="eu-north-1"
)
"""The bucket lies elsewhere."""


def silence(exchange: Exchange) -> None:
    """Accept the request and do not answer until the trouble ends."""
    exchange.read()
    exchange.over()
    exchange.hang_up()


def upload_reset(after: int = 64) -> Fault:
    """Return a fault that resets the connection after so many bytes of the body."""

    def fault(exchange: Exchange) -> None:
        exchange.read(after)
        exchange.hang_up(reset=True)

    return fault


def answer_lost(exchange: Exchange) -> None:
    """Execute the request, and close the connection without an answer."""
    exchange.forward()
    exchange.hang_up(reset=True)


def answer_cut_off(after: int = 40) -> Fault:
    """Return a fault that does what is asked, and sends only the answer's beginning."""

    def fault(exchange: Exchange) -> None:
        exchange.send(exchange.forward()[:after])
        exchange.hang_up()

    return fault


def garbled(exchange: Exchange) -> None:
    """Answer with bytes that are no HTTP, and do nothing."""
    exchange.read()
    exchange.send(b"\x00\x15\x03\x01\xff\xfe SSH-2.0 \r\n\r\n" + bytes(range(256)))
    exchange.hang_up()


def web_page(exchange: Exchange) -> None:
    """Answer `200 OK` with a page to log in at, as hotels and proxies do; do nothing."""
    exchange.read()
    page = b"<!doctype html><title>Welcome</title><p>Please log in."
    exchange.send(_answer(200, page, "text/html"))


def answer_dripping(every: float = 0.5) -> Fault:
    """Return a fault that does what is asked, and answers a byte each `every` seconds."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        for place in range(len(answer)):
            exchange.send(answer[place : place + 1])
            if exchange.over(every):
                exchange.send(answer[place + 1 :])
                return

    return fault
